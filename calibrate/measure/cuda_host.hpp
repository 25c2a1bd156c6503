#pragma once

/// Between host and device: copies and launches.

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_or_hip.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/work.hpp"

namespace prequel {

/// From or to pinned memory by the copy engine, or through the driver's own buffers.
Run prepare_cuda_copy(const HostCopy& copy, cudaStream_t on, const Patience& patience);

/// Host time of one launch in a row of them; as nodes of a graph, the time until the device has
/// run all of a graph over its nodes.
Run prepare_cuda_launch(const KernelLaunch& launch, cudaStream_t on, const Patience& patience);

}  // namespace prequel
