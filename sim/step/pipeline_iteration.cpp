#include <algorithm>
#include <iterator>
#include <string>

#include "hw/base/errors.hpp"
#include "sim/schedule/beside.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/step/iteration.hpp"

namespace prequel {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// How often an iteration reduces its gradients: ZeRO-2 keeps a shard of them alone, so it has to
/// after every micro batch (Rajbhandari et al. 2020, "ZeRO", section 5.2).
double gradient_reductions(const Plan& plan) {
  return plan.zero == 2 ? real(plan.micro_batches()) : 1.0;
}

/// Whether gradients are reduced while the last backward still runs. Where every micro batch's are,
/// no known stack overlaps them.
bool gradients_overlap(const Scenario& scenario) {
  if (gradient_reductions(scenario.plan) > 1.0) return false;
  const GradientOverlap overlap = scenario.software.communication.gradient_overlap;
  const bool wanted = overlap == GradientOverlap::always ||
                      (overlap == GradientOverlap::no_pipeline && scenario.plan.pp == 1);
  return wanted && scenario.plan.replicas() > 1;
}

PipelineShape shape_of(const Scenario& scenario, ScheduleKind kind) {
  const Plan& plan = scenario.plan;
  PipelineShape shape;
  shape.stages = static_cast<std::uint32_t>(plan.pp);
  shape.micro_batches = static_cast<std::uint32_t>(plan.micro_batches());
  shape.chunks = chunks_of(kind, static_cast<std::uint32_t>(plan.vpp));
  shape.sends = scenario.software.communication.blocking_p2p ? Sends::blocking : Sends::overlapped;
  if (exchanges_beside(plan)) shape.exchanges = Exchanges::beside;
  if (gradients_overlap(scenario)) {
    // A bucket a layer.
    const std::int64_t blocks = plan.pp * plan.vpp;
    shape.buckets = static_cast<std::uint32_t>((scenario.model.layers + blocks - 1) / blocks);
    shape.gathers = plan.zero > 0;
  }
  return shape;
}

/// One iteration of the pipeline: what each stage holds and costs, and the table of durations that
/// its schedule is played with.
class Iteration {
 public:
  Iteration(const Scenario& scenario, const LayerCosts& layers)
      : scenario_(scenario),
        plan_(scenario.plan),
        kind_(plan_.schedule),
        shape_(shape_of(scenario, kind_)),
        dealt_(chunks_of_plan(scenario.model, plan_, scenario.software)),
        layers_(layers),
        transfer_(stage_transfer_time(scenario).value),
        // Of copies, both end stages hold the table whole, and of a V the first one does.
        tied_(traits(kind_).mirrored || traits(kind_).folded
                  ? 0
                  : tied_embedding_time(scenario).value) {
    if (const std::string problem = shape_problem(kind_, shape_); !problem.empty()) {
      throw InputError("plan: " + problem);
    }
  }

  [[nodiscard]] PipelineGame game() const {
    const auto layers = static_cast<std::uint32_t>(scenario_.model.layers / std::ssize(dealt_));
    return {kind_, shape_, duration_table(), kSynchronisationsOfLayer * std::max(1U, layers),
            dealt_};
  }

  /// Plays the schedule and fills the times of a prediction, its stages and breakdown.
  void play(Prediction& prediction) const {
    const BlockTable durations = duration_table();
    const ScheduleResult result = run_clock(kind_, shape_, durations);
    const Seconds fixed = scenario_.software.host.fixed_per_iteration;
    prediction.sec_per_iter = Seconds{result.seconds} + fixed;
    for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
      prediction.stages.push_back(stage_prediction(stage, result.stages[stage].busy));
    }
    const auto busiest =
        std::max_element(prediction.stages.begin(), prediction.stages.end(),
                         [](const auto& a, const auto& b) { return a.busy_s < b.busy_s; });
    prediction.slowest_stage =
        static_cast<std::size_t>(std::distance(prediction.stages.begin(), busiest));
    prediction.breakdown = breakdown(static_cast<std::uint32_t>(prediction.slowest_stage),
                                     durations, result.stages[prediction.slowest_stage]);
    prediction.breakdown.other = fixed.value;
    prediction.breakdown.bubble =
        std::max(0.0, prediction.sec_per_iter.value - prediction.breakdown.total());
  }

 private:
  [[nodiscard]] const StageContent& content(std::uint32_t stage, std::uint32_t chunk) const {
    return dealt_[model_part(kind_, shape_, stage, chunk)];
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

  /// How many micro batches pass each chunk of a stage.
  [[nodiscard]] double passes() const {
    const double all = real(plan_.micro_batches());
    return traits(kind_).mirrored ? all / 2 : all;
  }

  [[nodiscard]] BlockTable duration_table() const {
    BlockTable durations(shape_);
    for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
      for (std::uint32_t chunk = 0; chunk < shape_.chunks; ++chunk) {
        add_passes(durations, stage, chunk);
        if (shape_.buckets > 0) add_buckets(durations, stage, chunk);
      }
      const StageParameters parameters = parameters_of(chunks_of(stage));
      if (shape_.buckets == 0) {
        durations.at(TaskKind::gradient_reduce, stage) =
            gradient_reductions(plan_) * gradient_reduce_time(scenario_, parameters).value +
            parameter_gather_time(scenario_, parameters).value;
      }
      durations.at(TaskKind::embedding_reduce, stage) = is_end(stage) ? tied_ : 0;
      durations.at(TaskKind::optimizer, stage) = optimizer_time(scenario_, parameters).value;
    }
    return durations;
  }

  void add_passes(BlockTable& durations, std::uint32_t stage, std::uint32_t chunk) const {
    const StageContent& held = content(stage, chunk);
    const ChunkCosts costs = chunk_costs(layers_, held);
    const double backward = costs.backward.total();
    durations.at(TaskKind::forward, stage, chunk) = costs.forward.total();
    durations.at(TaskKind::backward, stage, chunk) = backward;
    durations.at(TaskKind::weight_gradient, stage, chunk) = costs.backward.weight_gradient;
    durations.at(TaskKind::input_gradient, stage, chunk) =
        backward - costs.backward.weight_gradient;
    durations.at(TaskKind::send_forward, stage, chunk) = held.head ? 0 : transfer_;
    durations.at(TaskKind::send_backward, stage, chunk) = held.embedding ? 0 : transfer_;
    if (shape_.exchanges == Exchanges::beside) add_passes_beside(durations, stage, chunk, costs);
  }

  void add_passes_beside(BlockTable& durations, std::uint32_t stage, std::uint32_t chunk,
                         const ChunkCosts& costs) const {
    const double share = exchange_beside(scenario_);
    const auto parts = [&](const PassCost& pass) {
      const double exchange = share * pass.ep_comm;
      return PassParts{pass.total() - exchange, exchange};
    };
    set_passes(durations, stage, chunk, parts(costs.forward), parts(costs.backward),
               {0, scenario_.software.communication.beside_stretch});
    if (!plan_.cuda_graphs.empty()) return;
    const double launched = scenario_.software.host.beside_per_chunk.value / 2;
    durations.at(TaskKind::forward_beside, stage, chunk) += launched;
    durations.at(TaskKind::backward_beside, stage, chunk) += launched;
  }

  void add_buckets(BlockTable& durations, std::uint32_t stage, std::uint32_t chunk) const {
    const auto share = [&](TaskKind part, TaskKind whole) {
      durations.at(part, stage, chunk) = durations.at(whole, stage, chunk) / shape_.buckets;
    };
    share(TaskKind::forward_bucket, TaskKind::forward);
    share(TaskKind::backward_bucket, TaskKind::backward);
    share(TaskKind::weight_gradient_bucket, TaskKind::weight_gradient);
    StageParameters parameters = parameters_of({content(stage, chunk)});
    parameters.dense /= shape_.buckets;
    parameters.experts /= shape_.buckets;
    durations.at(TaskKind::gradient_reduce, stage, chunk) =
        gradient_reduce_time(scenario_, parameters).value;
    durations.at(TaskKind::parameter_gather, stage, chunk) =
        parameter_gather_time(scenario_, parameters).value;
  }

  [[nodiscard]] StageParameters parameters_of(const std::vector<StageContent>& chunks) const {
    return stage_parameters(scenario_.model, plan_, scenario_.software, chunks);
  }

  [[nodiscard]] StagePrediction stage_prediction(std::uint32_t stage, double busy) const {
    StagePrediction result;
    for (const StageContent& chunk : chunks_of(stage)) {
      const ChunkCosts costs = chunk_costs(layers_, chunk);
      result.blocks += chunk.blocks;
      each_part([&](Part part) { result.parts[part] += chunk.parts[part]; });
      result.forward_s += costs.forward.total();
      result.backward_s += costs.backward.total();
      result.recompute_s += costs.backward.recompute;
    }
    result.busy_s = busy;
    return result;
  }

  /// What of a stage's busy time is no pass over layers is blocking sends.
  [[nodiscard]] Breakdown breakdown(std::uint32_t stage, const BlockTable& durations,
                                    const StageTimes& times) const {
    PassCost all;
    for (const StageContent& chunk : chunks_of(stage)) {
      const ChunkCosts costs = chunk_costs(layers_, chunk);
      all += costs.forward;
      all += costs.backward;
    }
    const double m = passes();
    Breakdown parts;
    parts.compute = m * all.compute;
    parts.recompute = m * all.recompute;
    parts.tp_comm = m * all.tp_comm;
    parts.cp_comm = m * all.cp_comm;
    parts.ep_comm = m * all.ep_comm;
    parts.host = m * all.host;
    if (shape_.exchanges == Exchanges::beside) {
      // Of the exchange, what the compute stream holds beside kernels; of one stage, all it waits
      // for, unless gathers and reductions have their part in that.
      const bool alone = shape_.stages == 1 && shape_.buckets == 0;
      const double busy = alone ? times.pipeline_end : times.busy;
      parts.ep_comm = std::max(0.0, busy - m * (all.total() - all.ep_comm));
    } else if (shape_.stages > 1 && shape_.sends == Sends::blocking) {
      // Nothing else runs on the compute stream; without such sends the rest would be rounding.
      parts.pp_comm = std::max(0.0, times.busy - m * all.total());
    }
    parts.optimizer = durations.at(TaskKind::optimizer, stage);
    parts.dp_comm = durations.at(TaskKind::embedding_reduce, stage);
    if (shape_.buckets == 0) {
      parts.dp_comm += durations.at(TaskKind::gradient_reduce, stage);
    } else {
      // What the passes do not hide: at the end, and of gathers where no bubble does either.
      parts.dp_comm += std::max(0.0, times.buckets_end - times.pipeline_end);
      if (shape_.stages == 1) parts.dp_comm += times.pipeline_end - times.busy;
    }
    return parts;
  }

  const Scenario& scenario_;
  const Plan& plan_;
  ScheduleKind kind_;
  PipelineShape shape_;
  std::vector<StageContent> dealt_;
  const LayerCosts& layers_;
  double transfer_;
  double tied_;
};

}  // namespace

PipelineGame pipeline_game(const Scenario& scenario) {
  return pipeline_game(scenario, price_layers(scenario));
}

PipelineGame pipeline_game(const Scenario& scenario, const LayerCosts& layers) {
  return Iteration(scenario, layers).game();
}

void play_pipeline(const Scenario& scenario, const LayerCosts& layers, Prediction& prediction) {
  Iteration(scenario, layers).play(prediction);
}

}  // namespace prequel
