#include "sim/price/pricing.hpp"

#include <algorithm>
#include <variant>

#include "models/layers/state_bytes.hpp"
#include "sim/price/layer_kernels.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Prices lists of operators on one rank of a tensor-parallel group.
class OperatorPricer {
 public:
  explicit OperatorPricer(const Scenario& scenario)
      : scenario_(scenario),
        tensor_group_(group_shape(scenario.cluster, scenario.plan.gpus, scenario.plan.tp, 1)) {}

  [[nodiscard]] PassCost price(const Operators& operators) const {
    PassCost cost;
    for (const Operator& op : operators) {
      const KernelCost kernel = price(op);
      (kernel.collective ? cost.tp_comm : cost.compute) += kernel.seconds;
      if (kernel.weight_gradient) cost.weight_gradient += kernel.seconds;
    }
    return cost;
  }

  [[nodiscard]] KernelCost price(const Operator& op) const {
    if (const auto* collective = std::get_if<TensorCollective>(&op.what)) {
      return {op.name, collective_seconds(*collective), true, false};
    }
    const auto* gemm = std::get_if<Gemm>(&op.what);
    return {op.name, kernel_seconds(op), false, gemm && gemm->pass == GemmPass::wgrad};
  }

 private:
  [[nodiscard]] double kernel_seconds(const Operator& op) const {
    const KernelStack& stack = scenario_.software.kernels;
    const Device& device = scenario_.device;
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) {
      return stack.gemm_time_factor * prequel::price(device, *gemm).value;
    }
    if (const auto* attention = std::get_if<FusedAttention>(&op.what)) {
      return prequel::price(device, *attention, stack.flash_kernel).value;
    }
    if (const auto* stream = std::get_if<Stream>(&op.what)) {
      return prequel::price(device, *stream).value;
    }
    return std::get<Seconds>(op.what).value / device.clock_ratio;
  }

  [[nodiscard]] double collective_seconds(const TensorCollective& collective) const {
    const double time =
        collective_time(scenario_.cluster, collective.op, tensor_group_, collective.bytes).value;
    const bool blocking = scenario_.software.host.launch == Launch::blocking;
    return blocking ? time * scenario_.software.communication.blocking_collective_factor : time;
  }

  const Scenario& scenario_;
  GroupShape tensor_group_;
};

/// Launch time that is added to `layers` passes over a block; backward launches half as many
/// kernels again.
double launch_seconds(const HostStack& host, double layers) {
  const bool blocking = host.launch == Launch::blocking;
  return layers * (blocking ? host.blocking_launch_per_layer : host.async_launch_per_layer).value;
}

/// Adam on the host: the node's ranks share its memory; gradients come down and parameters, unless
/// they stay there, go up, each in the precision of the passes, over one link a device. Not
/// overlapped with the passes.
Seconds offloaded_optimizer_time(const Scenario& scenario, double owned) {
  const double ranks = real(std::min(scenario.plan.gpus, scenario.cluster.devices_per_node));
  const Bytes traffic{owned * ranks * scenario.software.kernels.optimizer_traffic_bytes};
  const Seconds adam = traffic / scenario.cluster.host.memory_bandwidth;
  const double copied = scenario.plan.offload == Offload::optimizer_params ? 1.0 : 2.0;
  const Seconds copies = host_copy_time(
      scenario.device, Bytes{owned * copied * bytes_per_element(scenario.plan.precision)});
  return std::max(adam, copies) + scenario.software.communication.offload_fixed;
}

/// Where stages have copies, they count as neighbours, as far as those on a fabric without
/// distance.
GroupShape data_group(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  return group_shape(scenario.cluster, plan.gpus, plan.replicas(), plan.tp * plan.cp);
}

}  // namespace

LayerSetting layer_setting(const Plan& plan) {
  return {plan.mbs, plan.seq_len, plan.tp, plan.sequence_parallel, plan.precision, plan.attention};
}

PassCost& PassCost::operator+=(const PassCost& other) {
  compute += other.compute;
  recompute += other.recompute;
  tp_comm += other.tp_comm;
  host += other.host;
  weight_gradient += other.weight_gradient;
  return *this;
}

LayerCosts price_layers(const Scenario& scenario) {
  const OperatorPricer pricer(scenario);
  const Transformer& model = scenario.model;
  const Software& software = scenario.software;
  const LayerSetting setting = layer_setting(scenario.plan);

  LayerCosts costs;
  costs.block_forward = pricer.price(block_forward(model, setting, software));
  costs.block_forward.host = launch_seconds(software.host, 1.0);

  costs.block_backward = pricer.price(block_backward(model, setting, software));
  costs.block_backward.host = launch_seconds(software.host, software.host.backward_launch_factor);
  const Recompute mode = scenario.plan.recompute;
  const PassCost repeated = pricer.price(block_recompute(model, setting, software, mode));
  costs.block_backward.recompute = repeated.compute;
  costs.block_backward.tp_comm += repeated.tp_comm;
  if (mode == Recompute::full) costs.block_backward.host += launch_seconds(software.host, 1.0);

  costs.embedding_forward = pricer.price(embedding_forward(model, setting));
  costs.embedding_backward = pricer.price(embedding_backward(model, setting));
  costs.head_forward = pricer.price(head_forward(model, setting, software));
  costs.head_backward = pricer.price(head_backward(model, setting, software));
  return costs;
}

LayerKernels price_kernels(const Scenario& scenario) {
  const OperatorPricer pricer(scenario);
  const Transformer& model = scenario.model;
  const Software& software = scenario.software;
  const LayerSetting setting = layer_setting(scenario.plan);
  const auto add = [&](KernelCosts& kernels, const Operators& operators) {
    for (const Operator& op : operators) kernels.push_back(pricer.price(op));
  };
  const auto add_launches = [&](KernelCosts& kernels, double layers) {
    const double seconds = launch_seconds(software.host, layers);
    if (seconds > 0) kernels.push_back({"launches", seconds});
  };
  const Recompute mode = scenario.plan.recompute;
  const double repeated = mode == Recompute::full ? 1.0 : 0.0;

  LayerKernels layer;
  add(layer.block_forward, block_forward(model, setting, software));
  add_launches(layer.block_forward, 1.0);
  add(layer.block_backward, block_recompute(model, setting, software, mode));
  for (KernelCost& kernel : layer.block_backward) kernel.weight_gradient = false;
  add(layer.block_backward, block_backward(model, setting, software));
  add_launches(layer.block_backward, software.host.backward_launch_factor + repeated);
  add(layer.embedding_forward, embedding_forward(model, setting));
  add(layer.embedding_backward, embedding_backward(model, setting));
  add(layer.head_forward, head_forward(model, setting, software));
  add(layer.head_backward, head_backward(model, setting, software));
  return layer;
}

ChunkCosts chunk_costs(const LayerCosts& layers, const StageContent& content) {
  const double blocks = real(content.blocks);
  ChunkCosts costs{blocks * layers.block_forward, blocks * layers.block_backward};
  if (content.embedding) {
    costs.forward += layers.embedding_forward;
    costs.backward += layers.embedding_backward;
  }
  if (content.head) {
    costs.forward += layers.head_forward;
    costs.backward += layers.head_backward;
  }
  return costs;
}

Seconds stage_transfer_time(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  if (plan.pp == 1) return {};
  const Cluster& cluster = scenario.cluster;
  const bool scattered =
      scenario.software.communication.scatter_gather_p2p || plan.sequence_parallel;
  const Bytes hidden{real(plan.mbs * plan.seq_len * scenario.model.hidden) *
                     bytes_per_element(plan.precision)};
  const Bytes sent = scattered ? hidden / real(plan.tp) : hidden;
  // Two neighbours along the pipeline are this far apart in rank order: tp, cp, dp, pp.
  const std::int64_t stride = plan.tp * plan.cp * plan.dp;
  const GroupShape pair =
      group_shape(cluster, plan.gpus, plan.pp, stride, TrafficPattern::send_next);
  Seconds time = collective_time(cluster, CollectiveOp::send_recv, pair, sent);
  if (scattered && !plan.sequence_parallel && plan.tp > 1) {
    time += collective_time(cluster, CollectiveOp::all_gather,
                            group_shape(cluster, plan.gpus, plan.tp, 1), hidden);
  }
  return time;
}

Seconds gradient_reduce_time(const Scenario& scenario, double parameters) {
  const Plan& plan = scenario.plan;
  return collective_time(
      scenario.cluster, plan.zero == 0 ? CollectiveOp::all_reduce : CollectiveOp::reduce_scatter,
      data_group(scenario), Bytes{parameters * bytes_per_element(plan.grad_precision)});
}

Seconds parameter_gather_time(const Scenario& scenario, double parameters) {
  if (scenario.plan.zero == 0) return {};
  return collective_time(
      scenario.cluster, CollectiveOp::all_gather, data_group(scenario),
      Bytes{parameters * state_bytes(scenario.plan, scenario.software).gathered});
}

Seconds tied_embedding_time(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  if (plan.pp == 1 || !scenario.model.tied_embeddings) return {};
  const std::int64_t vocab =
      padded_vocab(scenario.model.vocab, plan.tp, scenario.software.vocab_multiple);
  const Bytes table{real(embedding_parameters(scenario.model, vocab) / plan.tp) *
                    bytes_per_element(plan.grad_precision)};
  // The end stages lie as far apart as neighbours do on a fabric without distance.
  const std::int64_t stage_ranks = plan.tp * plan.cp * plan.dp;
  return collective_time(scenario.cluster, CollectiveOp::all_reduce,
                         group_shape(scenario.cluster, 2 * stage_ranks, 2, stage_ranks), table);
}

Seconds optimizer_time(const Scenario& scenario, double parameters) {
  const Plan& plan = scenario.plan;
  const KernelStack& stack = scenario.software.kernels;
  const double owned = plan.zero >= 1 ? parameters / real(plan.replicas()) : parameters;
  if (plan.offload != Offload::none) return offloaded_optimizer_time(scenario, owned);
  return price(scenario.device,
               Stream{StreamKind::optimizer, {owned * stack.optimizer_traffic_bytes}}) +
         stack.optimizer_time_per_parameter * owned;
}

}  // namespace prequel
