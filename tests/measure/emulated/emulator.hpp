#pragma once

/// Runs device code on a processor, so that tests see what it computes and where it reads and
/// writes.

#include <functional>

namespace prequel::emulated {

struct Extent {
  unsigned x{};
};

/// Which thread of which block runs.
struct Place {
  Extent block, thread, blocks, threads;
};
const Place& here();

/// Returns when all threads of the block that have not ended are here.
void barrier();

/// Returns the value that the lane named by `from` gave, among the 32 of a warp, all of which take
/// part; a lane beyond them gives the thread its own value, as on a GPU.
float exchanged(float value, const std::function<unsigned(unsigned lane)>& from);

/// A clock that goes on by being looked at.
unsigned long long nanoseconds();

/// A grid of blocks of threads, one block after another. Throws std::runtime_error where threads of
/// a warp stand at different places, or some have ended while others wait for them.
void run(unsigned blocks, unsigned threads, const std::function<void()>& thread);

/// Launches are only told, not run, while it is set.
using Watcher = std::function<void(unsigned blocks, unsigned threads)>;
void watch(Watcher watcher);

}  // namespace prequel::emulated
