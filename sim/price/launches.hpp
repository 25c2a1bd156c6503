#pragma once

/// Launches of a layer's kernels: the host's time for them, and what the device waits for it.

#include "hw/base/units.hpp"
#include "models/job/inputs.hpp"
#include "models/layers/layer.hpp"
#include "sim/price/kernel_costs.hpp"
#include "sim/price/layer_question.hpp"

namespace prequel {

/// A block whose kernels are launched.
struct LaunchedBlock {
  const Layer& layer;
  LayerKind kind;
  double back{};              ///< the backward pass's operators over those of the forward pass
  Seconds tensor_collective;  ///< what each collective of the tensor group costs beside its launch
};

/// Adds to both passes of a block what they wait for the host, and notes the host's own time.
void add_launches(const LaunchedBlock& block, const LayerQuestion& question, const Inputs& inputs,
                  PartKernels& kernels);

}  // namespace prequel
