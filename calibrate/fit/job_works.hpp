#pragma once

/// Kernels of a training step on one device, as points to measure.

#include <vector>

#include "calibrate/measure/work.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// The products, attention kernels, memory-bound kernels and tensor-parallel collectives of one
/// micro batch, forward and backward, in their exact shapes; each once. Attention that is not
/// fused is there as a chain of kernels, too.
std::vector<Work> job_works(const Scenario& scenario);

}  // namespace prequel
