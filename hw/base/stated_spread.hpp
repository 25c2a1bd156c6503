#pragma once

/// How sure a file is of one of its numbers.

#include <string>

namespace prequel {

/// The spread of a number that a file gives as `{"value": …, "sd": …}`.
struct StatedSpread {
  std::string path;  ///< in the file, as --set spells it ("kernels.gemm_time_factor")
  double sd{};       ///< relative: one standard deviation over the value
};

}  // namespace prequel
