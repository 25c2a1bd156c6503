#include "sim/price/pricing.hpp"
#include "models/layers/parameters.hpp"

#include <algorithm>
#include <variant>

#include "hw/dispatch.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/groups.hpp"
#include "sim/price/kernel_costs.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

GroupShape shape_of_group(const Scenario& scenario, GroupAxis axis) {
  const RankGroup group = rank_group(scenario.plan, axis);
  return group_shape(scenario.cluster, scenario.plan.gpus, group.size, group.stride);
}

/// Whether a tensor group does not fit into a node.
bool crosses_nodes(const Scenario& scenario) {
  return scenario.plan.tp > scenario.cluster.devices_per_node;
}

WorkKind kind_of_comm(GroupAxis axis) {
  switch (axis) {
    case GroupAxis::context: return WorkKind::context_comm;
    case GroupAxis::expert:
    case GroupAxis::expert_tensor:
    case GroupAxis::expert_data: return WorkKind::expert_comm;
    default: return WorkKind::tensor_comm;
  }
}

/// Prices lists of operators on one rank.
class OperatorPricer {
 public:
  explicit OperatorPricer(const Scenario& scenario)
      : scenario_(scenario), tensor_group_(shape_of_group(scenario, GroupAxis::tensor)) {
    if (scenario.plan.cp > 1) context_group_ = shape_of_group(scenario, GroupAxis::context);
    if (scenario.plan.ep * scenario.plan.etp > 1 && scenario.model.has_experts()) {
      expert_group_ = shape_of_group(scenario, GroupAxis::expert);
    }
  }

  [[nodiscard]] KernelCosts price(const Operators& operators) const {
    KernelCosts costs;
    costs.reserve(operators.size() + 1);
    double attention = 0;
    for (const Operator& op : operators) {
      costs.push_back(price(op));
      if (costs.back().kind == WorkKind::attention) attention += costs.back().seconds;
    }
    hide_overlapped(costs);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const auto* ring = std::get_if<ContextRing>(&operators[i].what);
      if (ring) costs[i].seconds = exposed_ring(*ring, attention);
    }
    return costs;
  }

 private:
  /// Keeps of communication what the stack's overlap leaves exposed. One pipeline stage has no
  /// other micro batch beside its last.
  void hide_overlapped(KernelCosts& costs) const {
    const Plan& plan = scenario_.plan;
    const CommunicationStack& stack = scenario_.software.communication;
    const double pairs = plan.pp > 1 ? 1.0 : 1.0 - 1.0 / real(plan.micro_batches());
    for (KernelCost& cost : costs) {
      if (cost.kind == WorkKind::tensor_comm && plan.overlap.has(Overlapped::tp)) {
        cost.seconds *= stack.exposed_tensor;
      } else if (cost.kind == WorkKind::expert_comm && plan.overlap.has(Overlapped::ep)) {
        cost.seconds *= 1.0 - pairs * (1.0 - stack.exposed_exchange);
      }
    }
  }

  [[nodiscard]] KernelCost price(const Operator& op) const {
    const KernelStack& stack = scenario_.software.kernels;
    const Device& device = scenario_.device;
    const auto cost = [&](WorkKind kind, double seconds) {
      return KernelCost{op.name, seconds, kind};
    };
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) {
      KernelCost product =
          cost(WorkKind::product, stack.gemm_time_factor * prequel::price(device, *gemm).value);
      product.weight_gradient = gemm->pass == GemmPass::wgrad;
      return product;
    }
    if (const auto* grouped = std::get_if<GroupedGemm>(&op.what)) {
      KernelCost product =
          cost(WorkKind::product, stack.gemm_time_factor * prequel::price(device, *grouped).value);
      product.weight_gradient = grouped->pass == GemmPass::wgrad;
      return product;
    }
    if (const auto* attention = std::get_if<FusedAttention>(&op.what)) {
      return cost(WorkKind::attention,
                  prequel::price(device, *attention, stack.flash_kernel).value);
    }
    if (const auto* stream = std::get_if<Stream>(&op.what)) {
      return cost(WorkKind::stream, prequel::price(device, *stream).value);
    }
    if (const auto* cast = std::get_if<Cast>(&op.what)) {
      const Stream kernel = stream_of(*cast, device.fp8_in_any_order);
      return cost(WorkKind::stream, prequel::price(device, kernel).value);
    }
    if (const auto* collective = std::get_if<GroupCollective>(&op.what)) {
      return cost(kind_of_comm(collective->axis), collective_seconds(*collective));
    }
    if (const auto* transfer = std::get_if<Dispatch>(&op.what)) {
      return cost(WorkKind::expert_comm,
                  prequel::price(scenario_.cluster, expert_group_, *transfer).time().value);
    }
    if (std::get_if<ContextRing>(&op.what)) return cost(WorkKind::context_comm, 0);
    return cost(WorkKind::stream, std::get<Seconds>(op.what).value / device.clock_ratio);
  }

  [[nodiscard]] const GroupShape& group_of(GroupAxis axis) const {
    if (axis == GroupAxis::context) return context_group_;
    return axis == GroupAxis::expert ? expert_group_ : tensor_group_;
  }

  [[nodiscard]] double collective_seconds(const GroupCollective& collective) const {
    double time = collective_time(scenario_.cluster, collective.op, group_of(collective.axis),
                                  collective.bytes)
                      .value;
    if (collective.axis == GroupAxis::tensor) time += message_time();
    const bool blocking = scenario_.software.host.launch == Launch::blocking;
    return blocking ? time * scenario_.software.communication.blocking_collective_factor : time;
  }

  /// A tensor group's ring that crosses nodes hands a message to the network in each step; what a
  /// step between nodes takes more than one inside, it takes the device too.
  [[nodiscard]] double message_time() const {
    const std::int64_t ranks = scenario_.plan.tp;
    const CollectiveLaunches& launches = scenario_.software.host.staged_collectives;
    return (launches.time(ranks, crosses_nodes(scenario_)) - launches.time(ranks, false)).value;
  }

  /// What of the ring's steps attention does not hide. The last step has nothing to send.
  [[nodiscard]] double exposed_ring(const ContextRing& ring, double attention) const {
    const double steps = real(scenario_.plan.cp - 1);
    const double passes = ring.backward ? 2.0 : 1.0;
    const double sent =
        passes * steps *
        collective_time(scenario_.cluster, CollectiveOp::send_recv, context_group_, ring.bytes)
            .value;
    const double behind = attention * steps / (steps + 1);
    return std::max(0.0, sent - behind);
  }

  const Scenario& scenario_;
  GroupShape tensor_group_;
  GroupShape context_group_;
  GroupShape expert_group_;
};

/// Launch time that is added to `layers` passes over a block; backward launches half as many
/// kernels again.
double launch_seconds(const HostStack& host, double layers) {
  const bool blocking = host.launch == Launch::blocking;
  return layers * (blocking ? host.blocking_launch_per_layer : host.async_launch_per_layer).value;
}

/// Launches of a block of that kind.
LaunchCounts launches_of(const LayerKind kind, const Transformer& model,
                         const LayerQuestion& question, const LayerLaunches& launches) {
  const LayerSetting& setting = question.setting;
  const WordSet<GraphedModule> graphs = question.graphs;
  if (graphs.has(GraphedModule::full)) return {};
  const bool casts = is_quantized(setting.products);
  LaunchCounts all;
  if (!graphs.has(GraphedModule::attn)) {
    all += launches.attention;
    if (casts) all += launches.attention_casts;
  }
  if (!kind.experts) {
    if (graphs.has(GraphedModule::mlp)) return all;
    all += launches.mlp;
    if (casts) all += launches.mlp_casts;
    return all;
  }
  if (graphs.has(GraphedModule::moe)) return all;
  const double local = real(model.experts.count / setting.ep);
  all += launches.experts;
  if (graphs.has(GraphedModule::moe_router)) all += -1.0 * launches.router;
  all += local * launches.each_expert;
  if (casts) all += local * launches.each_expert_casts;
  if (model.experts.shared_hidden > 0) all += launches.shared_experts;
  if (setting.ep > 1 && setting.dispatcher == Dispatcher::alltoall) all += launches.alltoall;
  return all;
}

/// What the host does for one collective of the tensor group besides launching it.
Seconds tensor_collective_launch(const Scenario& scenario, const LayerQuestion& question) {
  if (!question.staged_over_nodes) return {};
  return scenario.software.host.staged_collectives.time(question.setting.tp,
                                                        crosses_nodes(scenario));
}

/// What a pass waits for the host: as stated by the layer, or by the rule of HostStack.
void add_launches(KernelCosts& kernels, const HostStack& host, double layers, double launches,
                  Seconds each_tensor_collective) {
  double waits = launch_seconds(host, layers);
  if (host.one_launch.value > 0) {
    double device = 0;
    double busy = host.one_launch.value * launches;
    for (const KernelCost& kernel : kernels) {
      device += kernel.seconds;
      if (kernel.kind == WorkKind::tensor_comm) busy += each_tensor_collective.value;
    }
    waits += std::max(0.0, busy - device) + host.lost_share * std::min(device, busy);
  }
  if (waits > 0) kernels.push_back({"launches", waits, WorkKind::host});
}

PartKernels price_part(const OperatorPricer& pricer, const Scenario& scenario, Part part,
                       const LayerQuestion& question) {
  const Software& software = scenario.software;
  const Layer layer = tell_part(part, scenario.model, question.setting, software);
  PartKernels kernels;
  kernels.forward = pricer.price(forward_operators(layer, software));
  if (is_block(part)) {
    kernels.backward = pricer.price(repeated_operators(layer, software, question.repeated));
    for (KernelCost& kernel : kernels.backward) {
      kernel.repeated = true;
      kernel.seconds *= question.repeated_blocks;  // the mean of blocks that do and do not
    }
  }
  const KernelCosts backward = pricer.price(backward_operators(layer, software));
  kernels.backward.insert(kernels.backward.end(), backward.begin(), backward.end());
  if (!is_block(part)) return kernels;
  const bool whole = question.repeated == ModuleSet::all();
  const HostStack& host = software.host;
  const double again = whole ? question.repeated_blocks : 0.0;
  const LaunchCounts launches = launches_of(kind_of(part), scenario.model, question, host.launches);
  const Seconds each_collective = tensor_collective_launch(scenario, question);
  add_launches(kernels.forward, host, 1.0, launches.forward, each_collective);
  add_launches(kernels.backward, host, host.backward_launch_factor + again,
               launches.backward + again * launches.forward, each_collective);
  return kernels;
}

PassCost sum(const KernelCosts& kernels) {
  PassCost cost;
  for (const KernelCost& kernel : kernels) {
    switch (kernel.kind) {
      case WorkKind::tensor_comm: cost.tp_comm += kernel.seconds; continue;
      case WorkKind::context_comm: cost.cp_comm += kernel.seconds; continue;
      case WorkKind::expert_comm: cost.ep_comm += kernel.seconds; continue;
      case WorkKind::host: cost.host += kernel.seconds; continue;
      case WorkKind::attention: cost.attention += kernel.seconds; break;
      case WorkKind::stream: cost.stream += kernel.seconds; break;
      case WorkKind::product: break;
    }
    (kernel.repeated ? cost.recompute : cost.compute) += kernel.seconds;
    if (kernel.weight_gradient) cost.weight_gradient += kernel.seconds;
  }
  return cost;
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

/// Adds up what a collective of each group of parameters takes, dense ones and experts'.
template <class TimeOf>
Seconds over_groups(const StageParameters& parameters, const TimeOf& time_of) {
  Seconds time = time_of(GroupAxis::data, parameters.dense);
  if (parameters.experts > 0) time += time_of(GroupAxis::expert_data, parameters.experts);
  return time;
}

}  // namespace

PassCost& PassCost::operator+=(const PassCost& other) {
  compute += other.compute;
  recompute += other.recompute;
  tp_comm += other.tp_comm;
  cp_comm += other.cp_comm;
  ep_comm += other.ep_comm;
  host += other.host;
  weight_gradient += other.weight_gradient;
  attention += other.attention;
  stream += other.stream;
  return *this;
}

PassCost operator*(double times, PassCost cost) {
  for (double* part : {&cost.compute, &cost.recompute, &cost.tp_comm, &cost.cp_comm, &cost.ep_comm,
                       &cost.host, &cost.weight_gradient, &cost.attention, &cost.stream}) {
    *part *= times;
  }
  return cost;
}

LayerQuestion layer_question(const Plan& plan, const Cluster& cluster) {
  LayerQuestion question;
  question.setting = layer_setting(plan);
  question.repeated = repeated_modules(plan);
  question.repeated_blocks = repeated_blocks(plan);
  const std::int64_t per_node = cluster.devices_per_node;
  const bool in_node = per_node % (plan.tp * plan.cp) == 0 && per_node % (plan.ep * plan.etp) == 0;
  question.gpus = in_node ? 0 : plan.gpus;
  question.staged_over_nodes = plan.pp > 1 && plan.tp > 1 && plan.gpus > per_node;
  question.overlap = plan.overlap;
  question.graphs = plan.cuda_graphs;
  return question;
}

LayerKernels price_kernels(const Scenario& scenario) {
  const OperatorPricer pricer(scenario);
  const LayerQuestion question = layer_question(scenario.plan, scenario.cluster);
  const PartCounts held = parts_of(scenario.model);
  LayerKernels kernels;
  each_part([&](Part part) {
    if (held[part] > 0) kernels[part] = price_part(pricer, scenario, part, question);
  });
  return kernels;
}

LayerCosts price_layers(const Scenario& scenario) {
  const LayerKernels kernels = price_kernels(scenario);
  LayerCosts costs;
  each_part([&](Part part) {
    costs[part] = {sum(kernels[part].forward), sum(kernels[part].backward)};
  });
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

Seconds accumulation_time(const Scenario& scenario, const StageParameters& parameters) {
  const double bytes = scenario.software.kernels.accumulation_bytes * parameters.total();
  return price(scenario.device, Stream{StreamKind::optimizer, {bytes}});
}

Seconds stage_transfer_time(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  if (plan.pp == 1) return {};
  const Cluster& cluster = scenario.cluster;
  const bool scattered =
      scenario.software.communication.scatter_gather_p2p || plan.sequence_parallel;
  const Bytes hidden{real(plan.mbs * plan.seq_len / plan.cp * scenario.model.hidden) *
                     bytes_per_element(activation_precision(plan))};
  const Bytes sent = scattered ? hidden / real(plan.tp) : hidden;
  const RankGroup pipeline = rank_group(plan, GroupAxis::pipeline);
  const GroupShape pair = group_shape(cluster, plan.gpus, pipeline.size, pipeline.stride);
  Seconds time = collective_time(cluster, CollectiveOp::send_recv, pair, sent);
  if (scattered && !plan.sequence_parallel && plan.tp > 1) {
    time += collective_time(cluster, CollectiveOp::all_gather,
                            shape_of_group(scenario, GroupAxis::tensor), hidden);
  }
  return time;
}

Seconds gradient_reduce_time(const Scenario& scenario, const StageParameters& parameters) {
  const Plan& plan = scenario.plan;
  const CommunicationStack& stack = scenario.software.communication;
  const bool to_all = plan.zero == 0 || (plan.zero == 1 && stack.reduces_to_all);
  const CollectiveOp op = to_all ? CollectiveOp::all_reduce : CollectiveOp::reduce_scatter;
  return over_groups(parameters, [&](GroupAxis axis, double count) {
    const Bytes gradients{count * bytes_per_element(plan.grad_precision)};
    const double bucket = stack.gradient_bucket.value;
    const double buckets = bucket > 0 ? std::max(1.0, gradients.value / bucket) : 1.0;
    return buckets * collective_time(scenario.cluster, op, shape_of_group(scenario, axis),
                                     gradients / buckets);
  });
}

Seconds parameter_gather_time(const Scenario& scenario, const StageParameters& parameters) {
  if (scenario.plan.zero == 0) return {};
  const double element = state_bytes(scenario.plan, scenario.software).gathered;
  return over_groups(parameters, [&](GroupAxis axis, double count) {
    return collective_time(scenario.cluster, CollectiveOp::all_gather,
                           shape_of_group(scenario, axis), Bytes{count * element});
  });
}

Seconds tied_embedding_time(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  if (plan.pp == 1 || !scenario.model.tied_embeddings) return {};
  const std::int64_t vocab =
      padded_vocab(scenario.model.vocab, plan.tp, scenario.software.vocab_multiple);
  const Bytes table{real(embedding_parameters(scenario.model, vocab) / plan.tp) *
                    bytes_per_element(plan.grad_precision)};
  // The end stages lie as far apart as neighbours do on a fabric without distance.
  const std::int64_t stage_ranks = rank_group(plan, GroupAxis::pipeline).stride;
  return collective_time(scenario.cluster, CollectiveOp::all_reduce,
                         group_shape(scenario.cluster, 2 * stage_ranks, 2, stage_ranks), table);
}

Seconds optimizer_time(const Scenario& scenario, const StageParameters& parameters) {
  const KernelStack& stack = scenario.software.kernels;
  const double owned = owned_parameters(scenario.plan, parameters);
  if (scenario.plan.offload != Offload::none) return offloaded_optimizer_time(scenario, owned);
  return price(scenario.device,
               Stream{StreamKind::optimizer, {owned * stack.optimizer_traffic_bytes}}) +
         stack.optimizer_time_per_parameter * owned;
}

}  // namespace prequel
