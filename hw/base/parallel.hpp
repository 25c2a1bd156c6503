#pragma once

/// Work spread over the cores of this machine.

#include <cstddef>
#include <functional>

#include "hw/base/progress.hpp"

namespace prequel {

/// Calls `body(0) … body(count − 1)`, in any order and at the same time on several cores, and
/// returns when all are done. For a result that does not depend on the order, let each call write
/// to its own place. An exception of a call ends the rest and comes out here.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);
/// The same; `progress` is told after each, by one thread at a time.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body,
                  const Progress& progress);

}  // namespace prequel
