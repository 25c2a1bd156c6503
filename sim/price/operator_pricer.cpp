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

void OperatorPricer::hide_overlapped(const Operators& operators, KernelCosts& costs) const {
  if (!question_.overlap.has(Overlapped::tp) || !inputs_.software.communication.overlaps_tensor()) {
    return hide_behind_dgrad(operators, costs);
  }
  for (KernelCost& cost : costs) {
    if (cost.kind != WorkKind::tensor_comm) continue;
    hide(cost, (1.0 - inputs_.software.communication.exposed_tensor) * cost.seconds);
  }
}

void OperatorPricer::hide(KernelCost& communication, double seconds) {
  communication.seconds -= seconds;
  communication.hidden += seconds;
}

void OperatorPricer::hide_behind_dgrad(const Operators& operators, KernelCosts& costs) const {
  double dgrad = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].kind == WorkKind::product && !costs[i].weight_gradient) dgrad = costs[i].seconds;
    const auto* gather = std::get_if<GroupCollective>(&operators[i].what);
    if (!gather || !gather->beside_dgrad) continue;
    const double hidden = std::min(dgrad, costs[i].seconds);
    hide(costs[i], (1.0 - overlap_loss(inputs_)) * hidden);
  }
}

void OperatorPricer::hide_behind_shared_experts(const Operators& operators,
                                                KernelCosts& costs) const {
  const bool asked = question_.overlap.has(Overlapped::shared_experts) && !question_.beside;
  if (!asked || question_.setting.dispatcher != Dispatcher::alltoall) return;
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
  if (std::get_if<ContextRing>(&op.what)) return cost(WorkKind::context_comm, 0);
  return cost(WorkKind::stream, std::get<Seconds>(op.what).value / device.clock_ratio);
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

double OperatorPricer::message_time() const {
  const std::int64_t ranks = question_.setting.tp;
  const CollectiveLaunches& launches = inputs_.software.host.staged_collectives;
  return (launches.time(ranks, tensor_group_.crosses_network()) - launches.time(ranks, false))
      .value;
}

void OperatorPricer::price_ring(const ContextRing& ring, double attention, KernelCost& cost) const {
  const double steps = real(question_.setting.cp - 1);
  const double sent =
      steps *
      collective_time(inputs_.cluster, CollectiveOp::send_recv, context_group_, ring.bytes).value;
  const double behind = attention * steps / (steps + 1);
  const WordSet<GraphedModule> graphs = question_.graphs;
  const bool launched = !graphs.has(GraphedModule::full) && !graphs.has(GraphedModule::attn);
  const double step = launched ? inputs_.software.communication.context_step.value : 0.0;
  const double steering = step * (steps + 1);
  const double loss = inputs_.software.communication.context_ring.contention;
  cost.hidden = (1.0 - loss) * std::min(sent, behind);
  cost.seconds = sent - cost.hidden + (ring.backward ? 2.0 : 1.0) * steering;
}

}  // namespace prequel
