#include "sim/answer/uncertainty.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "hw/base/json_cursor.hpp"
#include "sim/answer/prediction.hpp"
#include "tests/scenarios.hpp"
#include "tests/sim/shipped_priors.hpp"

namespace prequel {
namespace {

TEST_CASE("at 0 all files are as they are") {
  const Scenario scenario = shipped_scenario();
  const Prediction prediction = predict(scenario);
  const LogAnswer answer = log_answer(scenario, priors(), {});
  CHECK(answer.time == doctest::Approx(std::log(prediction.sec_per_iter.value)));
  CHECK(answer.printed == doctest::Approx(std::log(prediction.peak_memory.value)));
  CHECK(answer.needed <= answer.printed);
  for (std::size_t i = 0; i < kUncertain; ++i) {
    Scenario moved = scenario;
    move(moved, priors(), Uncertain(i), 0.0);
    CHECK(predict(moved).sec_per_iter == prediction.sec_per_iter);
  }
}

TEST_CASE("every constant slows or fills as it grows, and none crosses its bounds") {
  const Scenario scenario = shipped_scenario();
  const Uncertainty uncertainty = priors();
  const LogAnswer at_rest = log_answer(scenario, uncertainty, {});
  for (std::size_t i = 0; i < kUncertain; ++i) {
    CAPTURE(kUncertainNames[i]);
    for (const double u : {-8.0, -0.3, 0.3, 8.0}) {
      Deviations moved{};
      moved[i] = u;
      const LogAnswer answer = log_answer(scenario, uncertainty, moved);
      CHECK(std::isfinite(answer.time));
      CHECK(std::isfinite(answer.needed));
      if (u > 0) {
        CHECK(answer.time >= at_rest.time - 1e-12);
        CHECK(answer.needed >= at_rest.needed - 1e-12);
      } else {
        CHECK(answer.time <= at_rest.time + 1e-12);
        CHECK(answer.needed <= at_rest.needed + 1e-12);
      }
      Scenario far = scenario;
      move(far, uncertainty, Uncertain(i), u);
      CHECK(far.cluster.network.efficiency <= 1.0);
      CHECK(far.cluster.network.efficiency > 0.0);
      CHECK(far.software.kernels.gemm_time_factor >= 0.95);
      CHECK(far.software.communication.overlap_contention <= 1.0);
      for (const AttentionKernel& kernel : far.device.attention) {
        for (const AttentionHeadSize& size : kernel.head_sizes) {
          CHECK(size.forward.efficiency <= 1.0);
        }
      }
    }
  }
}

TEST_CASE("a constant of 0 can grow, but not fall") {
  Scenario scenario = shipped_scenario();
  scenario.software.host.fixed_per_iteration = {};
  const Uncertainty uncertainty = priors();
  move(scenario, uncertainty, Uncertain::fixed, -1.0);
  CHECK(scenario.software.host.fixed_per_iteration.value == 0.0);
  move(scenario, uncertainty, Uncertain::fixed, 1.0);
  CHECK(scenario.software.host.fixed_per_iteration.value ==
        doctest::Approx(0.05 * (std::exp(1.0) - 1.0)));
}

TEST_CASE("a number belongs to one constant, and the files have it under its path") {
  const Scenario scenario = shipped_scenario();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    for (const UncertainField& field : fields_of(scenario, Uncertain(i))) {
      CHECK(seen.insert(field.path).second);
      if (field.value == 0) continue;  // may be left out
      const std::size_t dot = field.path.find('.');
      const std::string input = field.path.substr(0, dot);
      const Document file = shipped_library().open(
          input == "software" ? input : input + "s",
          input == "software"
              ? scenario.software.name
              : (input == "cluster" ? scenario.cluster.name : scenario.device.name));
      Document changed = Document::from(file.file(), file.json());
      CAPTURE(field.path);
      CHECK_NOTHROW(changed.set(field.path.substr(dot + 1), "0.5"));
      if (input == "software") CHECK_NOTHROW((void)read_software(changed));
      if (input == "cluster") CHECK_NOTHROW((void)read_cluster(changed));
      if (input == "device") CHECK_NOTHROW((void)read_device(changed));
    }
  }
}

TEST_CASE("a density over the scale of the scatter is one") {
  const NoisePrior noise = priors().time_noise;
  double sum = 0.0;
  for (double log = -9.0; log < 3.0; log += 0.01) {
    sum += 0.01 * std::exp(log_density(noise, std::exp(log)));
  }
  CHECK(sum == doctest::Approx(1.0).epsilon(1e-3));
}

}  // namespace
}  // namespace prequel
