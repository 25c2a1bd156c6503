#include "cli/text/layout_text.hpp"

#include <fmt/format.h>

#include "models/axes/axis_text.hpp"

namespace prequel {

std::string layout_text(const Plan& plan) {
  const auto beyond_one = [](const char* axis, std::int64_t degree) {
    return degree > 1 ? fmt::format(" {} {}", axis, degree) : std::string();
  };
  std::string text =
      fmt::format("{} nodes, dp {} tp {}{} pp {}{}{}{} mbs {} zero {} recompute {}", plan.nodes,
                  plan.dp, plan.tp, beyond_one("cp", plan.cp), plan.pp, beyond_one("vpp", plan.vpp),
                  beyond_one("ep", plan.ep), beyond_one("etp", plan.etp), plan.mbs, plan.zero,
                  name(plan.recompute));
  if (plan.recompute == Recompute::selective && !plan.recompute_modules.empty()) {
    text += " (" + cell_of(plan.recompute_modules) + ")";
  }
  if (plan.sequence_parallel) text += " sequence-parallel";
  if (plan.offload != Offload::none) text += fmt::format(" offload {}", name(plan.offload));
  if (!plan.layout.empty()) text += " layout " + plan.layout;
  return text;
}

std::string layout_text(const PlanRequest& request) {
  std::string text;
  const auto add = [&](const char* what, const std::optional<std::int64_t>& value) {
    if (value) text += fmt::format("{}{} {}", text.empty() ? "" : " ", what, *value);
  };
  add("nodes", request.nodes);
  add("dp", request.dp);
  add("tp", request.tp);
  const auto add_beyond_one = [&](const char* what, const std::optional<std::int64_t>& value) {
    if (value != 1) add(what, value);
  };
  add_beyond_one("cp", request.cp);
  add("pp", request.pp);
  add_beyond_one("vpp", request.vpp);
  add_beyond_one("ep", request.ep);
  add_beyond_one("etp", request.etp);
  add("mbs", request.mbs);
  add("gbs", request.gbs);
  return text;
}

std::string shape_text(const ModelShape& shape) {
  return fmt::format("{} layers of {}, {} heads: ", shape.layers, shape.hidden, shape.heads);
}

std::string shape_text(const ModelShape& shape, const Transformer& given) {
  return shape == shape_of(given) ? "" : shape_text(shape);
}

}  // namespace prequel
