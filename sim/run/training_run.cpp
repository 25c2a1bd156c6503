#include "sim/run/training_run.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/layer_setting.hpp"
#include "sim/answer/forward_only.hpp"

namespace prequel {
namespace {

constexpr double kFp32 = 4.0;  // bytes
constexpr double kSecondsPerHour = 3600.0;
constexpr double kMostIterations = 1e12;  // a microsecond each would fill eleven days
constexpr double kMostLost = 0.8;         // of the time, to failures: beyond, a run hardly gets on
constexpr double kWellBelow = 0.1;        // of the mtbf: at most 45 % are lost then

/// Iterations of `gbs` that see `samples` sequences, the last one whole.
std::int64_t iterations_of(double samples, std::int64_t gbs) {
  constexpr double kRounding = 1e-9;  // of tokens that are a whole number of iterations
  const double iterations = std::max(0.0, samples) / real(gbs);
  return static_cast<std::int64_t>(std::ceil(iterations * (1 - kRounding)));
}

/// Data set's sequences, or pairs of them, that one step sees.
double sequences_of_step(const Plan& plan, const Prediction& prediction) {
  if (!prediction.uneven) return real(plan.gbs);
  const StepTokens& tokens = prediction.uneven->tokens;
  // A loss is of all tokens but the first of each sequence.
  return (tokens.real - tokens.loss) / real(plan.sequences_of_sample());
}

/// Adds the sizes below the last one until `samples` are used up; returns the sequences seen.
double add_ramp(const RampCurve& curve, double ramp_samples, double samples, TrainingRun& run) {
  const double part = ramp_samples / real(std::ssize(curve.points) - 1);
  double seen = 0;
  for (const BatchPoint& point : curve.points) {
    if (point.gbs == curve.points.back().gbs || seen >= samples) break;
    const auto& time = point.planned ? point.planned : point.fastest;
    if (!time) {
      throw InputError(
          "gbs_ramp",
          fmt::format("no micro batch that fits divides a global batch of {}; start and increment "
                      "must be multiples of dp",
                      point.gbs));
    }
    const std::int64_t iterations = iterations_of(std::min(part, samples - seen), point.gbs);
    seen += real(iterations) * real(point.gbs);
    run.ramp_iterations += iterations;
    run.training += real(iterations) * time->sec_per_iter;
    run.tokens.points.emplace_back(run.training.value, seen);
  }
  return seen;
}

void check(const Plan& plan, const RunQuestion& question) {
  const double a_step = real(plan.gbs) * real(plan.seq_len);
  if (question.tokens && *question.tokens / a_step > kMostIterations) {
    throw InputError(fmt::format("tokens {:g}", *question.tokens),
                     fmt::format("over {:g} iterations of {:g} tokens; at most {:g} would do",
                                 kMostIterations, a_step, kMostIterations * a_step));
  }
  if (question.ramp && question.ramp->last != plan.gbs) {
    throw InputError(
        "gbs_ramp",
        fmt::format("ends at {}, but the global batch size is {}; an end there would do, or gbs {}",
                    question.ramp->last, plan.gbs, question.ramp->last));
  }
  if (question.ramp && question.tokens && question.ramp_samples <= 0) {
    throw InputError("gbs_ramp",
                     "with tokens it needs ramp_samples, the sequences over which the batch grows");
  }
}

/// Expected time of `work` over `work`.
double stretch(const CheckpointPlan& checkpoints, const RunQuestion& question) {
  if (!checkpoints.interval) return 1.0;
  const double interval = checkpoints.interval->value;
  if (!question.mtbf) return 1.0 + checkpoints.save.value / interval;
  const FailureModel failures{*question.mtbf, checkpoints.save,
                              question.restart + checkpoints.save};
  return expected_time(Seconds{1.0}, *checkpoints.interval, failures).value;
}

std::string amount(Seconds time) {
  return fmt::format("{:.{}f} s", time.value, time.value < 10 ? 1 : 0);
}

/// Loses least where the interval is not said.
CheckpointPlan with_best_interval(CheckpointPlan checkpoints, const RunQuestion& question) {
  checkpoints.interval = checkpoints.daly;
  checkpoints.lost_share = 1.0 - 1.0 / stretch(checkpoints, question);
  return checkpoints;
}

/// Refuses what would lose nearly all of its time, or all of it: then the expectation has no end.
void check_progress(const CheckpointPlan& checkpoints, const RunQuestion& question) {
  if (!question.mtbf || checkpoints.lost_share <= kMostLost) return;
  const double lost = 100 * checkpoints.lost_share;
  const CheckpointPlan best = with_best_interval(checkpoints, question);
  if (best.lost_share <= kMostLost) {
    throw InputError("checkpoint_interval",
                     fmt::format("with {} between checkpoints and a failure every {}, "
                                 "{:.1f} % of the time is lost; {} would do",
                                 amount(*checkpoints.interval), amount(*question.mtbf), lost,
                                 amount(*best.interval)));
  }
  const Seconds stop = checkpoints.save + question.restart;
  std::string would_do = fmt::format("mtbf {:.0f}s", std::ceil(stop.value / kWellBelow));
  if (question.restart <= kWellBelow / 2 * *question.mtbf) {
    const BytesPerSecond rate = checkpoints.size / (kWellBelow / 2 * *question.mtbf);
    would_do += fmt::format(" or checkpoint_bandwidth {:.0f}GB/s", std::ceil(rate.value / kGB));
  }
  throw InputError(
      "mtbf",
      fmt::format("a failure every {} leaves hardly any time to train, as a checkpoint takes {} to "
                  "write and a restart {}: {:.1f} % are lost; {} would do",
                  amount(*question.mtbf), amount(checkpoints.save), amount(stop), lost, would_do));
}

}  // namespace

Bytes checkpoint_size(const Transformer& model, const Plan& plan, const Software& software) {
  const double weight = state_bytes(plan, software).weights;
  const double states = (weight < kFp32 ? kFp32 : 0.0) + 2 * kFp32;
  // Where the model is frozen, adapters alone are saved.
  return {real(learning_parameters(model, learning_of(plan))) * (weight + states)};
}

CheckpointPlan checkpoint_plan(const Scenario& scenario, const RunQuestion& question) {
  CheckpointPlan checkpoints;
  checkpoints.size = checkpoint_size(scenario.model, scenario.plan, scenario.software);
  checkpoints.save = checkpoints.size / *question.checkpoint_bandwidth;
  if (question.mtbf) {
    const FailureModel failures{*question.mtbf, checkpoints.save, {}};
    checkpoints.young = young_interval(failures);
    checkpoints.daly = daly_interval(failures);
    checkpoints.interval = checkpoints.daly;
  }
  if (question.checkpoint_interval) checkpoints.interval = question.checkpoint_interval;
  checkpoints.lost_share = 1.0 - 1.0 / stretch(checkpoints, question);
  check_progress(checkpoints, question);
  return checkpoints;
}

double tokens_of_row(const Plan& plan, const Prediction& prediction) {
  return prediction.uneven ? prediction.uneven->tokens.real / real(plan.gbs) : real(plan.seq_len);
}

RunQuestion in_tokens(RunQuestion question, const Plan& plan, const Prediction& prediction) {
  if (!question.epochs) return question;
  if (question.tokens) {
    throw InputError("epochs", "tokens say how long the training is, too; one of them would do");
  }
  if (!question.sequences) {
    throw InputError("epochs",
                     "the size of the data set is not said; sequences would do, or a named data "
                     "set as lengths");
  }
  const double steps = std::ceil(*question.sequences / sequences_of_step(plan, prediction));
  const double all = std::ceil(*question.epochs * steps);
  question.tokens = all * real(plan.gbs) * tokens_of_row(plan, prediction);
  return question;
}

TrainingRun training_run(const Scenario& scenario, const Prediction& prediction,
                         const RunQuestion& question, const std::optional<RampCurve>& curve,
                         double lost_share, const std::optional<StepDistribution>& what_if) {
  const Plan& plan = scenario.plan;
  const double row = tokens_of_row(plan, prediction);
  const double samples = *question.tokens / row;
  TrainingRun run;
  run.sec_per_iter = what_if ? Seconds{what_if->mean} : prediction.sec_per_iter;
  const double slowdown = run.sec_per_iter / prediction.sec_per_iter;
  const double seen = curve && question.ramp->increments() > 0
                          ? add_ramp(*curve, question.ramp_samples, samples, run)
                          : 0.0;
  const std::int64_t full = iterations_of(samples - seen, plan.gbs);
  run.iterations = run.ramp_iterations + full;
  run.training = slowdown * run.training + real(full) * run.sec_per_iter;
  if (question.eval_interval > 0) {
    const double pauses = real(run.iterations / question.eval_interval);
    const Seconds forward = slowdown * forward_only_time(scenario);
    run.evaluation = pauses * real(question.eval_iters) * forward;
  }
  const double stretched = 1 + run.evaluation / run.training;
  run.tokens.points.emplace_back(run.training.value, seen + real(full) * real(plan.gbs));
  for (auto& [work, tokens] : run.tokens.points) {
    const bool in_ramp = &work != &run.tokens.points.back().first;
    work *= (in_ramp ? slowdown : 1.0) * stretched;
    tokens = std::min(*question.tokens, tokens * row);
  }
  run.expected = (run.training + run.evaluation) / (1.0 - lost_share);
  run.gpu_hours = run.expected.value / kSecondsPerHour * real(plan.gpus);
  if (question.price > 0) run.cost = run.gpu_hours * question.price;
  return run;
}

WholeRun whole_run(const Job& job, const Scenario& scenario, const Prediction& prediction,
                   const RunQuestion& question, const std::optional<StepDistribution>& what_if) {
  check(scenario.plan, question);
  WholeRun whole;
  if (question.ramp) whole.ramp = ramp_curve(job, scenario.plan, *question.ramp);
  if (question.checkpoint_bandwidth) whole.checkpoints = checkpoint_plan(scenario, question);
  if (question.tokens) {
    whole.run = training_run(scenario, prediction, question, whole.ramp,
                             whole.checkpoints ? whole.checkpoints->lost_share : 0.0, what_if);
  }
  return whole;
}

}  // namespace prequel
