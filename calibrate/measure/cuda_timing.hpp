#pragma once

/// How long the device takes for what a launch asks of it.

#include <functional>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_or_hip.hpp"

namespace prequel {

/// Puts work on a stream and returns; every call takes the next of its rotating operands.
using Launch = std::function<void()>;

/// Runs `launch` by device events. Short kernels are run in a row, and a delay ahead of them lets
/// the host launch all of it before the device begins: its launches would be measured otherwise.
Run timed(Launch launch, cudaStream_t stream);

}  // namespace prequel
