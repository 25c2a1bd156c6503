#include "sim/answer/sensitivity.hpp"

#include <doctest/doctest.h>

#include "sim/answer/prediction.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

TEST_CASE("more of a resource saves what its share of the time allows") {
  const Scenario scenario = shipped_scenario();
  const double step = predict(scenario).sec_per_iter.value;
  for (const Sensitivity& one : sensitivity(scenario)) {
    CAPTURE(one.resource);
    CHECK(one.sec_per_iter < step);
    CHECK(one.sec_per_iter > step / 1.1);
  }
  for (const Sensitivity& one : sensitivity(scenario, 1.0)) CHECK(one.sec_per_iter == step);
}

}  // namespace
}  // namespace prequel
