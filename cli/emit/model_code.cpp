#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/overlap.hpp"

namespace prequel {

std::vector<LeftOut> left_to_model_code(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  std::vector<LeftOut> left_out;
  const auto leave = [&](const char* field, std::string why) {
    left_out.push_back({field, std::move(why)});
  };
  const auto code = [&](const char* field, const std::string& value, const char* what) {
    leave(field, fmt::format("{}: the model's code {}", value, what));
  };
  if (plan.ep > 1) code("ep", cell_of(plan.ep), "deals its experts");
  if (plan.etp > 1) code("etp", cell_of(plan.etp), "splits its experts");
  if (exchanges_tokens(plan, scenario.model)) {
    code("dispatcher", cell_of(plan.dispatcher), "sends tokens to experts");
  }
  if (is_quantized(plan.dispatch_precision)) {
    code("dispatch_precision", cell_of(plan.dispatch_precision), "casts them for it");
  }
  if (plan.pp > 1 && !plan.layout.empty()) {
    code("layout", plan.layout, "deals its layers to stages");
  }
  if (plan.recompute == Recompute::selective && !plan.recompute_modules.empty()) {
    code("recompute_modules", cell_of(plan.recompute_modules), "repeats them");
  }
  if (!plan.offload_modules.empty()) {
    code("offload_modules", cell_of(plan.offload_modules), "moves their inputs to the host");
  }
  if (plan.offload_layers > 0) {
    code("offload_layers", cell_of(plan.offload_layers), "moves their activations to the host");
  }
  if (!plan.cuda_graphs.empty()) {
    code("cuda_graphs", cell_of(plan.cuda_graphs), "captures them");
  }
  if (is_quantized(plan.precision)) {
    const std::string recipe = plan.fp8_recipe == Fp8Recipe::none ? "" : cell_of(plan.fp8_recipe);
    leave("precision",
          fmt::format("{}{}: the model's linear layers take it (Transformer Engine, torchao); what "
                      "is said here is the bf16 around them",
                      name(plan.precision), recipe.empty() ? "" : " (" + recipe + ")"));
  }
  if (plan.fp8_param_gather) {
    leave("fp8_param_gather", "the model's code gathers parameters in the format of its products");
  }
  if (plan.fp8_attention) leave("fp8_attention", "the model's code multiplies in attention");
  if (plan.fp8_activation_store) {
    leave("fp8_activation_store", "the model's code keeps the inputs of SwiGLU in fp8");
  }
  if (plan.optimizer != Optimizer::adam) {
    code("optimizer", cell_of(plan.optimizer), "updates its weights");
  }
  if (plan.master_weights == MasterWeights::none) {
    code("master_weights", "none", "loads its weights in 16 bits and updates them as they are");
  }
  if (plan.loss != LossForm::whole) code("loss", cell_of(plan.loss), "computes its loss");
  if (plan.moments_precision != Precision::fp32) {
    code("moments_precision", std::string(name(plan.moments_precision)), "holds its moments");
  }
  if (plan.optimizer_offload > 0) {
    code("optimizer_offload", cell_of(plan.optimizer_offload), "shares its moments with the host");
  }
  return left_out;
}

}  // namespace prequel
