#include "models/job/inputs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "hw/base/words.hpp"
#include "models/plan/rules.hpp"
#include "models/plan/trained_model.hpp"

namespace prequel {

std::string replace_precision(Software& software, const Device& device) {
  const auto usual = software.defaults.precision;
  const auto is_there = [&](Precision each) {
    return device.peaks[static_cast<std::size_t>(each)] > 0.0;
  };
  constexpr std::array kEverWider{Precision::fp4,  Precision::fp8,  Precision::bf16,
                                  Precision::fp16, Precision::tf32, Precision::fp32};
  const auto* const from = std::find(kEverWider.begin(), kEverWider.end(), usual);
  const auto* const found = std::find_if(from, kEverWider.end(), is_there);
  if (found == kEverWider.end() || *found == usual) return {};
  software.defaults.precision = *found;
  return fmt::format(
      "precision: device {} has no {} matrix products, in which {} trains by default; {} is taken",
      device.name, name(*usual), software.name, name(*found));
}

ResolvedScenario resolve(const Inputs& inputs, const PlanRequest& plan) {
  ResolvedScenario result{{inputs, {}}, {}};
  Scenario& scenario = result.scenario;
  scenario.model = trained_model(std::move(scenario.model), plan);
  const std::string replaced = replace_precision(scenario.software, scenario.device);
  auto [resolved, warnings] =
      resolve_plan(plan, scenario.model, scenario.cluster, scenario.software);
  scenario.plan = std::move(resolved);
  result.warnings = std::move(warnings);
  if (!plan.precision && !replaced.empty()) result.warnings.push_back(replaced);
  return result;
}

}  // namespace prequel
