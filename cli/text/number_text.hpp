#pragma once

/// Numbers as tables show them.

#include <string>
#include <vector>

#include "sim/answer/interval.hpp"

namespace prequel {

/// Returns a number with as many decimals.
std::string fixed(double value, int decimals);
/// Returns a share in per cent, without its sign: "12.3".
std::string percent(double share, int decimals = 1);
/// Returns a relative difference in per cent: "+1.2".
std::string signed_percent(double share);
/// Returns a difference with its sign, and without one where it rounds to 0.
std::string signed_fixed(double value, int decimals);
/// Returns seconds with a unit that suits them: "122.9 s", "1.25 s", "12.5 ms".
std::string seconds_text(double seconds);
/// Returns "1 node", "2 nodes".
std::string counted(long long count, const char* noun);
/// Returns doubts of an answer, "run to run 72 %, gemm 7 %": the first, and the others that are not
/// nothing.
std::string spread_text(const std::vector<SpreadSource>& sources);

}  // namespace prequel
