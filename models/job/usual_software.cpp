#include "models/job/usual_software.hpp"

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/axes/axis_text.hpp"

namespace prequel {

bool trains_whole_adapters(const PlanRequest& plan) {
  return trains_whole_adapters([&](const auto& axis) {
    const auto& said = axis.of(plan);
    return said ? cell_of(*said) : std::string();
  });
}

std::string adapter_software(const Document& stacks) {
  expect_schema(stacks.root(), "prequel/stacks/1");
  return stacks.root().at("adapters").text();
}

}  // namespace prequel
