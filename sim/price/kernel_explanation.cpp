#include "sim/price/kernel_explanation.hpp"

#include <variant>

#include "sim/price/layer_kernels.hpp"

namespace prequel {
namespace {

/// A time that is said, not computed.
PriceExplanation said(const char* model, const char* constants, double seconds) {
  return {model, constants, {}, {}, {{"time as stated", {seconds}}}, {seconds}};
}

class Explainer {
 public:
  Explainer(const Scenario& scenario, std::int64_t blocks)
      : scenario_(scenario),
        tensor_group_(group_shape(scenario.cluster, scenario.plan.gpus, scenario.plan.tp, 1)),
        blocks_(blocks) {}

  /// `costs` are the prices of the operators; launches may follow.
  void add(std::string_view part, std::string_view pass, const Operators& operators,
           const KernelCosts& costs) {
    const std::int64_t count =
        scenario_.plan.micro_batches() * (part == "block" ? blocks_ : std::int64_t{1});
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const double seconds = costs[i].seconds;
      kernels_.push_back({operators[i].name, part, pass, operators[i], seconds, count,
                          explained(operators[i], seconds)});
    }
    if (costs.size() > operators.size()) {
      const KernelCost& launches = costs.back();
      kernels_.push_back(
          {launches.name,
           part,
           pass,
           {launches.name, Seconds{launches.seconds}},
           launches.seconds,
           count,
           said("launches that the device waits for", "software.host", launches.seconds)});
    }
  }

  [[nodiscard]] std::vector<ExplainedKernel> kernels() && { return std::move(kernels_); }

 private:
  [[nodiscard]] PriceExplanation explained(const Operator& op, double seconds) const {
    const Device& device = scenario_.device;
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) return explain_price(device, *gemm);
    if (const auto* stream = std::get_if<Stream>(&op.what)) return explain_price(device, *stream);
    if (const auto* attention = std::get_if<FusedAttention>(&op.what)) {
      return explain_price(device, *attention, scenario_.software.kernels.flash_kernel);
    }
    if (const auto* collective = std::get_if<TensorCollective>(&op.what)) {
      return explain_collective(scenario_.cluster, collective->op, tensor_group_,
                                collective->bytes);
    }
    return said("a time per attention score", "software.kernels.score_traffic", seconds);
  }

  const Scenario& scenario_;
  GroupShape tensor_group_;
  std::int64_t blocks_;
  std::vector<ExplainedKernel> kernels_;
};

}  // namespace

std::vector<ExplainedKernel> explain_kernels(const Scenario& scenario, std::int64_t blocks) {
  const Transformer& model = scenario.model;
  const Software& software = scenario.software;
  const LayerSetting setting = layer_setting(scenario.plan);
  const LayerKernels costs = price_kernels(scenario);
  const Operators repeated = block_recompute(model, setting, software, scenario.plan.recompute);

  Explainer explainer(scenario, blocks);
  explainer.add("embedding", "forward", embedding_forward(model, setting), costs.embedding_forward);
  explainer.add("block", "forward", block_forward(model, setting, software), costs.block_forward);
  explainer.add("head", "forward", head_forward(model, setting, software), costs.head_forward);
  explainer.add("head", "backward", head_backward(model, setting, software), costs.head_backward);
  const auto first_of_backward =
      costs.block_backward.begin() + static_cast<std::ptrdiff_t>(repeated.size());
  explainer.add("block", "recompute", repeated, {costs.block_backward.begin(), first_of_backward});
  explainer.add("block", "backward", block_backward(model, setting, software),
                {first_of_backward, costs.block_backward.end()});
  explainer.add("embedding", "backward", embedding_backward(model, setting),
                costs.embedding_backward);
  return std::move(explainer).kernels();
}

}  // namespace prequel
