#pragma once

/// Limit of threads that the tests of parallel work share.

#ifndef __SANITIZE_THREAD__
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#endif

#include <functional>

namespace prequel {

/// Calls `body` with so many threads for what it does in parallel, also on fewer cores. Under the
/// thread sanitizer, which knows nothing of TBB, with as many as there are.
inline void with_threads([[maybe_unused]] int threads, const std::function<void()>& body) {
#ifdef __SANITIZE_THREAD__
  body();
#else
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(threads));
  tbb::task_arena(threads).execute(body);
#endif
}

}  // namespace prequel
