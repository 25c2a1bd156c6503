#pragma once

/// Flags of other programs as they are called here.

#include <string>

namespace prequel {

struct ForeignNames;

/// Returns the flags of prequel that say the same ("--recompute full" of
/// "--gradient-checkpointing"); the empty text where importers would not know it, or not as an axis
/// of a plan.
std::string said_here(const ForeignNames& names, const std::string& flag, const std::string& value);

}  // namespace prequel
