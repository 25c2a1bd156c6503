#pragma once

/// Possible causes why runs took another time than predicted: the odds of single ones.

#include <string>
#include <vector>

#include "calibrate/runs/gap_cause.hpp"
#include "calibrate/runs/run_quantities.hpp"

namespace prequel {

/// One constant at a time is free under its prior, the others are as the files say: each such
/// hypothesis weighs by its evidence, and so does that nothing is off but the usual scatter. The
/// most probable first; those below 1 % are left out. `runs` are times of one stack on one cluster.
std::vector<GapCause> gap_causes(const std::vector<ObservedRun>& runs,
                                 const Uncertainty& uncertainty);

/// In a sentence: the causes that together have most of the probability, four at most.
std::string text(const std::vector<GapCause>& causes);

}  // namespace prequel
