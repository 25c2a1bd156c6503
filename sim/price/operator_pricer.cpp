#include "sim/price/operator_pricer.hpp"

#include <algorithm>
#include <variant>

#include "hw/dispatch.hpp"
#include "sim/price/side_by_side.hpp"

namespace prequel {
namespace {

WorkKind kind_of_comm(GroupAxis axis) {
  switch (axis) {
    case GroupAxis::context: return WorkKind::context_comm;
    case GroupAxis::expert:
    case GroupAxis::expert_tensor:
    case GroupAxis::expert_data: return WorkKind::expert_comm;
    default: return WorkKind::tensor_comm;
  }
}

}  // namespace

OperatorPricer::OperatorPricer(const LayerQuestion& question, const Inputs& inputs)
    : question_(question), inputs_(inputs) {
  const auto shape = [&](const RankGroup& group) {
    return group_shape(inputs.cluster, question.gpus, group.size, group.stride);
  };
  tensor_group_ = shape(question.tensor);
  if (question.setting.cp > 1) context_group_ = shape(question.context);
  if (!inputs.model.has_experts()) return;
  if (question.setting.ep > 1) expert_group_ = shape(question.expert);
  if (question.setting.etp > 1) expert_tensor_group_ = shape(question.expert_tensor);
}

Seconds OperatorPricer::tensor_collective_launch() const {
  return inputs_.software.host.staged_collectives.time(question_.setting.tp,
                                                       tensor_group_.crosses_network());
}

KernelCosts OperatorPricer::price(const Operators& operators) const {
  KernelCosts costs;
  costs.reserve(operators.size() + 1);
  for (const Operator& op : operators) costs.push_back(price(op));
  play(operators, costs);
  return costs;
}

void OperatorPricer::play(const Operators& operators, KernelCosts& costs) const {
  const double ranks = real(question_.setting.cp);
  std::vector<double> room(costs.size());  // s in which a kernel has no transfer beside it
  std::ranges::transform(costs, room.begin(), [](const KernelCost& cost) {
    return cost.kind <= WorkKind::attention ? cost.seconds : 0.0;
  });
  for (std::size_t i = 0; i < costs.size(); ++i) {
    KernelCost& transfer = costs[i];
    double left = transfer.seconds;
    const auto run_beside = [&](std::size_t kernel, double share = 1) {
      const double both = std::min(left, share * room[kernel]);
      left -= both;
      room[kernel] -= both;
    };
    double loss = 0;
    double launches = 0;
    const GroupCollective* tensor = nullptr;
    if (const auto* ring = std::get_if<ContextRing>(&operators[i].what)) {
      // The last of as many steps as ranks has nothing to send.
      for (std::size_t j = 0; j < costs.size(); ++j) {
        if (costs[j].kind == WorkKind::attention) run_beside(j, (ranks - 1) / ranks);
      }
      launches = ring_launches(*ring);
      // PyTorch's collectives and attention lose to one another as others do.
      if (!inputs_.software.kernels.transformer_engine) {
        loss = inputs_.software.communication.overlap_contention;
      }
    } else if (transfer.kind == WorkKind::tensor_comm) {
      tensor = &std::get<GroupCollective>(operators[i].what);
      if (!in_user_buffers() && !beside_by_itself(*tensor)) continue;
      run_beside(product_beside(*tensor, i, costs));
    } else if (transfer.kind == WorkKind::expert_comm && exchanges_beside_shared()) {
      for (std::size_t j = 0; j < costs.size(); ++j) {
        const bool shared = operators[j].module == Module::shared_experts;
        if (shared && costs[j].kind == WorkKind::product) run_beside(j);
      }
    }
    const double both = transfer.seconds - left;
    transfer.hidden = tensor != nullptr ? hidden_tensor(*tensor, both) : (1.0 - loss) * both;
    transfer.seconds = transfer.seconds - transfer.hidden + launches;
  }
}

bool OperatorPricer::exchanges_beside_shared() const {
  return question_.overlap.has(Overlapped::shared_experts) && !question_.beside &&
         question_.setting.dispatcher == Dispatcher::alltoall;
}

bool OperatorPricer::in_user_buffers() const {
  return question_.overlap.has(Overlapped::tp) && inputs_.software.communication.overlaps_tensor();
}

bool OperatorPricer::beside_by_itself(const GroupCollective& collective) const {
  return collective.beside_dgrad && inputs_.software.kernels.transformer_engine;
}

double OperatorPricer::hidden_tensor(const GroupCollective& collective, double both) const {
  const CommunicationStack& stack = inputs_.software.communication;
  double hidden = 0;
  if (in_user_buffers()) {
    hidden = (1.0 - stack.exposed_tensor) * both - stack.exposed_tensor_fixed.value;
  }
  if (beside_by_itself(collective)) {
    hidden = std::max(hidden, (1.0 - overlap_loss(inputs_)) * both);
  }
  return std::max(0.0, hidden);
}

std::size_t OperatorPricer::product_beside(const GroupCollective& collective, std::size_t at,
                                           const KernelCosts& costs) {
  const bool follows = collective.op == CollectiveOp::all_gather && !collective.beside_dgrad;
  const std::size_t count = costs.size();
  for (std::size_t distance = 1; distance < count; ++distance) {
    const std::size_t other = (at + (follows ? distance : count - distance)) % count;
    const bool fits = !collective.beside_dgrad || !costs[other].weight_gradient;
    if (costs[other].kind == WorkKind::product && fits) return other;
  }
  return at;  // alone in its pass
}

KernelCost OperatorPricer::price(const Operator& op) const {
  const KernelStack& stack = inputs_.software.kernels;
  const Device& device = inputs_.device;
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
    return cost(WorkKind::attention,
                prequel::price(device, *attention, inputs_.software.kernels.flash_kernel).value);
  }
  if (const auto* scan = std::get_if<Scan>(&op.what)) {
    return cost(WorkKind::attention, prequel::price(device, *scan).value);
  }
  if (const auto* sparse = std::get_if<SparseAttention>(&op.what)) {
    return cost(WorkKind::attention, prequel::price(device, *sparse).value);
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
                prequel::price(inputs_.cluster, expert_group_, *transfer).time().value);
  }
  return cost(WorkKind::context_comm, ring_seconds(std::get<ContextRing>(op.what)));
}

const GroupShape& OperatorPricer::group_of(GroupAxis axis) const {
  switch (axis) {
    case GroupAxis::context: return context_group_;
    case GroupAxis::expert: return expert_group_;
    case GroupAxis::expert_tensor: return expert_tensor_group_;
    default: return tensor_group_;
  }
}

double OperatorPricer::collective_seconds(const GroupCollective& collective) const {
  double time =
      collective_time(inputs_.cluster, collective.op, group_of(collective.axis), collective.bytes)
          .value;
  if (collective.axis == GroupAxis::tensor) time += message_time();
  const bool blocking = inputs_.software.host.launch == Launch::blocking;
  return blocking ? time * inputs_.software.communication.blocking_collective_factor : time;
}

double OperatorPricer::ring_seconds(const ContextRing& ring) const {
  return real(question_.setting.cp - 1) *
         collective_time(inputs_.cluster, CollectiveOp::send_recv, context_group_, ring.bytes)
             .value;
}

double OperatorPricer::ring_launches(const ContextRing& ring) const {
  const WordSet<GraphedModule> graphs = question_.setting.graphs;
  const bool in_graph = graphs.has(GraphedModule::full) || graphs.has(GraphedModule::attn);
  const double step = in_graph ? 0.0 : inputs_.software.communication.context_step.value;
  return (ring.backward ? 2.0 : 1.0) * step * real(question_.setting.cp);
}

double OperatorPricer::message_time() const {
  const std::int64_t ranks = question_.setting.tp;
  const CollectiveLaunches& launches = inputs_.software.host.staged_collectives;
  return (launches.time(ranks, tensor_group_.crosses_network()) - launches.time(ranks, false))
      .value;
}

}  // namespace prequel
