#include "models/plan/layer_setting.hpp"

namespace prequel {

Precision activation_precision(const Plan& plan) {
  return is_quantized(plan.precision) ? Precision::bf16 : plan.precision;
}

ModuleSet repeated_modules(const Plan& plan) {
  return repeated_modules(plan.recompute);
}

LayerSetting layer_setting(const Plan& plan) {
  LayerSetting setting;
  setting.mbs = plan.mbs;
  setting.seq_len = plan.seq_len;
  setting.tp = plan.tp;
  setting.sequence_parallel = plan.sequence_parallel;
  setting.precision = activation_precision(plan);
  setting.attention = plan.attention;
  setting.products = plan.precision;
  setting.cp = plan.cp;
  setting.ep = plan.ep;
  setting.etp = plan.etp;
  return setting;
}

}  // namespace prequel
