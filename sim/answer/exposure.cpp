#include "sim/answer/exposure.hpp"

#include <fmt/format.h>

#include "models/plan/overlap.hpp"
#include "sim/price/side_by_side.hpp"

namespace prequel {
namespace {

constexpr double kNoted = 0.01;  // of the iteration

std::string why_tensor(const Scenario& scenario) {
  if (!scenario.software.communication.overlaps_tensor()) {
    return "between the products that need it: the stack runs nothing beside it";
  }
  if (scenario.plan.overlap.has(Overlapped::tp)) {
    const CommunicationStack& stack = scenario.software.communication;
    std::string lost;
    if (stack.exposed_tensor > 0) {
      lost = fmt::format("both lose {:.0f} % of the time beside products; ",
                         100 * stack.exposed_tensor);
    }
    if (stack.exposed_tensor_fixed.value > 0) {
      lost += fmt::format("{:.0f} us of each; ", 1e6 * stack.exposed_tensor_fixed.value);
    }
    return lost + "and what takes longer than products beside it";
  }
  return "between the products that need it; overlap tp would run it beside them";
}

std::string why_context(const Scenario& scenario) {
  return scenario.plan.cp_comm == ContextComm::p2p
             ? "steps of the ring that take longer than attention beside them"
             : "before and after the attention that needs it";
}

std::string why_expert(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  if (exchanges_beside(plan)) {
    return fmt::format(
        "{:.0f} % of it is waited for inside a layer; of the rest, what takes longer than the "
        "other micro batch beside it, or has none",
        100 * (1 - exchange_beside(scenario.plan, scenario.software.communication)));
  }
  if (plan.overlap.has(Overlapped::ep)) {
    return fmt::format("inside the passes: schedule {} runs no forward beside a backward",
                       name(plan.schedule));
  }
  Plan beside = plan;
  beside.overlap.add(Overlapped::ep);
  const bool would = exchanges_beside(beside) && scenario.software.communication.beside > 0;
  return would ? "inside the passes; overlap ep would run it beside another micro batch"
               : "inside the passes";
}

std::string why_pipeline(const Scenario& scenario) {
  return sends_beside(scenario.plan, scenario.software)
             ? "where no other micro batch is ready to compute"
             : "a stage computes on when what it sends has arrived";
}

std::string why_data(const Scenario& scenario, const Prediction& prediction) {
  if (prediction.hidden.dp_comm > 0) {
    return "the part that takes longer than the passes beside it, and the last, which has none";
  }
  if (scenario.plan.overlap.has(Overlapped::no_grads)) {
    return "after the passes that make it, as the plan runs none beside it";
  }
  return reduces_beside(scenario.plan, scenario.software)
             ? "after the last backward: one bucket holds all gradients of a stage"
             : "after the last backward: the stack runs no pass beside it; overlap grads would";
}

}  // namespace

std::vector<Exposure> exposures(const Scenario& scenario, const Prediction& prediction) {
  const Breakdown& time = prediction.breakdown;
  std::vector<Exposure> all;
  const auto add = [&](std::string_view part, double seconds, const auto& why) {
    if (seconds >= kNoted * prediction.sec_per_iter.value) all.push_back({part, why()});
  };
  add("tp_comm", time.tp_comm, [&] { return why_tensor(scenario); });
  add("cp_comm", time.cp_comm, [&] { return why_context(scenario); });
  add("ep_comm", time.ep_comm, [&] { return why_expert(scenario); });
  add("pp_comm", time.pp_comm, [&] { return why_pipeline(scenario); });
  add("dp_comm", time.dp_comm, [&] { return why_data(scenario, prediction); });
  add("offload", time.offload,
      [] { return std::string("copies that take longer than the passes beside them"); });
  return all;
}

}  // namespace prequel
