#include "sim/price/pricing.hpp"
#include "models/layers/kept.hpp"
#include "models/layers/parameters.hpp"

#include <algorithm>
#include <variant>

#include "hw/dispatch.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/overlap.hpp"

namespace prequel {
namespace {

GroupShape shape_of_group(const Scenario& scenario, const RankGroup& group) {
  return group_shape(scenario.cluster, scenario.plan.gpus, group.size, group.stride);
}

GroupShape shape_of_group(const Scenario& scenario, GroupAxis axis) {
  return shape_of_group(scenario, rank_group(scenario.plan, axis));
}

CommTime comm_time(const CollectivePrice& price) {
  return {price.time(), price.network};
}

/// Of weights or gradients, with what the stack puts on the network at the most.
CommTime data_collective_time(const Scenario& scenario, CollectiveOp op, const RankGroup& group,
                              Bytes bytes) {
  if (group.size == 1) return {};
  return comm_time(price(scenario.cluster, op, shape_of_group(scenario, group), bytes,
                         scenario.software.communication.rank_rate_limit));
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
    hide_overlapped(operators, costs);
    hide_behind_shared_experts(operators, costs);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const auto* ring = std::get_if<ContextRing>(&operators[i].what);
      if (ring) price_ring(*ring, attention, costs[i]);
    }
    return costs;
  }

 private:
  /// Keeps of tensor-parallel communication what the stack's overlap leaves exposed. What experts
  /// exchange is hidden by the schedule.
  void hide_overlapped(const Operators& operators, KernelCosts& costs) const {
    if (!scenario_.plan.overlap.has(Overlapped::tp) ||
        !scenario_.software.communication.overlaps_tensor()) {
      return hide_behind_dgrad(operators, costs);
    }
    for (KernelCost& cost : costs) {
      if (cost.kind != WorkKind::tensor_comm) continue;
      hide(cost, (1.0 - scenario_.software.communication.exposed_tensor) * cost.seconds);
    }
  }

  static void hide(KernelCost& communication, double seconds) {
    communication.seconds -= seconds;
    communication.hidden += seconds;
  }

  /// A gather beside a dgrad costs what is longer of it, and what both lose to each other.
  void hide_behind_dgrad(const Operators& operators, KernelCosts& costs) const {
    double dgrad = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i].kind == WorkKind::product && !costs[i].weight_gradient) dgrad = costs[i].seconds;
      const auto* gather = std::get_if<GroupCollective>(&operators[i].what);
      if (!gather || !gather->beside_dgrad) continue;
      const double hidden = std::min(dgrad, costs[i].seconds);
      hide(costs[i], (1.0 - overlap_loss(scenario_)) * hidden);
    }
  }

  /// Shared experts run while tokens are on their way to the others and back (Megatron-Core's
  /// moe_shared_expert_overlap, which its dispatcher alltoall has).
  void hide_behind_shared_experts(const Operators& operators, KernelCosts& costs) const {
    const Plan& plan = scenario_.plan;
    const bool asked = plan.overlap.has(Overlapped::shared_experts) && !exchanges_beside(plan);
    if (!asked || plan.dispatcher != Dispatcher::alltoall) return;
    double shared = 0;
    double exchange = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i].kind == WorkKind::expert_comm) exchange += costs[i].seconds;
      const bool of_shared = operators[i].module == Module::shared_experts;
      if (of_shared && costs[i].kind == WorkKind::product) shared += costs[i].seconds;
    }
    for (KernelCost& cost : costs) {
      if (cost.kind != WorkKind::expert_comm) continue;
      hide(cost, std::min(1.0, shared / exchange) * cost.seconds);
    }
  }

  [[nodiscard]] KernelCost price(const Operator& op) const {
    const KernelStack& stack = scenario_.software.kernels;
    const Device& device = scenario_.device;
    const auto cost = [&](WorkKind kind, double seconds) {
      return KernelCost{op.name, seconds, kind};
    };
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) {
      KernelCost product = cost(WorkKind::product, stack.time_factor(gemm->precision) *
                                                       prequel::price(device, *gemm).value);
      product.weight_gradient = gemm->pass == GemmPass::wgrad;
      return product;
    }
    if (const auto* grouped = std::get_if<GroupedGemm>(&op.what)) {
      KernelCost product = cost(WorkKind::product, stack.time_factor(grouped->precision) *
                                                       prequel::price(device, *grouped).value);
      product.weight_gradient = grouped->pass == GemmPass::wgrad;
      return product;
    }
    if (const auto* attention = std::get_if<FusedAttention>(&op.what)) {
      return cost(WorkKind::attention, attention_seconds(*attention));
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

  /// Kernels that skip what lies outside of a window forward skip less of it backward.
  [[nodiscard]] double attention_seconds(const FusedAttention& attention) const {
    const KernelStack& stack = scenario_.software.kernels;
    const auto seconds = [&](const FusedAttention& shape) {
      return prequel::price(scenario_.device, shape, stack.flash_kernel).value;
    };
    const double alone = seconds(attention);
    if (!attention.backward || attention.window == 0) return alone;
    FusedAttention whole = attention;
    whole.window = 0;
    return std::max(alone, stack.windowed_backward_share * seconds(whole));
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

  /// What of the ring's steps attention does not hide, and what every step costs in any case. The
  /// last step has nothing to send.
  void price_ring(const ContextRing& ring, double attention, KernelCost& cost) const {
    const double steps = real(scenario_.plan.cp - 1);
    const double sent = steps * collective_time(scenario_.cluster, CollectiveOp::send_recv,
                                                context_group_, ring.bytes)
                                    .value;
    const double behind = attention * steps / (steps + 1);
    const WordSet<GraphedModule> graphs = scenario_.plan.cuda_graphs;
    const bool launched = !graphs.has(GraphedModule::full) && !graphs.has(GraphedModule::attn);
    const double step = launched ? scenario_.software.communication.context_step.value : 0.0;
    const double steering = step * (steps + 1);
    const double loss = scenario_.software.communication.context_ring.contention;
    cost.hidden = (1.0 - loss) * std::min(sent, behind);
    cost.seconds = sent - cost.hidden + (ring.backward ? 2.0 : 1.0) * steering;
  }

  const Scenario& scenario_;
  GroupShape tensor_group_;
  GroupShape context_group_;
  GroupShape expert_group_;
};

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
    if (model.is_latent()) all += launches.latent;
  }
  if (!kind.experts) {
    if (graphs.has(GraphedModule::mlp)) return all;
    all += launches.mlp;
    if (casts) all += launches.mlp_casts;
    return all;
  }
  if (graphs.has(GraphedModule::moe)) return all;
  all += launches.experts;
  if (graphs.has(GraphedModule::moe_router)) all += -1.0 * launches.router;
  // At a fixed capacity the tokens of all experts are one tensor.
  const double local = setting.fixed_capacity ? 0.0 : real(model.experts.count / setting.ep);
  all += local * launches.each_expert;
  if (casts) all += local * launches.each_expert_casts;
  if (casts && setting.casts == CastRecipe::current) all += local * launches.each_expert_amax;
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

/// What the host has to do for a pass.
struct PassLaunches {
  double layers{}, launches{}, lost_share{}, count_wait{};
  double beside{};            ///< share of what experts exchange that keeps no kernel waiting
  Seconds tensor_collective;  ///< what each collective of the tensor group costs besides its launch
};

/// Adds what a pass waits for the host: as stated by the layer, or by the rule of HostStack. Gives
/// `PassCost::launching`.
double add_launches(KernelCosts& kernels, const Scenario& scenario, const PassLaunches& pass) {
  const HostStack& host = scenario.software.host;
  const bool blocking = host.launch == Launch::blocking;
  const double whole = pass.layers * host.blocking_launch_per_layer.value;
  double waits = blocking ? whole : pass.layers * host.async_launch_per_layer.value;
  waits += pass.count_wait;
  double busy = 0;
  if (host.one_launch.value > 0) {
    double device = 0;
    busy = host.one_launch.value * scenario.cluster.host.launch_factor * pass.launches;
    for (const KernelCost& kernel : kernels) {
      const bool hidden = kernel.kind == WorkKind::expert_comm;
      device += kernel.seconds * (hidden ? 1.0 - pass.beside : 1.0);
      if (kernel.kind == WorkKind::tensor_comm) busy += pass.tensor_collective.value;
    }
    waits += std::max(0.0, busy - device) + pass.lost_share * std::min(device, busy);
  }
  if (waits > 0) kernels.push_back({"launches", waits, WorkKind::host});
  return blocking ? 0.0 : whole + busy + pass.count_wait;
}

/// Waits of a forward pass over experts for the token counts of other ranks, unless a graph or a
/// capacity has settled them.
double count_wait(const HostStack& host, LayerKind kind, const LayerQuestion& question) {
  const bool counts =
      kind.experts && !question.setting.fixed_capacity && !question.setting.one_graph;
  if (!counts || question.setting.ep == 1) return 0;
  return (question.beside ? host.count_wait_beside : host.count_wait).value;
}

double lost_share(const HostStack& host, LayerKind kind, const LayerSetting& setting) {
  if (!kind.experts || setting.fixed_capacity) return host.lost_share;
  const bool waits =
      setting.dispatcher == Dispatcher::deepep || setting.dispatcher == Dispatcher::uccl;
  return waits && setting.ep > 1 ? host.deepep_lost_share : host.dropless_lost_share;
}

/// What waits in host memory goes there beside the forward pass and comes back beside the backward
/// one: of modules of each layer, or of whole layers that lie spread among those that stay.
double activation_copies(const Scenario& scenario, const Layer& layer,
                         const LayerQuestion& question) {
  if (question.offloaded.empty() && question.offloaded_layers == 0) return 0;
  const double repeated = question.repeated_blocks;
  const auto bytes = [&](WordSet<Module> modules) {
    return offloaded_bytes(layer, modules, question.offloaded);
  };
  const double of_layers = real(question.offloaded_layers) / real(scenario.model.layers);
  const double of_modules = repeated * bytes(question.repeated) + (1.0 - repeated) * bytes({});
  return host_copy_time(scenario.device, Bytes{of_modules + of_layers * kept_bytes(layer, {})})
      .value;
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
      kernel.hidden *= question.repeated_blocks;
    }
  }
  const KernelCosts backward = pricer.price(backward_operators(layer, software));
  kernels.backward.insert(kernels.backward.end(), backward.begin(), backward.end());
  if (!is_block(part)) return kernels;
  kernels.copies = activation_copies(scenario, layer, question);
  const LayerKind kind = kind_of(part);
  const bool whole = question.repeated == WordSet<Module>::all();
  const double again = whole ? question.repeated_blocks : 0.0;
  const HostStack& host = software.host;
  const LaunchCounts launches = launches_of(kind, scenario.model, question, host.launches);
  const double wait = count_wait(host, kind, question);
  const double lost = lost_share(host, kind, question.setting);
  const double beside = exchange_beside(scenario);
  const Seconds collective = tensor_collective_launch(scenario, question);
  kernels.launching_forward = add_launches(kernels.forward, scenario,
                                           {1.0, launches.forward, lost, wait, beside, collective});
  kernels.launching_backward = add_launches(
      kernels.backward, scenario,
      {host.backward_launch_factor + again, launches.backward + again * launches.forward, lost,
       again * wait, beside, collective});
  return kernels;
}

PassCost sum(const KernelCosts& kernels) {
  PassCost cost;
  for (const KernelCost& kernel : kernels) {
    switch (kernel.kind) {
      case WorkKind::tensor_comm:
        cost.tp_comm += kernel.seconds;
        cost.hidden.tp_comm += kernel.hidden;
        continue;
      case WorkKind::context_comm:
        cost.cp_comm += kernel.seconds;
        cost.hidden.cp_comm += kernel.hidden;
        continue;
      case WorkKind::expert_comm:
        cost.ep_comm += kernel.seconds;
        cost.hidden.ep_comm += kernel.hidden;
        continue;
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

constexpr double kPassesOfMoments = 4;  // each of two is read and written
constexpr int kNewtonSchulzSteps = 5;
constexpr double kMuonGatherBytes = 2;  // of an element of a momentum

/// Newton-Schulz steps of one n x m matrix, n its shorter side.
double newton_schulz_seconds(const Scenario& scenario, const LinearLayer& matrix) {
  const std::int64_t n = std::min(matrix.outputs, matrix.inputs);
  const std::int64_t m = std::max(matrix.outputs, matrix.inputs);
  const Precision format = activation_precision(scenario.plan);
  const auto seconds = [&](std::int64_t columns, std::int64_t summed) {
    return price(scenario.device, Gemm{n, columns, summed, 1, format}).value;
  };
  return kNewtonSchulzSteps * scenario.software.kernels.time_factor(format) *
         (seconds(n, m) + seconds(n, n) + seconds(m, n));
}

Orthogonalization orthogonalization(const Scenario& scenario, Part part) {
  Orthogonalization all;
  const LayerSetting setting = layer_setting(scenario.plan);
  for (const LayerPiece& piece :
       tell_part(part, scenario.model, setting, scenario.software).pieces) {
    const auto* matrix = std::get_if<LinearLayer>(&piece.what);
    if (!matrix) continue;
    const double one = newton_schulz_seconds(scenario, *matrix);
    all.largest = std::max(all.largest, one);
    if (piece.of_experts) {
      all.experts += real(matrix->experts) * one;
    } else {
      all.dense += one;
    }
  }
  return all;
}

/// Those that share the states of a stage share its matrices, as far as there are as many.
Seconds muon_time(const Scenario& scenario, const LayerCosts& layers,
                  const std::vector<StageContent>& chunks, const StageParameters& parameters) {
  const Plan& plan = scenario.plan;
  Orthogonalization all;
  for (const StageContent& chunk : chunks) {
    each_part([&](Part part) {
      const Orthogonalization& one = layers.orthogonal[part];
      all.dense += real(chunk.parts[part]) * one.dense;
      all.experts += real(chunk.parts[part]) * one.experts;
      if (chunk.parts[part] > 0) all.largest = std::max(all.largest, one.largest);
    });
  }
  if (plan.zero == 0) return {all.dense + all.experts};
  const RankGroup dense = shard_groups(plan, GroupAxis::data).shards;
  const RankGroup experts = shard_groups(plan, GroupAxis::expert_data).shards;
  const auto gather = [&](const RankGroup& group, double count) {
    return data_collective_time(scenario, CollectiveOp::all_gather, group,
                                Bytes{count * kMuonGatherBytes})
        .all;
  };
  const StageParameters matrices = matrices_of(parameters);
  return Seconds{std::max(all.largest,
                          all.dense / real(dense.size) + all.experts / real(experts.size))} +
         gather(dense, matrices.dense) + gather(experts, matrices.experts);
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
CommTime over_groups(const StageParameters& parameters, const TimeOf& time_of) {
  CommTime time = time_of(GroupAxis::data, parameters.dense);
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
  launching += other.launching;
  copies += other.copies;
  hidden.tp_comm += other.hidden.tp_comm;
  hidden.cp_comm += other.hidden.cp_comm;
  hidden.ep_comm += other.hidden.ep_comm;
  return *this;
}

PassCost operator*(double times, PassCost cost) {
  for (double* part :
       {&cost.compute, &cost.recompute, &cost.tp_comm, &cost.cp_comm, &cost.ep_comm, &cost.host,
        &cost.weight_gradient, &cost.attention, &cost.stream, &cost.launching, &cost.copies,
        &cost.hidden.tp_comm, &cost.hidden.cp_comm, &cost.hidden.ep_comm}) {
    *part *= times;
  }
  return cost;
}

bool exchanges_beside(const Plan& plan) {
  const bool asked = plan.overlap.has(Overlapped::ep) && plan.ep * plan.etp > 1;
  switch (plan.schedule) {
    case Schedule::one_f_one_b:
    case Schedule::interleaved:
    case Schedule::dualpipe:
    case Schedule::dualpipe_v: return asked;
    default: return false;
  }
}

double exchange_beside(const Scenario& scenario) {
  if (!exchanges_beside(scenario.plan)) return 0;
  const CommunicationStack& stack = scenario.software.communication;
  return scenario.plan.cuda_graphs.has(GraphedModule::full) ? stack.beside_in_graph : stack.beside;
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
  question.beside = exchanges_beside(plan);
  question.graphs = plan.cuda_graphs;
  question.offloaded = plan.offload_modules;
  question.offloaded_layers = plan.offload_layers;
  question.optimizer = plan.optimizer;
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
  const PartCounts held = parts_of(scenario.model);
  const bool by_matrix = scenario.plan.optimizer == Optimizer::muon;
  LayerCosts costs;
  costs.weights = part_weights(scenario.model, scenario.plan, scenario.software);
  each_part([&](Part part) {
    const PartKernels& its = kernels[part];
    costs[part] = {sum(its.forward), sum(its.backward)};
    costs[part].forward.launching = its.launching_forward;
    costs[part].backward.launching = its.launching_backward;
    costs[part].forward.copies = costs[part].backward.copies = its.copies;
    const bool has_matrices = is_block(part) || part == Part::next_token;
    if (!by_matrix || !has_matrices || held[part] == 0) return;
    costs.orthogonal[part] = orthogonalization(scenario, part);
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

namespace {

/// A rank of stage `from` and its counterpart on `to`: of those that no device link joins, if any
/// is.
std::pair<std::int64_t, std::int64_t> farthest_pair(const Scenario& scenario, std::int64_t from,
                                                    std::int64_t to) {
  const std::int64_t ranks = rank_group(scenario.plan, GroupAxis::pipeline).stride;
  const std::int64_t domain =
      scenario.cluster.fabric->description(static_cast<int>(scenario.plan.gpus)).node.devices;
  // The pairs of a whole domain's ranks are alike.
  for (std::int64_t rank = 0; rank < std::min(ranks, domain); ++rank) {
    const std::int64_t sender = from * ranks + rank;
    const std::int64_t receiver = to * ranks + rank;
    if (sender / domain != receiver / domain) return {sender, receiver};
  }
  return {from * ranks, to * ranks};
}

}  // namespace

bool stages_are_joined(const Scenario& scenario, std::int64_t from, std::int64_t to) {
  const auto [sender, receiver] = farthest_pair(scenario, from, to);
  const std::int64_t domain =
      scenario.cluster.fabric->description(static_cast<int>(scenario.plan.gpus)).node.devices;
  return sender / domain == receiver / domain;
}

CommTime stage_transfer_time(const Scenario& scenario, std::int64_t from, std::int64_t to) {
  const Plan& plan = scenario.plan;
  const Cluster& cluster = scenario.cluster;
  const bool scattered =
      scenario.software.communication.scatter_gather_p2p || plan.sequence_parallel;
  const Bytes hidden{real(plan.mbs * plan.seq_len / plan.cp * scenario.model.hidden) *
                     bytes_per_element(activation_precision(plan))};
  const Bytes sent = scattered ? hidden / real(plan.tp) : hidden;
  const auto [sender, receiver] = farthest_pair(scenario, from, to);
  CommTime time = comm_time(
      price_hop(cluster, shape_of_group(scenario, GroupAxis::pipeline), sender, receiver, sent));
  if (scattered && !plan.sequence_parallel && plan.tp > 1) {
    time += comm_time(price(cluster, CollectiveOp::all_gather,
                            shape_of_group(scenario, GroupAxis::tensor), hidden));
  }
  return time;
}

double overlap_loss(const Scenario& scenario) {
  const double fitted = scenario.software.communication.overlap_contention;
  return fitted > 0 ? fitted : scenario.device.overlap_loss;
}

namespace {

/// Whether every replica gets the sum of all gradients.
bool reduces_to_all(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  return plan.zero == 0 || (plan.zero == 1 && scenario.software.communication.reduces_to_all);
}

}  // namespace

double bucket_parameters(const Scenario& scenario, GroupAxis axis) {
  // An all-reduce takes the tensors of a bucket as they lie; on the way to owners they are copied
  // together, so that fewer and larger collectives carry them.
  constexpr double kBucketsToOwners = 2;
  const CommunicationStack& stack = scenario.software.communication;
  const GradientBucket& bucket = stack.gradient_bucket;
  if (bucket.size.value > 0) {
    return (reduces_to_all(scenario) ? 1.0 : kBucketsToOwners) * bucket.size.value /
           bytes_per_element(scenario.plan.grad_precision);
  }
  if (gradient_overlap(scenario.plan, scenario.software) == GradientOverlap::none) return 0;
  const double replicas = real(rank_group(scenario.plan, axis).size);
  return std::max(bucket.parameters, bucket.parameters_per_replica * replicas);
}

CommTime gradient_reduce_time(const Scenario& scenario, const StageParameters& parameters) {
  const Plan& plan = scenario.plan;
  const double element = bytes_per_element(plan.grad_precision);
  const bool to_all = reduces_to_all(scenario);
  return over_groups(parameters, [&](GroupAxis axis, double count) {
    const Bytes bytes{count * element};
    const double bucket = bucket_parameters(scenario, axis);
    const double buckets = bucket > 0 ? std::max(1.0, count / bucket) : 1.0;
    if (to_all) {
      return buckets * data_collective_time(scenario, CollectiveOp::all_reduce,
                                            rank_group(plan, axis), bytes / buckets);
    }
    const auto [shards, copies] = shard_groups(plan, axis);
    CommTime time =
        data_collective_time(scenario, CollectiveOp::reduce_scatter, shards, bytes / buckets);
    time += data_collective_time(scenario, CollectiveOp::all_reduce, copies,
                                 bytes / (buckets * real(shards.size)));
    return buckets * time;
  });
}

CommTime parameter_gather_time(const Scenario& scenario, const StageParameters& parameters) {
  if (scenario.plan.zero == 0) return {};
  const double element = state_bytes(scenario.plan, scenario.software).gathered;
  return over_groups(parameters, [&](GroupAxis axis, double count) {
    return data_collective_time(scenario, CollectiveOp::all_gather,
                                shard_groups(scenario.plan, axis).shards, Bytes{count * element});
  });
}

Seconds offloaded_weights_time(const Scenario& scenario, const StageParameters& parameters) {
  const double element = state_bytes(scenario.plan, scenario.software).gathered;
  return host_copy_time(scenario.device,
                        Bytes{sharded_parameters(scenario.plan, parameters) * element});
}

CommTime tied_embedding_time(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  if (plan.pp == 1 || !scenario.model.tied_embeddings) return {};
  const std::int64_t vocab =
      padded_vocab(scenario.model.vocab, plan.tp, scenario.software.vocab_multiple);
  const Bytes table{real(embedding_parameters(scenario.model, vocab) / plan.tp) *
                    bytes_per_element(plan.grad_precision)};
  // The end stages lie as far apart as neighbours do on a fabric without distance.
  const std::int64_t stage_ranks = rank_group(plan, GroupAxis::pipeline).stride;
  return comm_time(price(scenario.cluster, CollectiveOp::all_reduce,
                         group_shape(scenario.cluster, 2 * stage_ranks, 2, stage_ranks), table));
}

Seconds optimizer_time(const Scenario& scenario, const LayerCosts& layers,
                       const std::vector<StageContent>& chunks_of_stage,
                       const StageParameters& parameters) {
  const KernelStack& stack = scenario.software.kernels;
  const Plan& plan = scenario.plan;
  const double owned = owned_parameters(plan, parameters);
  if (plan.offload != Offload::none) return offloaded_optimizer_time(scenario, owned);
  const double moment = state_bytes(plan, scenario.software).moment;
  double traffic = owned * (stack.optimizer_traffic_bytes + kPassesOfMoments * (moment - 4.0));
  const bool muon = plan.optimizer == Optimizer::muon;
  if (muon)
    traffic -= owned_parameters(plan, matrices_of(parameters)) * kPassesOfMoments / 2 * moment;
  const double here = 1.0 - plan.optimizer_offload;
  const Seconds update =
      here * (price(scenario.device, Stream{StreamKind::optimizer, {std::max(0.0, traffic)}}) +
              stack.optimizer_time_per_parameter * owned);
  if (plan.optimizer_offload > 0) {
    return std::max(update, offloaded_optimizer_time(scenario, plan.optimizer_offload * owned));
  }
  return muon ? update + muon_time(scenario, layers, chunks_of_stage, parameters) : update;
}

}  // namespace prequel
