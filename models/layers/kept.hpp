#pragma once

/// Tensors that a told layer keeps for the backward pass.

#include "models/layers/layer.hpp"

namespace prequel {

/// Bytes of one micro batch on one rank, where the pieces of `repeated` are computed again. All of
/// a layer repeated keeps its input alone. A GPT block keeps s·b·h·(10 + 24/t) bytes in fp16, with
/// sequence parallelism 34/t, and its attention scores where no flash kernel avoids them
/// (arXiv 2205.05198, eq. 1 to 4).
double kept_bytes(const Layer& layer, WordSet<Module> repeated);

/// The most bytes that one kernel of the backward pass reads and writes as gradients: of what a
/// product returned and of what it read, or of all between two products; with unfused attention
/// those of scores before and behind the softmax.
double working_bytes(const Layer& layer, double element_bytes);

/// Bytes of these that are inputs of `modules` and so can wait in host memory.
double offloaded_bytes(const Layer& layer, WordSet<Module> repeated,
                       WordSet<OffloadModule> modules);

}  // namespace prequel
