#include "cli/text/layout_text.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/router_balance.hpp"

namespace prequel {
namespace {

/// Axes that `plan_text` says in words of its own, or that have no effect on the plan.
bool is_said(std::string_view axis, const Scenario& scenario) {
  constexpr std::string_view kSaid[] = {
      "nodes",     "dp",        "tp",        "cp",       "pp",         "vpp",
      "ep",        "etp",       "mbs",       "gbs",      "seq_len",    "zero",
      "precision", "recompute", "attention", "schedule", "dispatcher", "router_balance"};
  const Plan& plan = scenario.plan;
  if (axis == "sequence_parallel") return plan.tp == 1;
  if (axis == "cp_comm") return plan.cp == 1;
  if (axis == "recompute_modules") return plan.recompute != Recompute::selective;
  if (axis == "grad_precision") {
    const auto& usual = scenario.software.defaults.grad_precision;
    return plan.grad_precision == usual.value_or(plan.precision);
  }
  if (axis == "dispatch_precision") return plan.dispatch_precision == activation_precision(plan);
  if (axis == "compile") return scenario.software.defaults.compile == plan.compile;
  if (axis == "overlap") {
    return plan.tp == 1 && plan.overlap == WordSet<Overlapped>{Overlapped::tp};
  }
  return std::ranges::find(kSaid, axis) != std::end(kSaid);
}

}  // namespace

std::string plan_text(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const auto beyond_one = [](const char* axis, std::int64_t degree) {
    return degree > 1 ? fmt::format("  {} {}", axis, degree) : std::string();
  };
  std::string text = fmt::format(
      "dp {}  tp {}{}  pp {}{}{}{}  mbs {}  gbs {}  seq {}  {}  zero {}  recompute {}  attention "
      "{}  "
      "{}",
      plan.dp, plan.tp, beyond_one("cp", plan.cp), plan.pp, beyond_one("vpp", plan.vpp),
      beyond_one("ep", plan.ep), beyond_one("etp", plan.etp), plan.mbs, plan.gbs, plan.seq_len,
      name(plan.precision), plan.zero, name(plan.recompute), name(plan.attention),
      name(plan.schedule));
  each_axis([&](const auto& axis) {
    const auto& value = axis.of(plan);
    if (is_said(axis.name, scenario) || value == plainest(axis.domain)) return;
    const std::string cell = cell_of(value);
    text += "  " + spaced(axis.name) + (cell == "1" ? "" : " " + cell);
  });
  if (scenario.model.has_experts()) {
    text += fmt::format("  dispatcher {}  router balance {}", name(plan.dispatcher),
                        plan.router_balance);
    if (plan.router_balance == kForcedBalance) text += " (equal loads)";
  }
  return text;
}

std::string layout_text(const Plan& plan) {
  const auto beyond_one = [](const char* axis, std::int64_t degree) {
    return degree > 1 ? fmt::format(" {} {}", axis, degree) : std::string();
  };
  std::string text =
      fmt::format("{} node{}, dp {} tp {}{} pp {}{}{}{} mbs {} zero {} recompute {}", plan.nodes,
                  plan.nodes == 1 ? "" : "s", plan.dp, plan.tp, beyond_one("cp", plan.cp), plan.pp,
                  beyond_one("vpp", plan.vpp), beyond_one("ep", plan.ep),
                  beyond_one("etp", plan.etp), plan.mbs, plan.zero, name(plan.recompute));
  if (plan.recompute == Recompute::selective && !plan.recompute_modules.empty()) {
    text += " (" + cell_of(plan.recompute_modules) + ")";
  }
  if (plan.sequence_parallel && plan.tp > 1) text += " sequence-parallel";
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
