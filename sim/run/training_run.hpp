#pragma once

/// A whole training: iterations until its tokens are seen, with a batch that may grow, evaluations,
/// checkpoints and failures.

#include <cstdint>
#include <optional>

#include "sim/answer/prediction.hpp"
#include "sim/answer/what_if.hpp"
#include "sim/run/batch_ramp.hpp"
#include "sim/run/checkpointing.hpp"
#include "sim/run/reservation_question.hpp"
#include "sim/run/tokens_of_work.hpp"

namespace prequel {

struct RunQuestion {
  std::optional<double> tokens;
  std::optional<double> epochs;     ///< passes over a data set, in place of tokens
  std::optional<double> sequences;  ///< of the data set; pairs where preferences are learned
  double price{};                   ///< of one GPU-hour, in any currency; 0: not said
  std::optional<BatchRamp> ramp;
  double ramp_samples{};         ///< sequences over which the batch grows, in equal parts a size
  std::int64_t eval_interval{};  ///< iterations between evaluations; 0: none
  std::int64_t eval_iters{};     ///< global batches in one of them
  std::optional<BytesPerSecond> checkpoint_bandwidth;  ///< of the whole job to storage
  std::optional<Seconds> mtbf;                         ///< of the whole job; needs the bandwidth
  std::optional<Seconds> checkpoint_interval;          ///< else the one that loses the least
  Seconds restart;                                     ///< beside reading the checkpoint
  ReservationQuestion reservation;
};

/// Saving, and failing in between.
struct CheckpointPlan {
  Bytes size;  ///< weights and optimizer states, of the whole model
  Seconds save;
  std::optional<Seconds> young, daly;  ///< best intervals; empty without mtbf
  std::optional<Seconds> interval;     ///< the one in use, of training between two checkpoints
  double lost_share{};                 ///< of the whole time: saving, restarting, work done again
};

struct TrainingRun {
  std::int64_t iterations{};
  std::int64_t ramp_iterations{};  ///< of those, before the batch is full
  Seconds sec_per_iter;            ///< of the full batch
  Seconds training;                ///< all iterations, nothing else
  Seconds evaluation;              ///< all pauses
  Seconds expected;                ///< with checkpoints and failures
  double gpu_hours{};              ///< of `expected`
  std::optional<double> cost;      ///< of those, where a price is said
  TokensOfWork tokens;             ///< of training and evaluation, spread over it evenly
};

/// Bytes of a checkpoint from which training goes on: the weights as they are computed with and
/// Adam's states, which are an fp32 copy of weights that are not fp32, and two moments
/// (arXiv 1910.02054 section 3.1 counts 4 + 4 + 4).
Bytes checkpoint_size(const Transformer& model, const Plan& plan, const Software& software);

/// Needs the question's bandwidth. Throws InputError when failures come so often that hardly any
/// time is left for training.
CheckpointPlan checkpoint_plan(const Scenario& scenario, const RunQuestion& question);

/// Returns tokens that one row of the batch brings: all of a row, or on the mean those that are no
/// padding where lengths differ.
double tokens_of_row(const Plan& plan, const Prediction& prediction);

/// Returns the question with its epochs as tokens: each epoch is the whole number of steps that
/// sees every sequence. Throws InputError where the data set's size is not said.
RunQuestion in_tokens(RunQuestion question, const Plan& plan, const Prediction& prediction);

/// Needs the question's tokens; `curve` holds the sizes of its ramp, `lost_share` is of a
/// CheckpointPlan. With `what_if`, iterations take what they do there in the mean, and those of
/// other sizes and evaluations longer by the same factor. Throws InputError when a size of the ramp
/// cannot be run.
TrainingRun training_run(const Scenario& scenario, const Prediction& prediction,
                         const RunQuestion& question, const std::optional<RampCurve>& curve,
                         double lost_share, const std::optional<StepDistribution>& what_if = {});

/// What was asked, answered.
struct WholeRun {
  std::optional<RampCurve> ramp;
  std::optional<CheckpointPlan> checkpoints;
  std::optional<TrainingRun> run;
};

/// `scenario` is `job` resolved, `prediction` its iteration, `what_if` the same one where the job
/// asks that. Throws InputError when parts of the question are missing or contradict the plan.
WholeRun whole_run(const Job& job, const Scenario& scenario, const Prediction& prediction,
                   const RunQuestion& question,
                   const std::optional<StepDistribution>& what_if = {});

}  // namespace prequel
