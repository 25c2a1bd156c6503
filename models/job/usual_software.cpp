#include "models/job/usual_software.hpp"

#include <cstdint>
#include <type_traits>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

namespace prequel {

bool trains_whole_adapters(const PlanRequest& plan) {
  const Tuning tuning = plan.tuning.value_or(Tuning::full);
  bool whole = tuning == Tuning::lora || tuning == Tuning::dora;
  each_axis([&](const auto& axis) {
    if constexpr (std::is_same_v<std::decay_t<decltype(*axis.of(plan))>, std::int64_t>) {
      if (splits_model(axis.role) && axis.of(plan).value_or(1) > 1) whole = false;
    }
  });
  return whole;
}

std::string adapter_software(const Document& stacks) {
  expect_schema(stacks.root(), "prequel/stacks/1");
  return stacks.root().at("adapters").text();
}

}  // namespace prequel
