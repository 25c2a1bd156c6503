#pragma once

/// Memory-bound kernels of training in fp32 on the processor, as a framework without fusion
/// across operators runs them.

#include <cstddef>
#include <vector>

#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// Arrays of `rows`·`width` floats that one kernel reads and writes.
struct StreamArrays {
  std::vector<std::vector<float>> arrays;
  std::size_t rows{};
  std::size_t width{};
};

/// How many arrays of the kernel's size each element passes through: its traffic is this times 4
/// bytes times the elements. 0: this kind is not measured here.
int stream_passes(StreamKind kind);

/// Arrays for `stream`, filled with random numbers.
StreamArrays make_stream(const Stream& stream);

/// Random numbers of [smallest, smallest + 1): zeros would be multiplied faster.
void fill_random(std::vector<float>& array, float smallest);

/// Runs the kernel once on all cores.
void run_stream(StreamKind kind, StreamArrays& arrays);

}  // namespace prequel
