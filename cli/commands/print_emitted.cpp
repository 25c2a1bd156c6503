#include "cli/commands/commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"

namespace prequel {

void print_emitted(std::string_view target, const Scenario& scenario, bool quiet) {
  const EmittedPlan emitted =
      std::ranges::find(kEmitTargets, target, &EmitTarget::name)->emit(scenario);
  fmt::print("{}", emitted.text);
  if (quiet) return;
  for (const LeftOut& one : emitted.left_out) {
    fmt::print(stderr, "left out: {}: {}\n", one.field, one.why);
  }
}

}  // namespace prequel
