#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "hw/base/errors.hpp"
#include "models/plan/lengths.hpp"

namespace prequel {
namespace {

Lengths counted(std::vector<std::int64_t> tokens) {
  Lengths lengths;
  lengths.counted = std::move(tokens);
  return lengths;
}

TEST_CASE("a log-normal data set has the mean and spread that it says") {
  const auto lengths = read_lengths("lognormal:1000:500:1:1000000");
  REQUIRE(lengths);
  std::mt19937_64 bits{7};
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const auto tokens = static_cast<double>(lengths->draw(bits, 1 << 20));
    sum += tokens;
    squares += tokens * tokens;
  }
  const double mean = sum / kDraws;
  CHECK(mean == doctest::Approx(1000).epsilon(0.01));
  CHECK(std::sqrt(squares / kDraws - mean * mean) == doctest::Approx(500).epsilon(0.03));
}

TEST_CASE("padded rows compute the longest of their micro batch, packed ones their own squares") {
  // All sequences are 10 tokens: nothing is random.
  const Lengths tens = counted({10});
  std::mt19937_64 bits{1};
  const auto one = [&](Packing packing) {
    return draw_step(tens, {packing, Balance::none, 64, 2, 1, 1}, bits)[0][0];
  };
  const MicroBatchLoad padded = one(Packing::none);
  CHECK(padded.computed == 20);
  CHECK(padded.squares == 200);
  CHECK(padded.real == 20);
  // Six of ten fit into 64.
  const MicroBatchLoad packed = one(Packing::packed);
  CHECK(packed.computed == 128);
  CHECK(packed.squares == 2 * 6 * 100);
  CHECK(packed.real == 120);
  CHECK(packed.sequences == 12);
  CHECK(one(Packing::packed_causal).squares == 2 * 64 * 64);
}

TEST_CASE("packing loses no token and counts squares as a loop over sequences does") {
  std::vector<std::int64_t> tokens(500);
  std::mt19937_64 bits{3};
  for (auto& each : tokens) each = static_cast<std::int64_t>(1 + bits() % 300);
  const Lengths lengths = counted(tokens);
  std::mt19937_64 ours{11};
  const Filling filling{Packing::packed, Balance::none, 1000, 1, 1, 40};
  double squares = 0;
  double real_tokens = 0;
  const auto step = draw_step(lengths, filling, ours);
  for (const MicroBatchLoad& load : step[0]) {
    squares += load.squares;
    real_tokens += load.real;
    CHECK(load.real <= load.computed);
  }
  // The same draws, packed by hand: a sequence that does not fit opens the next row.
  std::mt19937_64 theirs{11};
  double expected = 0;
  double expected_tokens = 0;
  double waiting = 0;
  for (int row = 0; row < 40; ++row) {
    double filled = 0;
    for (double next = waiting > 0 ? waiting : static_cast<double>(lengths.draw(theirs, 1000));;
         next = static_cast<double>(lengths.draw(theirs, 1000))) {
      waiting = next;
      if (filled + next > 1000) break;
      filled += next;
      expected += next * next;
    }
    expected_tokens += filled;
  }
  CHECK(squares == expected);
  CHECK(real_tokens == expected_tokens);
}

TEST_CASE("balancers deal the same rows and narrow the spread of replicas") {
  const auto lengths = read_lengths("lognormal:2000:1500:50:16384");
  REQUIRE(lengths);
  const auto loads = [&](Balance balance) {
    std::mt19937_64 bits{5};
    return draw_step(*lengths, {Packing::none, balance, 16384, 1, 8, 8}, bits);
  };
  const auto sum = [](const std::vector<MicroBatchLoad>& replica) {
    return std::accumulate(replica.begin(), replica.end(), 0.0,
                           [](double all, const auto& load) { return all + load.squares; });
  };
  const auto slowest = [&](Balance balance) {
    double most = 0;
    for (const auto& replica : loads(balance)) most = std::max(most, sum(replica));
    return most;
  };
  const auto all = [&](Balance balance) {
    double whole = 0;
    for (const auto& replica : loads(balance)) whole += sum(replica);
    return whole;
  };
  CHECK(all(Balance::sorted) == doctest::Approx(all(Balance::none)));
  CHECK(all(Balance::longest_first) == doctest::Approx(all(Balance::none)));
  CHECK(slowest(Balance::sorted) < slowest(Balance::none));
  CHECK(slowest(Balance::longest_first) < slowest(Balance::sorted));
}

TEST_CASE("lengths that nobody can read are refused") {
  CHECK_FALSE(read_lengths("fixed"));
  CHECK_THROWS_AS(read_lengths("lognormal:1000"), InputError);
  CHECK_THROWS_AS(read_lengths("lognormal:1000:x:1:5"), InputError);
  CHECK_THROWS_AS(read_lengths("no such data set"), InputError);
}

}  // namespace
}  // namespace prequel
