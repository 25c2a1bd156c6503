#include "calibrate/validate/validation.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

TEST_CASE("the same order has tau 1, the opposite one -1") {
  CHECK(kendall_tau({1, 2, 3, 4}, {10, 20, 30, 40}) == 1);
  CHECK(kendall_tau({1, 2, 3, 4}, {40, 30, 20, 10}) == -1);
}

TEST_CASE("one swapped pair of three costs two thirds") {
  CHECK(kendall_tau({1, 2, 3}, {1, 3, 2}) == doctest::Approx(1.0 / 3));
}

TEST_CASE("equal values count neither way") {
  CHECK(kendall_tau({1, 1, 2}, {1, 2, 3}) == doctest::Approx(2.0 / 3));
}

TEST_CASE("no pair has tau 0") {
  CHECK(kendall_tau({}, {}) == 0);
  CHECK(kendall_tau({1}, {1}) == 0);
}

TEST_CASE("the regret is what following the prediction costs over the measured best") {
  CHECK(top1_regret({1, 2, 3}, {100, 110, 120}) == 0);
  CHECK(top1_regret({2, 1, 3}, {100, 110, 120}) == doctest::Approx(0.1));
}

TEST_CASE("the measured best is first where the orders agree, last where they are opposite") {
  CHECK(place_of_best({1, 2, 3}, {100, 110, 120}) == 1);
  CHECK(place_of_best({3, 2, 1}, {100, 110, 120}) == 3);
}

}  // namespace
}  // namespace prequel
