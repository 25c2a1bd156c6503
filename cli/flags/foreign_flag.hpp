#pragma once

/// Flags of other programs as they are called here.

#include <functional>
#include <memory>
#include <string>

namespace prequel {

struct ForeignNames;

/// Reads what other programs call settings, when it is needed. Throws InputError.
using ReadNames = std::function<std::shared_ptr<const ForeignNames>()>;

/// Returns the flags of prequel that say the same ("--recompute full" of
/// "--gradient-checkpointing"); the empty text where importers would not know it, or not as an axis
/// of a plan, or where the names cannot be read.
std::string said_here(const ReadNames& names, const std::string& flag, const std::string& value);

}  // namespace prequel
