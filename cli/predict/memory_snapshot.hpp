#pragma once

/// The memory of ranks over one iteration as a snapshot of PyTorch's allocator, which
/// pytorch.org/memory_viz and torch.cuda._memory_viz open (a dict of `segments` and
/// `device_traces`; torch/cuda/_memory_viz.py). Each rank is a device; what a block is for is the
/// name of its frame.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/answer/prediction.hpp"
#include "sim/answer/timeline.hpp"

namespace prequel {

/// The snapshot, pickled. The most that a rank's events hold at once is the peak of its stage, to
/// the bytes that rounding takes.
std::string memory_snapshot(const Scenario& scenario, const Prediction& prediction,
                            const Timeline& timeline, const std::vector<std::int64_t>& ranks);

}  // namespace prequel
