#include "sim/price/pricing.hpp"

#include <algorithm>

#include "models/layers/kept.hpp"
#include "sim/price/launches.hpp"
#include "sim/price/operator_pricer.hpp"
#include "sim/price/orthogonalization.hpp"
#include "sim/price/side_by_side.hpp"

namespace prequel {
namespace {

/// Returns seconds of copies. Activations that wait in host memory go there beside the forward pass
/// and comes back beside the backward one: of modules of each layer, or of whole layers that lie
/// spread among those that stay.
double activation_copies(const Inputs& inputs, const Layer& layer, const LayerQuestion& question) {
  if (question.offloaded.empty() && question.offloaded_layers == 0) return 0;
  const double repeated = question.repeated_blocks;
  const auto bytes = [&](WordSet<Module> modules) {
    return offloaded_bytes(layer, modules, question.offloaded);
  };
  const double of_layers = real(question.offloaded_layers) / real(inputs.model.layers);
  const double of_modules = repeated * bytes(question.repeated) + (1.0 - repeated) * bytes({});
  return host_copy_time(inputs.device, Bytes{of_modules + of_layers * kept_bytes(layer, {})}).value;
}

PartKernels price_part(const OperatorPricer& pricer, const Layer& layer, Part part,
                       const LayerQuestion& question, const Inputs& inputs) {
  const Software& software = inputs.software;
  PartKernels kernels;
  kernels.forward = pricer.price(forward_operators(layer, software));
  const std::size_t operators = kernels.forward.size();
  if (is_block(part)) {
    kernels.backward = pricer.price(repeated_operators(layer, software, question.repeated));
    for (KernelCost& kernel : kernels.backward) {
      kernel.repeated = true;
      kernel.seconds *= question.repeated_blocks;  // the mean of blocks that do and do not
      kernel.hidden *= question.repeated_blocks;
    }
  }
  const KernelCosts backward = pricer.price(backward_operators(layer, software));
  kernels.backward.insert(kernels.backward.end(), backward.begin(), backward.end());
  if (!is_block(part)) return kernels;
  kernels.copies = activation_copies(inputs, layer, question);
  const Seconds collective =
      question.staged_over_nodes ? pricer.tensor_collective_launch() : Seconds{};
  const LayerKind kind = LayerKinds(inputs.model).kind_of(part);
  // Where stacks state the host's time forward, a backward pass is in proportion to its operators.
  const double back = real(backward.size()) / real(std::max<std::size_t>(1, operators));
  add_launches({layer, kind, back, collective}, question, inputs, kernels);
  return kernels;
}

PassCost sum(const KernelCosts& kernels) {
  PassCost cost;
  for (const KernelCost& kernel : kernels) {
    switch (kernel.kind) {
      case WorkKind::tensor_comm:
        cost.tp_comm += kernel.seconds;
        cost.hidden_tp_comm += kernel.hidden;
        continue;
      case WorkKind::context_comm:
        cost.cp_comm += kernel.seconds;
        cost.hidden_cp_comm += kernel.hidden;
        continue;
      case WorkKind::expert_comm:
        cost.ep_comm += kernel.seconds;
        cost.hidden_ep_comm += kernel.hidden;
        continue;
      case WorkKind::host:
        cost.host += kernel.seconds;
        if (kernel.weight_gradient) cost.weight_gradient_host += kernel.seconds;
        continue;
      case WorkKind::attention: cost.attention += kernel.seconds; break;
      case WorkKind::stream: cost.stream += kernel.seconds; break;
      case WorkKind::product: break;
    }
    (kernel.repeated ? cost.recompute : cost.compute) += kernel.seconds;
    if (kernel.weight_gradient) cost.weight_gradient += kernel.seconds;
  }
  return cost;
}

}  // namespace

PassCost& PassCost::operator+=(const PassCost& other) {
  for (double PassCost::*part : kPassParts) this->*part += other.*part;
  return *this;
}

PassCost operator*(double times, PassCost cost) {
  for (double PassCost::*part : kPassParts) cost.*part *= times;
  return cost;
}

namespace {

/// Plays experts on a shortcut (arXiv 2404.05019): the dense sublayers up to the next experts do
/// not wait for them, so that tokens are exchanged beside these, at the loss of kernels beside
/// transfers.
void play_shortcut(const Inputs& inputs, const PartCounts& held, LayerKernels& kernels) {
  const LayerKinds kinds(inputs.model);
  const double loss = overlap_loss(inputs);
  for (KernelCosts PartKernels::*pass : {&PartKernels::forward, &PartKernels::backward}) {
    double room = 0, layers = 0;  // s of dense kernels; layers of experts
    each_part([&](Part part) {
      if (!is_block(part) || held[part] == 0) return;
      if (kinds.kind_of(part).has_experts()) {
        layers += real(held[part]);
      } else {
        room += real(held[part]) * sum(kernels[part].*pass).compute;
      }
    });
    each_part([&](Part part) {
      if (!is_block(part) || held[part] == 0 || !kinds.kind_of(part).has_experts()) return;
      double left = room / layers;
      for (KernelCost& transfer : kernels[part].*pass) {
        if (transfer.kind != WorkKind::expert_comm) continue;
        const double both = std::min(left, transfer.seconds);
        left -= both;
        transfer.hidden += (1.0 - loss) * both;
        transfer.seconds -= (1.0 - loss) * both;
      }
    });
  }
}

}  // namespace

LayerKernels price_kernels(const LayerQuestion& question, const Inputs& inputs) {
  const OperatorPricer pricer(question, inputs);
  const LayerSetting setting = question.mean();
  const PartCounts held = parts_of(inputs.model);
  LayerKernels kernels;
  each_part([&](Part part) {
    if (held[part] == 0) return;
    const Layer layer = tell_part(part, inputs.model, setting, inputs.software);
    kernels[part] = price_part(pricer, layer, part, question, inputs);
  });
  if (inputs.model.experts.shortcut && !question.beside) play_shortcut(inputs, held, kernels);
  return kernels;
}

namespace {

/// How far a step whose tensor-core kernels take this share of its time runs at the board's limit:
/// not at all below 0.45, wholly from 0.7 on (a guess that nodes' power in runs supports).
double at_limit(double share) {
  return std::clamp((share - 0.45) / 0.25, 0.0, 1.0);
}

double tensor_seconds(const PassCost& pass) {
  return std::max(0.0, pass.compute + pass.recompute - pass.stream);
}

/// Tensor-core kernels of a pass slower by a factor.
void slow_down(PassCost& pass, double factor) {
  const double kernels = pass.compute + pass.recompute;
  if (kernels <= 0) return;
  const double more = (factor - 1.0) * tensor_seconds(pass) / kernels;
  pass.compute *= 1.0 + more;
  pass.recompute *= 1.0 + more;
  pass.attention *= factor;
  pass.weight_gradient *= factor;
}

/// Prices at the rate that the card sustains: kernel tables are bursts, a busy step is a steady
/// state. Layers that wait for their host or their links leave the board below its limit.
void sustain(const Device& device, const PerPart<std::int64_t>& held, LayerCosts& costs) {
  if (device.sustained == 1.0) return;
  double tensor = 0.0, all = 0.0;
  each_part([&](Part part) {
    for (const PassCost* pass : {&costs[part].forward, &costs[part].backward}) {
      tensor += real(held[part]) * tensor_seconds(*pass);
      all += real(held[part]) * std::max(pass->total(), pass->launching);
    }
  });
  if (all <= 0) return;
  const double factor = 1.0 / (1.0 + at_limit(tensor / all) * (device.sustained - 1.0));
  each_part([&](Part part) {
    slow_down(costs[part].forward, factor);
    slow_down(costs[part].backward, factor);
  });
}

}  // namespace

LayerCosts price(const LayerQuestion& question, const Inputs& inputs) {
  const LayerKernels kernels = price_kernels(question, inputs);
  const PartCounts held = parts_of(inputs.model);
  LayerCosts costs;
  costs.weights = part_weights(inputs.model, question, inputs.software);
  each_part([&](Part part) {
    const PartKernels& its = kernels[part];
    costs[part] = {sum(its.forward), sum(its.backward)};
    for (const auto& [pass, host] : {std::pair{&costs[part].forward, &its.host_forward},
                                     std::pair{&costs[part].backward, &its.host_backward}}) {
      pass->launching = host->launching;
      pass->host_beside = host->beside;
    }
    costs[part].forward = real(1 + question.forward_only) * costs[part].forward;
    costs[part].forward.copies = costs[part].backward.copies = its.copies;
    const bool has_matrices = is_block(part) || part == Part::next_token;
    if (!question.by_matrix || !has_matrices || held[part] == 0) return;
    const Layer layer = tell_part(part, inputs.model, question.setting, inputs.software);
    costs.orthogonal[part] = orthogonalization(layer, question.setting.precision, inputs);
  });
  sustain(inputs.device, held, costs);
  return costs;
}

ChunkCosts chunk_costs(const LayerCosts& layers, const StageContent& content) {
  ChunkCosts costs;
  each_part([&](Part part) {
    const std::int64_t count = content.parts[part];
    if (count == 0) return;
    costs.forward += real(count) * layers[part].forward;
    costs.backward += real(count) * layers[part].backward;
  });
  return costs;
}

}  // namespace prequel
