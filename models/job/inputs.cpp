#include "models/job/inputs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "hw/base/words.hpp"
#include "models/plan/rules.hpp"

namespace prequel {

std::optional<Precision> usual_precision(const Software& software, const Device& device) {
  const auto usual = software.defaults.precision;
  const auto is_there = [&](Precision each) {
    return device.peaks[static_cast<std::size_t>(each)] > 0.0;
  };
  constexpr std::array kEverWider{Precision::fp4,  Precision::fp8,  Precision::bf16,
                                  Precision::fp16, Precision::tf32, Precision::fp32};
  const auto* const from = std::find(kEverWider.begin(), kEverWider.end(), usual);
  const auto* const found = std::find_if(from, kEverWider.end(), is_there);
  return found == kEverWider.end() ? usual : *found;
}

std::string replaced_precision(const Software& software, const Device& device) {
  const auto usual = software.defaults.precision;
  const auto there = usual_precision(software, device);
  if (there == usual) return {};
  return fmt::format(
      "precision: device {} has no {} matrix products, in which {} trains by default; {} is taken",
      device.name, name(*usual), software.name, name(*there));
}

ResolvedScenario resolve(const Inputs& inputs, const PlanRequest& plan) {
  std::string replaced = replaced_precision(inputs.software, inputs.device);
  if (plan.precision || replaced.empty()) {
    auto [resolved, warnings] = resolve_plan(plan, inputs.model, inputs.cluster, inputs.software);
    return {{inputs, std::move(resolved)}, std::move(warnings)};
  }
  PlanRequest request = plan;
  request.precision = usual_precision(inputs.software, inputs.device);
  ResolvedScenario scenario = resolve(inputs, request);
  scenario.warnings.push_back(std::move(replaced));
  return scenario;
}

}  // namespace prequel
