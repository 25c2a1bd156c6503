#pragma once

#include <cstddef>
#include <functional>

namespace prequel {

/// Hears how much of long work is done, of how much; may be empty. An exception from it ends the
/// work.
using Progress = std::function<void(std::size_t done, std::size_t of)>;

}  // namespace prequel
