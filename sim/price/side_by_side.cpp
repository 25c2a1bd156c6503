#include "sim/price/side_by_side.hpp"

namespace prequel {

double overlap_loss(const Inputs& inputs) {
  const double fitted = inputs.software.communication.overlap_contention;
  return fitted > 0 ? fitted : inputs.device.overlap_loss;
}

bool exchanges_beside(const Plan& plan) {
  const bool asked = plan.overlap.has(Overlapped::ep) && plan.ep > 1;
  switch (plan.schedule) {
    case Schedule::one_f_one_b:
    case Schedule::interleaved:
    case Schedule::dualpipe:
    case Schedule::dualpipe_v: return asked;
    default: return false;
  }
}

double exchange_beside(const Plan& plan, const CommunicationStack& stack) {
  return exchanges_beside(plan) ? exchange_beside(stack, plan.cuda_graphs) : 0;
}

double exchange_beside(const CommunicationStack& stack, WordSet<GraphedModule> graphs) {
  return graphs.has(GraphedModule::full) ? stack.beside_in_graph : stack.beside;
}

}  // namespace prequel
