#include "sim/search/confirmation.hpp"

#include <cmath>

#include "hw/base/parallel.hpp"
#include "sim/answer/detailed_time.hpp"
#include "sim/answer/timeline.hpp"

namespace prequel {

std::vector<std::optional<double>> detailed_seconds(const std::vector<FoundPlan>& plans,
                                                    const SearchInputs& inputs) {
  std::vector<std::optional<double>> seconds(plans.size());
  parallel_for(plans.size(), [&](std::size_t i) {
    const Scenario scenario = scenario_of(inputs, plans[i].plan, plans[i].shape);
    if (timeline_passes(scenario) > kMostTimelinePasses) return;
    seconds[i] = detailed_time(scenario).value;
  });
  return seconds;
}

bool agrees(const FoundPlan& found, double detailed) {
  return std::abs(detailed - found.sec_per_iter) <= kDetailedTolerance * found.sec_per_iter;
}

}  // namespace prequel
