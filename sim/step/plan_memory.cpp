#include "sim/step/plan_memory.hpp"

#include <algorithm>
#include <iterator>

#include "models/plan/gathers.hpp"
#include "sim/price/side_by_side.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {
namespace {

PipelineShape shape_of_passes(const Plan& plan, Schedule kind) {
  PipelineShape shape;
  shape.stages = static_cast<std::uint32_t>(plan.pp);
  shape.micro_batches = static_cast<std::uint32_t>(plan.micro_batches());
  shape.chunks = chunks_of(kind, static_cast<std::uint32_t>(plan.vpp));
  shape.group = static_cast<std::uint32_t>(plan.vpp_group);
  // One stage fills the layers of the next micro batch as it empties those of the last.
  if (exchanges_beside(plan) && plan.pp > 1) shape.exchanges = Exchanges::beside;
  return shape;
}

}  // namespace

StageChunks stage_chunks(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const Schedule kind = plan.schedule;
  const PipelineShape shape = shape_of_passes(plan, kind);
  const std::vector<StageContent> dealt = chunks_of_plan(scenario.model, plan, scenario.software);
  StageChunks stages(shape.stages);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      stages[stage].push_back(dealt[model_part(kind, shape, stage, chunk)]);
    }
  }
  return stages;
}

std::vector<InFlight> chunks_in_flight(const Plan& plan, const Software& software) {
  // Layer by layer, one micro batch at a time, whatever the schedule.
  if (plan.pp == 1 && in_every_micro_batch(gathers_of(plan, software))) return {1};
  return in_flight(plan.schedule, shape_of_passes(plan, plan.schedule));
}

PartWeights weights_of(const Scenario& scenario) {
  return part_weights(scenario.model, layer_content(scenario.plan), scenario.software);
}

PlanMemory plan_memory(const Scenario& scenario, const PartWeights& weights,
                       const std::vector<InFlight>& in_flight) {
  return plan_memory(scenario, weights, stage_chunks(scenario), in_flight);
}

PlanMemory plan_memory(const Scenario& scenario, const PartWeights& weights,
                       const StageChunks& chunks, const std::vector<InFlight>& in_flight) {
  PlanMemory memory;
  memory.stages.reserve(chunks.size());
  for (const std::vector<StageContent>& stage : chunks) {
    memory.stages.push_back(stage_memory(weights, scenario.model, scenario.plan, scenario.software,
                                         stage, in_flight[memory.stages.size()]));
  }
  const auto fullest = [&] {
    return std::ranges::max_element(memory.stages, {}, &StageMemory::total);
  };
  memory.verdict = memory_verdict(*fullest(), scenario.device);
  const Bytes most = most_reserved(scenario.device, scenario.software);
  for (StageMemory& stage : memory.stages) {
    stage = printed(stage, most);  // another stage may print more
  }
  memory.fullest = static_cast<std::size_t>(std::distance(memory.stages.begin(), fullest()));
  memory.peak = memory.stages[memory.fullest].total();
  return memory;
}

}  // namespace prequel
