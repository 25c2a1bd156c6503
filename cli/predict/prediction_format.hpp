#pragma once

/// A prediction as people and programs read it.

#include <optional>
#include <string>
#include <vector>

#include "calibrate/runs/gap_cause.hpp"
#include "cli/json/answer_json.hpp"
#include "cli/predict/kernel_format.hpp"
#include "cli/predict/reservation_format.hpp"
#include "cli/text/terminal.hpp"
#include "models/job/library.hpp"
#include "sim/answer/contended_iteration.hpp"
#include "sim/answer/interval.hpp"
#include "sim/answer/prediction.hpp"
#include "sim/answer/timeline.hpp"
#include "sim/answer/what_if.hpp"
#include "sim/run/reserve.hpp"
#include "sim/run/training_run.hpp"

namespace prequel {

/// The table for people: numbers with units, memory per stage, the breakdown as a bar chart.
std::string prediction_text(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured, const Terminal& terminal = {});

/// How sure the prediction is, for people.
std::string interval_text(const Interval& interval, const Terminal& terminal = {});

/// The iteration on ranks that are not alike, for people.
std::string what_if_text(const StepDistribution& distribution, const WhatIf& question);

/// The iteration of which parts hold one another up, for people.
std::string contention_text(const ContendedIteration& contended);

/// The answers to what was asked of a whole training, for people; empty if nothing was. `what_if`:
/// its iterations are as they are there.
std::string whole_run_text(const Plan& plan, const WholeRun& whole, const RunQuestion& question,
                           bool what_if);
/// The members `ramp`, `checkpoints` and `run` of a prediction, those that were asked for.
nlohmann::ordered_json whole_run_json(const WholeRun& whole);

/// The change that makes a plan as good as sure to fit.
struct SurePlan {
  std::string flags;  ///< of predict: "--mbs 1 --recompute full"
  Seconds sec_per_iter;
  Bytes peak_memory;
  double fits_probability{};
};

/// Answers beside the prediction itself, where they are asked for.
struct PredictionDetails {
  std::optional<Interval> interval;
  std::optional<StepDistribution> distribution;
  WholeRun whole;
  std::optional<ReservationAnswer> reservation;
  std::vector<NodesPoint> over_nodes;
  RunQuestion run;                    ///< that those three answer
  std::optional<StageShares> shares;  ///< unless too many passes would have to be played
  std::optional<ContendedIteration> contended;
  std::vector<ExplainedKernel> kernels;
  OriginOf origin;               ///< of the kernels' constants
  std::vector<GapCause> causes;  ///< of the gap to the job's measured time
  std::optional<SurePlan> sure;  ///< where the plan itself is not
  std::optional<Context> context;
};

/// The document `prequel/prediction/1`, with the details that there are.
std::string prediction_json(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured,
                            const PredictionDetails& details = {});

/// Returns how each stage spends its time, for people.
std::string shares_text(const StageShares& shares, const Terminal& terminal = {});

}  // namespace prequel
