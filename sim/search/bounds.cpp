#include "sim/search/bounds.hpp"

#include <algorithm>

#include "models/plan/gathers.hpp"
#include "sim/schedule/least_time.hpp"

namespace prequel {
namespace {

PassCost least_of(const PassCost& a, const PassCost& b) {
  PassCost least;
  for (double PassCost::*part : kPassParts) least.*part = std::min(a.*part, b.*part);
  return least;
}

/// The compute stream's part of a pass: what overlaps with another micro batch may take none of it.
double pass_seconds(const PassCost& cost, const Plan& plan) {
  return plan.overlap.has(Overlapped::ep)
             ? cost.total() - cost.ep_comm + std::min(0.0, cost.host_beside)
             : cost.total();
}

}  // namespace

LayerCosts least_of(const LayerCosts& a, const LayerCosts& b) {
  LayerCosts least;
  each_part([&](Part part) {
    least[part] = {least_of(a[part].forward, b[part].forward),
                   least_of(a[part].backward, b[part].backward)};
  });
  return least;
}

std::shared_ptr<const PassBounds::Dealing> PassBounds::dealt(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const std::lock_guard guard(lock_);
  auto& known = dealt_[{scenario.model.layers, plan.pp, plan.vpp, plan.layout, plan.stage_split}];
  if (!known) {
    known =
        std::make_shared<const Dealing>(chunks_of_plan(scenario.model, plan, scenario.software));
  }
  return known;
}

Seconds PassBounds::least_time(const Scenario& scenario, const LayerCosts& layers) {
  const Plan& plan = scenario.plan;
  const Seconds fixed = inputs_.software.host.fixed_per_iteration;
  const auto micro_batches = static_cast<double>(plan.micro_batches());
  if (plan.pp == 1 && in_every_micro_batch(gathers_of(plan, scenario.software))) {
    const ChunkCosts all = chunk_costs(layers, whole_model(scenario.model));
    return Seconds{micro_batches *
                   (pass_seconds(all.forward, plan) + pass_seconds(all.backward, plan))} +
           fixed;
  }
  PipelineShape shape;
  shape.stages = static_cast<std::uint32_t>(plan.pp);
  shape.micro_batches = static_cast<std::uint32_t>(plan.micro_batches());
  shape.chunks = chunks_of(plan.schedule, static_cast<std::uint32_t>(plan.vpp));
  shape.group = static_cast<std::uint32_t>(plan.vpp_group);
  const std::shared_ptr<const Dealing> parts = dealt(scenario);
  BlockTable durations(shape);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const ChunkCosts costs =
          chunk_costs(layers, (*parts)[model_part(plan.schedule, shape, stage, chunk)]);
      const double backward = pass_seconds(costs.backward, plan);
      const double weights = std::min(backward, costs.backward.for_weights());
      durations.at(TaskKind::forward, stage, chunk) = pass_seconds(costs.forward, plan);
      durations.at(TaskKind::backward, stage, chunk) = backward;
      durations.at(TaskKind::weight_gradient, stage, chunk) = weights;
      durations.at(TaskKind::input_gradient, stage, chunk) = backward - weights;
    }
  }
  return Seconds{least_seconds(plan.schedule, shape, durations)} + fixed;
}

}  // namespace prequel
