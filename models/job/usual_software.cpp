#include "models/job/usual_software.hpp"

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/job/library.hpp"

namespace prequel {

bool trains_whole_adapters(const PlanRequest& plan) {
  const Tuning tuning = plan.tuning.value_or(Tuning::full);
  if (tuning != Tuning::lora && tuning != Tuning::dora) return false;
  const bool splits = plan.tp.value_or(1) > 1 || plan.pp.value_or(1) > 1 ||
                      plan.cp.value_or(1) > 1 || plan.ep.value_or(1) > 1;
  return !splits;
}

std::string adapter_software(const Library& library) {
  const Document stacks = library.open("stand_ins", "stacks");
  expect_schema(stacks.root(), "prequel/stacks/1");
  return stacks.root().at("adapters").text();
}

std::string usual_software(const Library& library, const Cluster& cluster, bool has_experts,
                           const PlanRequest& plan) {
  return trains_whole_adapters(plan) ? adapter_software(library)
                                     : usual_software(cluster, has_experts);
}

}  // namespace prequel
