#include "models/layers/flops.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Products of one block, one token, forward: 2 FLOP a weight, and 4·s a channel of attention.
double block_forward_per_token(const Transformer& model, double seq_len) {
  const double weights = real(model.hidden) * real(model.qkv_width()) +
                         real(model.attention_width()) * real(model.hidden) +
                         real(model.hidden) * real(model.mlp_in_width()) +
                         real(model.ffn_hidden) * real(model.hidden);
  return 2 * weights + 4 * seq_len * real(model.attention_width());
}

StepFlops prequel_flops(const Transformer& model, const StepShape& step) {
  const double tokens = real(step.gbs) * real(step.seq_len);
  const double blocks =
      tokens * real(model.layers) * block_forward_per_token(model, real(step.seq_len));
  const double head = tokens * 2 * real(model.hidden) * real(step.vocab);
  double repeated = 0;
  if (step.recompute == Recompute::full) repeated = blocks;
  if (step.recompute == Recompute::selective && step.attention != AttentionKind::flash) {
    repeated = tokens * real(model.layers) * 4 * real(step.seq_len) * real(model.attention_width());
  }
  const double once = 3 * (blocks + head);
  return {{once}, {once + repeated}};
}

StepFlops megatron_hw_flops(const Transformer& model, const StepShape& step) {
  const double h = real(model.hidden);
  const double l = real(model.layers);
  const double s = real(step.seq_len);
  const double v = real(step.vocab);
  const double base = 24 * real(step.gbs) * s * l * h * h;
  const double k = step.recompute == Recompute::full ? 4 : 3;
  return {{3 * base * (1 + s / (6 * h) + v / (12 * l * h))},
          {k * base * (1 + s / (6 * h) + v / (16 * l * h))}};
}

StepFlops bs_noemb_flops(const Transformer& model, const StepShape& step) {
  const double h = real(model.hidden);
  const double parameters = real(model.layers) * (12 * h * h + 7 * h + 6 * h * real(step.tp));
  const double once = 2 * parameters * real(step.seq_len) * real(step.gbs);
  return {{3 * once}, {(step.recompute == Recompute::full ? 4 : 3) * once}};
}

StepFlops mosaic_flops(const Transformer& model, const StepShape& step, bool with_attention) {
  Transformer counted = model;
  counted.max_positions = step.seq_len;  // the source sizes the position table to the sequence
  const double s = real(step.seq_len);
  const double products = 2 * real(total_parameters(counted)) * s * real(step.gbs);
  const double attention =
      with_attention ? real(model.layers) * 2 * real(model.hidden) * s * s * real(step.gbs) : 0;
  const double k = step.recompute == Recompute::full ? 4 : 3;
  return {{3 * products + 2 * attention}, {k * products + (k - 1) * attention}};
}

}  // namespace

std::optional<FlopsConvention> flops_convention(std::string_view name) {
  for (std::size_t i = 0; i < kFlopsConventionNames.size(); ++i) {
    if (kFlopsConventionNames[i] == name) return FlopsConvention(i);
  }
  return std::nullopt;
}

StepFlops step_flops(const Transformer& model, const StepShape& step, FlopsConvention convention) {
  switch (convention) {
    case FlopsConvention::prequel: return prequel_flops(model, step);
    case FlopsConvention::megatron_hw: return megatron_hw_flops(model, step);
    case FlopsConvention::bs_noemb: return bs_noemb_flops(model, step);
    case FlopsConvention::mosaic_2023: return mosaic_flops(model, step, true);
    case FlopsConvention::mosaic_2023_star: return mosaic_flops(model, step, false);
  }
  return {};
}

}  // namespace prequel
