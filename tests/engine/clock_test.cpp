#include "sim/engine/clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace prequel {
namespace {

TEST_CASE("a task starts when its stream and all that it waits for are done") {
  const std::vector<double> durations{1.0, 4.0, 2.0};
  Clock clock(durations, 2);
  const auto a = clock.run(0, 0, {});
  const auto b = clock.run(1, 1, {});
  const auto c = clock.run(0, 2, {}, a, b);
  CHECK(a == 1.0);
  CHECK(b == 4.0);
  CHECK(c == 6.0);
  CHECK(clock.busy(0) == 3.0);
  CHECK(clock.end() == 6.0);
  CHECK(clock.last(1) == 4.0);
}

TEST_CASE("exact durations are within rounding of the given ones, and their sums are exact") {
  const std::vector<double> given{0.1, 0.3, 1.7e-5};
  const auto exact = exact_durations(given, 1000);
  for (std::size_t i = 0; i < given.size(); ++i) {
    CHECK(exact[i] == doctest::Approx(given[i]).epsilon(1e-9));
  }
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += exact[0];
  CHECK(sum == 1000 * exact[0]);
}

TEST_CASE("durations that are all zero, or not finite, are left as they are") {
  CHECK(exact_durations(std::vector<double>{0, 0}, 10) == std::vector<double>{0, 0});
  CHECK(exact_durations(std::vector<double>{1e308, 1e308}, 10) ==
        std::vector<double>{1e308, 1e308});
}

TEST_CASE("waves are skipped once every stream advances by one time") {
  const std::vector<double> durations{1.0, 5.0};
  Clock clock(durations, 2);
  clock.run(1, 1, {});  // stream 1 is ahead for four waves
  clock.begin_repeating();
  std::uint32_t told = 0;
  for (std::uint32_t wave = 0; wave < 1000; ++wave, ++told) {
    clock.run(1, 0, {}, clock.run(0, 0, {}));
    wave += clock.skip(999 - wave, {});
  }
  CHECK(told < 10);
  CHECK(clock.finish(0) == 1000);
  CHECK(clock.finish(1) == 1005);
  CHECK(clock.busy(1) == 1005);
}

TEST_CASE("waves are skipped where each stream advances by a time of its own, the last the most") {
  const std::vector<double> durations{1.0, 3.0, 2.0};
  Clock clock(durations, 3);
  clock.begin_repeating();
  std::uint32_t told = 0;
  for (std::uint32_t wave = 0; wave < 1000; ++wave, ++told) {
    clock.run(2, 2, {}, clock.run(1, 1, {}, clock.run(0, 0, {})));
    wave += clock.skip(999 - wave, {});
  }
  CHECK(told < 10);
  CHECK(clock.finish(0) == 1000);
  CHECK(clock.finish(1) == 3001);
  CHECK(clock.finish(2) == 3003);
  CHECK(clock.busy(2) == 2000);
}

TEST_CASE("a faster stream that may yet hold up a slower one is not skipped") {
  const std::vector<double> durations{2.0, 1.0, 500.0};
  Clock clock(durations, 2);
  clock.run(1, 2, {});  // so far ahead that the faster one holds it up from wave 500 on
  clock.begin_repeating();
  for (std::uint32_t wave = 0; wave < 1000; ++wave) {
    clock.run(1, 1, {}, clock.run(0, 0, {}));
    wave += clock.skip(999 - wave, {});
  }
  CHECK(clock.finish(1) == 2001);
}

TEST_CASE("a stream that is slow to overtake is not mistaken for a period") {
  const std::vector<double> durations{1.0, 0.0, 100.0};
  Clock clock(durations, 2);
  clock.run(1, 2, {});
  clock.begin_repeating();
  for (std::uint32_t wave = 0; wave < 1000; ++wave) {
    clock.run(1, 1, {}, clock.run(0, 0, {}));
    wave += clock.skip(999 - wave, {});
  }
  CHECK(clock.finish(1) == 1000);
}

TEST_CASE("a stream that rests keeps its time while waves are skipped") {
  const std::vector<double> durations{1.0, 0.5};
  Clock clock(durations, 2);
  clock.run(0, 0, {}, clock.run(1, 1, {}));
  clock.begin_repeating();
  std::uint32_t told = 0;
  for (std::uint32_t wave = 0; wave < 1000; ++wave, ++told) {
    clock.run(0, 0, {});
    wave += clock.skip(999 - wave, {});
  }
  CHECK(told < 10);
  CHECK(clock.finish(0) == 1001.5);
  CHECK(clock.finish(1) == 0.5);
}

TEST_CASE("a stream that rests but still holds others up is not skipped over") {
  const std::vector<double> durations{1.0, 100.0};
  Clock clock(durations, 3);
  const double resting = clock.run(2, 1, {});
  clock.begin_repeating();
  for (std::uint32_t wave = 0; wave < 1000; ++wave) {
    clock.run(1, 0, {}, clock.run(0, 0, {}));
    if (wave == 999) clock.run(0, 0, {}, resting);
    wave += clock.skip(998 - std::min(998U, wave), {});
  }
  CHECK(clock.finish(0) == 1001);
  CHECK(clock.finish(2) == 100);
}

}  // namespace
}  // namespace prequel
