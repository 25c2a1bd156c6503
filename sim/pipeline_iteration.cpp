#include <algorithm>
#include <string>

#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "sim/iteration.hpp"
#include "sim/schedule/schedule.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

ScheduleKind schedule_of(const Plan& plan) {
  if (const auto kind = schedule_named(plan.schedule)) return *kind;
  std::vector<std::string> known;
  for (const ScheduleName& schedule : kSchedules) known.emplace_back(schedule.name);
  throw InputError("plan: schedule " + in_quotes(plan.schedule) + ": unknown" +
                   did_you_mean(plan.schedule, known) + "; prequel predict --help lists them");
}

/// One iteration of the pipeline: what each stage holds and costs, and the table of durations that
/// its schedule is played with.
class Iteration {
 public:
  explicit Iteration(const Scenario& scenario)
      : scenario_(scenario),
        plan_(scenario.plan),
        kind_(schedule_of(plan_)),
        shape_{static_cast<std::uint32_t>(plan_.pp),
               static_cast<std::uint32_t>(plan_.micro_batches()),
               static_cast<std::uint32_t>(plan_.vpp),
               scenario.software.communication.blocking_p2p ? Sends::blocking : Sends::overlapped},
        dealt_(deal_stages(scenario.model.layers, plan_.pp, plan_.vpp,
                           scenario.software.stage_dealing, plan_.stage_split)),
        layers_(price_layers(scenario)),
        transfer_(stage_transfer_time(scenario).value),
        tied_(tied_embedding_time(scenario).value) {
    if (const std::string problem = shape_problem(kind_, shape_); !problem.empty()) {
      throw InputError("plan: " + problem);
    }
  }

  [[nodiscard]] PipelineGame game() const {
    const auto layers = static_cast<std::uint32_t>(scenario_.model.layers / shape_.blocks());
    return {kind_, shape_, duration_table(), kSynchronisationsOfLayer * std::max(1U, layers)};
  }

  /// Plays the schedule and fills times, stages and breakdown.
  void play(Prediction& prediction) const {
    const BlockTable durations = duration_table();
    const ScheduleResult result = run_clock(kind_, shape_, durations);
    const std::vector<double> held = in_flight(kind_, shape_);
    const Seconds fixed = scenario_.software.host.fixed_per_iteration;
    prediction.sec_per_iter = Seconds{result.seconds} + fixed;
    for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
      prediction.stages.push_back(stage_prediction(stage, result.stages[stage].busy, held[stage]));
    }
    const auto busiest =
        std::max_element(prediction.stages.begin(), prediction.stages.end(),
                         [](const auto& a, const auto& b) { return a.busy_s < b.busy_s; });
    prediction.slowest_stage =
        static_cast<std::size_t>(std::distance(prediction.stages.begin(), busiest));
    prediction.breakdown = breakdown(static_cast<std::uint32_t>(prediction.slowest_stage),
                                     durations, prediction.stages[prediction.slowest_stage].busy_s);
    prediction.breakdown.other = fixed.value;
    prediction.breakdown.bubble =
        std::max(0.0, prediction.sec_per_iter.value - prediction.breakdown.total());
  }

 private:
  [[nodiscard]] const StageContent& content(std::uint32_t stage, std::uint32_t chunk) const {
    return dealt_[chunk * shape_.stages + stage];
  }

  [[nodiscard]] std::vector<StageContent> chunks_of(std::uint32_t stage) const {
    std::vector<StageContent> chunks;
    for (std::uint32_t chunk = 0; chunk < shape_.chunks; ++chunk) {
      chunks.push_back(content(stage, chunk));
    }
    return chunks;
  }

  [[nodiscard]] bool is_end(std::uint32_t stage) const {
    return stage == 0 || stage + 1 == shape_.stages;
  }

  [[nodiscard]] BlockTable duration_table() const {
    BlockTable durations(shape_);
    const std::uint32_t last_chunk = shape_.chunks - 1;
    for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
      double backward = 0;
      for (std::uint32_t chunk = 0; chunk < shape_.chunks; ++chunk) {
        const ChunkCosts costs = chunk_costs(layers_, content(stage, chunk));
        const bool first = stage == 0 && chunk == 0;
        const bool last = stage + 1 == shape_.stages && chunk == last_chunk;
        durations.at(TaskKind::forward, stage, chunk) = costs.forward.total();
        durations.at(TaskKind::backward, stage, chunk) = costs.backward.total();
        durations.at(TaskKind::send_forward, stage, chunk) = last ? 0 : transfer_;
        durations.at(TaskKind::send_backward, stage, chunk) = first ? 0 : transfer_;
        backward += costs.backward.total();
      }
      const double parameters =
          stage_parameters(scenario_.model, plan_, scenario_.software, chunks_of(stage));
      durations.at(TaskKind::gradient_reduce, stage) = exposed_reduce(parameters, backward);
      durations.at(TaskKind::embedding_reduce, stage) = is_end(stage) ? tied_ : 0;
      durations.at(TaskKind::optimizer, stage) = optimizer_time(scenario_, parameters).value;
    }
    return durations;
  }

  /// What is left of the gradient reduction after the last backward pass: all of it, or, where it
  /// overlaps, what that pass does not hide, at least the last layer's gradients.
  [[nodiscard]] double exposed_reduce(double parameters, double last_backward) const {
    const double whole = gradient_reduce_time(scenario_, parameters).value;
    const GradientOverlap overlap = scenario_.software.communication.gradient_overlap;
    const bool hidden = overlap == GradientOverlap::always ||
                        (overlap == GradientOverlap::no_pipeline && plan_.pp == 1);
    if (!hidden) return whole;
    return std::max(whole / real(scenario_.model.layers), whole - last_backward);
  }

  [[nodiscard]] StagePrediction stage_prediction(std::uint32_t stage, double busy,
                                                 double held) const {
    StagePrediction result;
    for (const StageContent& chunk : chunks_of(stage)) {
      const ChunkCosts costs = chunk_costs(layers_, chunk);
      result.blocks += chunk.blocks;
      result.forward_s += costs.forward.total();
      result.backward_s += costs.backward.total();
    }
    result.busy_s = busy;
    result.chunks_in_flight = static_cast<std::int64_t>(held);
    result.memory = stage_memory(scenario_.model, plan_, scenario_.software, chunks_of(stage),
                                 result.chunks_in_flight);
    return result;
  }

  /// `busy` is all that the compute stream does before the step's end; what of it is no pass over
  /// layers is blocking sends.
  [[nodiscard]] Breakdown breakdown(std::uint32_t stage, const BlockTable& durations,
                                    double busy) const {
    PassCost passes;
    for (const StageContent& chunk : chunks_of(stage)) {
      const ChunkCosts costs = chunk_costs(layers_, chunk);
      passes += costs.forward;
      passes += costs.backward;
    }
    const double m = real(plan_.micro_batches());
    Breakdown parts;
    parts.compute = m * passes.compute;
    parts.recompute = m * passes.recompute;
    parts.tp_comm = m * passes.tp_comm;
    parts.host = m * passes.host;
    parts.pp_comm = std::max(0.0, busy - m * passes.total());
    parts.dp_comm = durations.at(TaskKind::gradient_reduce, stage) +
                    durations.at(TaskKind::embedding_reduce, stage);
    parts.optimizer = durations.at(TaskKind::optimizer, stage);
    return parts;
  }

  const Scenario& scenario_;
  const Plan& plan_;
  ScheduleKind kind_;
  PipelineShape shape_;
  std::vector<StageContent> dealt_;
  LayerCosts layers_;
  double transfer_;
  double tied_;
};

}  // namespace

PipelineGame pipeline_game(const Scenario& scenario) {
  return Iteration(scenario).game();
}

void play_pipeline(const Scenario& scenario, Prediction& prediction) {
  Iteration(scenario).play(prediction);
}

}  // namespace prequel
