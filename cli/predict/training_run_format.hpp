#pragma once

/// A whole training as people and programs read it.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sim/run/training_run.hpp"

namespace prequel {

/// Returns the answers to what was asked, for people; empty if nothing was. `what_if`: its
/// iterations are as they are there.
std::string whole_run_text(const Plan& plan, const WholeRun& whole, const RunQuestion& question,
                           bool what_if);

/// The members `ramp`, `checkpoints` and `run` of a prediction, those that were asked for.
nlohmann::ordered_json whole_run_json(const WholeRun& whole);

}  // namespace prequel
