#include "cli/plan_json.hpp"

#include <nlohmann/json.hpp>

namespace prequel {

using Json = nlohmann::ordered_json;

Json plan_json(const Plan& plan) {
  return {{"nodes", plan.nodes},
          {"gpus", plan.gpus},
          {"dp", plan.dp},
          {"tp", plan.tp},
          {"pp", plan.pp},
          {"cp", plan.cp},
          {"ep", plan.ep},
          {"vpp", plan.vpp},
          {"mbs", plan.mbs},
          {"gbs", plan.gbs},
          {"seq_len", plan.seq_len},
          {"zero", plan.zero},
          {"offload", name(plan.offload)},
          {"recompute", name(plan.recompute)},
          {"recompute_layers", plan.recompute_layers},
          {"precision", name(plan.precision)},
          {"grad_precision", name(plan.grad_precision)},
          {"attention", name(plan.attention)},
          {"sequence_parallel", plan.sequence_parallel},
          {"schedule", plan.schedule},
          {"stage_split", name(plan.stage_split)}};
}

Json breakdown_json(const Breakdown& parts) {
  return {
      {"compute", parts.compute}, {"recompute", parts.recompute}, {"tp_comm", parts.tp_comm},
      {"cp_comm", parts.cp_comm}, {"ep_comm", parts.ep_comm},     {"pp_comm", parts.pp_comm},
      {"dp_comm", parts.dp_comm}, {"bubble", parts.bubble},       {"optimizer", parts.optimizer},
      {"host", parts.host},       {"other", parts.other}};
}

}  // namespace prequel
