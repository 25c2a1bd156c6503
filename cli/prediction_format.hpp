#pragma once

/// A prediction as people and programs read it.

#include <optional>
#include <string>

#include "cli/terminal.hpp"
#include "models/library.hpp"
#include "sim/contended_iteration.hpp"
#include "sim/prediction.hpp"
#include "sim/timeline.hpp"
#include "sim/training_run.hpp"
#include "sim/what_if.hpp"

namespace prequel {

/// The table for people: numbers with units, memory per stage, the breakdown as a bar chart.
std::string prediction_text(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured, const Terminal& terminal = {});

/// The iteration on ranks that are not alike, for people.
std::string what_if_text(const StepDistribution& distribution, const WhatIf& question);

/// The iteration of which parts hold one another up, for people.
std::string contention_text(const ContendedIteration& contended);

/// The document `prequel/prediction/1`; with `distribution`, what `whole` holds, `timeline` and
/// `contended`, those too.
std::string prediction_json(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured,
                            const std::optional<StepDistribution>& distribution = {},
                            const WholeRun& whole = {},
                            const std::optional<Timeline>& timeline = {},
                            const std::optional<ContendedIteration>& contended = {});

/// What each stage does with its time, for people.
std::string timeline_text(const Timeline& timeline, const Terminal& terminal = {});

/// "fits", "tight" or "oom".
std::string_view name(MemoryVerdict verdict);

}  // namespace prequel
