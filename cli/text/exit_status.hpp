#pragma once

namespace prequel {

/// Exit statuses of the program (contract with scripts).
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;  ///< the answer is "no": out of memory, nothing fits, limit
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitInterrupted = 130;

}  // namespace prequel
