#pragma once

/// Doubts of an answer, in words.

#include <string>
#include <vector>

#include "sim/answer/interval.hpp"

namespace prequel {

/// "run to run 72 %, gemm 7 %": the first, and the others that are not nothing.
std::string spread_text(const std::vector<SpreadSource>& sources);

}  // namespace prequel
