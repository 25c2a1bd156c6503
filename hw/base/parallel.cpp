#include "hw/base/parallel.hpp"

#include <mutex>

// Debian's libtbb is not built with the thread sanitizer, which would take all that libtbb hands
// from thread to thread for a race. Plain threads let it watch the work itself. A static program
// has them, too: there is no static libtbb.
#if defined(__SANITIZE_THREAD__) && !defined(PREQUEL_PLAIN_THREADS)
#define PREQUEL_PLAIN_THREADS
#endif

#ifdef PREQUEL_PLAIN_THREADS
#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>
#elif !defined(__EMSCRIPTEN__)
#include <tbb/parallel_for.h>
#endif

namespace prequel {

#ifdef PREQUEL_PLAIN_THREADS

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads(std::max(2U, std::thread::hardware_concurrency()));
    for (auto& thread : threads) thread = std::jthread(work);
  }
  if (error) std::rethrow_exception(error);
}

#elif defined(__EMSCRIPTEN__)

// Threads of a page need headers of a server, which a page opened from disk has not got.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

#else

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  tbb::parallel_for(std::size_t{0}, count, body);
}

#endif

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body,
                  const Progress& progress) {
  if (!progress) return parallel_for(count, body);
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(count, [&](std::size_t i) {
    body(i);
    const std::lock_guard lock(mutex);
    progress(++done, count);
  });
}

}  // namespace prequel
