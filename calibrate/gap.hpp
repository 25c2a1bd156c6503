#pragma once

/// What could explain that runs took another time than predicted: the odds of single causes.

#include <string>
#include <vector>

#include "calibrate/run_quantities.hpp"

namespace prequel {

/// One cause alone, with how large it would have to be.
struct GapCause {
  std::string what;               ///< "network between nodes 0.55 of its rate (0.48-0.63)"
  std::string path;               ///< the number of a file that it moves; empty: all times, or none
  double probability{};           ///< among the causes told, and scatter from run to run
  double value{}, low{}, high{};  ///< over what the files say; 80 % interval
};

/// One constant at a time is free under its prior, the others are as the files say: each such
/// hypothesis weighs by its evidence, and so does that nothing is off but the usual scatter. The
/// most probable first; those below 1 % are left out. `runs` are times of one stack on one cluster.
std::vector<GapCause> gap_causes(const std::vector<ObservedRun>& runs,
                                 const Uncertainty& uncertainty);

/// In a sentence: the causes that together have most of the probability, four at most.
std::string text(const std::vector<GapCause>& causes);

}  // namespace prequel
