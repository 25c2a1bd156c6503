#include "cli/json/plan_json.hpp"

#include "cli/json/axis_json.hpp"

namespace prequel {

using Json = nlohmann::ordered_json;

Json plan_json(const Plan& plan) {
  Json json;
  each_axis([&](const auto& axis) {
    json[axis.name] = axis_json(axis.of(plan));
    if (axis.name == "nodes") json["gpus"] = plan.gpus;
  });
  return json;
}

Json breakdown_json(const Breakdown& parts) {
  return {
      {"compute", parts.compute},     {"recompute", parts.recompute}, {"tp_comm", parts.tp_comm},
      {"cp_comm", parts.cp_comm},     {"ep_comm", parts.ep_comm},     {"pp_comm", parts.pp_comm},
      {"dp_comm", parts.dp_comm},     {"offload", parts.offload},     {"bubble", parts.bubble},
      {"optimizer", parts.optimizer}, {"host", parts.host},           {"other", parts.other}};
}

Json hidden_json(const HiddenTime& hidden) {
  return {{"tp_comm", hidden.tp_comm}, {"cp_comm", hidden.cp_comm}, {"ep_comm", hidden.ep_comm},
          {"pp_comm", hidden.pp_comm}, {"dp_comm", hidden.dp_comm}, {"offload", hidden.offload}};
}

}  // namespace prequel
