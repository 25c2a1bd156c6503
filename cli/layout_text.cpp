#include "cli/layout_text.hpp"

#include <fmt/format.h>

namespace prequel {

std::string layout_text(const Plan& plan) {
  return fmt::format(
      "{} nodes, dp {} tp {} pp {}{} mbs {} zero {} recompute {}{}{}", plan.nodes, plan.dp, plan.tp,
      plan.pp, plan.vpp > 1 ? fmt::format(" vpp {}", plan.vpp) : "", plan.mbs, plan.zero,
      name(plan.recompute), plan.sequence_parallel ? " sequence-parallel" : "",
      plan.offload == Offload::none ? "" : fmt::format(" offload {}", name(plan.offload)));
}

std::string layout_text(const PlanRequest& request) {
  std::string text;
  const auto add = [&](const char* what, const std::optional<std::int64_t>& value) {
    if (value) text += fmt::format("{}{} {}", text.empty() ? "" : " ", what, *value);
  };
  add("nodes", request.nodes);
  add("dp", request.dp);
  add("tp", request.tp);
  add("pp", request.pp);
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
