#pragma once

#include <string>

namespace prequel {

/// A cause that could alone explain why runs took another time than predicted, and its size.
struct GapCause {
  std::string what;               ///< "network between nodes 0.55 of its rate (0.48-0.63)"
  std::string path;               ///< the number of a file that it moves; empty: all times, or none
  double probability{};           ///< among the causes told, and scatter from run to run
  double value{}, low{}, high{};  ///< over what the files say; 80 % interval
};

}  // namespace prequel
