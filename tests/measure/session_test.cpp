#include "calibrate/measure/session.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <optional>

#include "tests/measure/temporary_file.hpp"

namespace prequel {
namespace {

/// Copies that take a nanosecond for ten bytes of a time that only they make pass; room for
/// 1 MB.
class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(int points) : points_(points) {}

  [[nodiscard]] std::map<std::string, std::string> context() const override { return {}; }
  [[nodiscard]] std::vector<Work> grid() const override {
    std::vector<Work> works;
    for (int i = 1; i <= points_; ++i) works.emplace_back(Stream{StreamKind::copy, {1e4 * i}, 0});
    return works;
  }
  Run prepare(const Work& work) override {
    const double bytes = std::get<Stream>(work).bytes.value;
    if (bytes > 1e6) throw OutOfMemory("1 MB");
    ++prepared_[work_text(work)];
    now_ += set_up_s;
    return [this, bytes] {
      now_ += bytes * 1e-10;
      return Seconds{bytes * 1e-10};
    };
  }

  [[nodiscard]] std::string kernel(const Work& work) const override {
    return work_text(work).find(R"("bytes":10000)") == std::string::npos ? "" : "ten-thousand";
  }

  [[nodiscard]] std::map<std::string, double> state() const override {
    return {{"sm_mhz", 1980.0}};
  }

  [[nodiscard]] Clock clock() {
    return [this] { return Seconds{now_}; };
  }
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] const std::map<std::string, int>& prepared() const { return prepared_; }

  double set_up_s{1e-3};

 private:
  int points_;
  double now_{};
  std::map<std::string, int> prepared_;
};

SessionResult run(FakeBackend& backend, Journal& journal, double budget) {
  return run_session(backend, &journal, {{budget}, {}, {}}, backend.clock(),
                     [](std::size_t, std::size_t, Seconds) {});
}

TEST_CASE("with time enough every point is measured") {
  const TemporaryFile file("all.jsonl");
  Journal journal(file.path(), false, "{}");
  FakeBackend backend(50);
  const SessionResult result = run(backend, journal, 60);
  CHECK(result.measured == 50);
  CHECK(result.left == 0);
}

TEST_CASE("the shapes of a job come before the grid, and are not measured twice") {
  const TemporaryFile file("first.jsonl");
  Journal journal(file.path(), false, "{}");
  FakeBackend backend(50);
  SessionOptions options{{60}, {}, {Stream{StreamKind::copy, {123.0}, 0}}};
  options.first.emplace_back(Stream{StreamKind::copy, {2e4}, 0});
  const SessionResult result = run_session(backend, &journal, options, backend.clock(),
                                           [](std::size_t, std::size_t, Seconds) {});
  CHECK(result.measured == 51);
  const std::string text = file.text();
  const std::size_t first = text.find(R"("bytes":123,)");
  const std::size_t second = text.find(R"("bytes":20000,)");
  CHECK(first < second);
  for (const int bytes : {10000, 30000, 400000}) {
    CHECK(second < text.find(fmt::format("\"bytes\":{},", bytes)));
  }
}

TEST_CASE("the budget is kept within its slowest point, and used") {
  for (const double budget : {0.02, 0.05, 0.07}) {
    const TemporaryFile file("budget.jsonl");
    Journal journal(file.path(), false, "{}");
    FakeBackend backend(100);
    const SessionResult result = run(backend, journal, budget);
    CHECK(result.measured + result.left == 100);
    CHECK(result.left > 0);
    CHECK(backend.now() <= budget + 3e-3);
    CHECK(backend.now() >= 0.8 * budget);
  }
}

TEST_CASE("resuming repeats nothing and loses nothing") {
  const TemporaryFile file("again.jsonl");
  FakeBackend backend(100);
  std::size_t measured = 0;
  {
    Journal journal(file.path(), false, "{}");
    measured = run(backend, journal, 0.05).measured;
  }
  Journal journal(file.path(), true, "{}");
  const SessionResult result = run(backend, journal, 60);
  CHECK(result.resumed == measured);
  CHECK(result.measured == 100 - measured);
  CHECK(backend.prepared().size() == 100);
  for (const auto& [work, times] : backend.prepared()) CHECK_MESSAGE(times == 1, work);
}

TEST_CASE("points without room are skipped, said, and not tried again") {
  const TemporaryFile file("room.jsonl");
  FakeBackend backend(103);
  {
    Journal journal(file.path(), false, "{}");
    CHECK(run(backend, journal, 60).skipped == 3);
  }
  CHECK(file.text().find(R"({"op":"copy","bytes":1010000,"skipped":"1 MB"})") != std::string::npos);
  Journal journal(file.path(), true, "{}");
  CHECK(run(backend, journal, 60).resumed == 103);
}

TEST_CASE("a point holds summary, samples and the state of the device") {
  const TemporaryFile file("point.jsonl");
  Journal journal(file.path(), false, "{}");
  FakeBackend backend(1);
  run(backend, journal, 60);
  CHECK(file.text().find(R"("kernel":"ten-thousand","sm_mhz":1980.0})") != std::string::npos);
  CHECK(file.text().find(R"({"op":"copy","bytes":10000,"time_s":1e-06,"p10_s":1e-06,)"
                         R"("p90_s":1e-06,"samples":10,"raw_s":[1e-06,)") != std::string::npos);
}

}  // namespace
}  // namespace prequel
