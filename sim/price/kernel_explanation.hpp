#pragma once

/// Which model priced which kernel of a training step, and what holds each up.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hw/terms/price_explanation.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

struct ExplainedKernel {
  std::string_view name;   ///< as operators are called: "qkv", "mlp all-reduce", "launches"
  std::string part;        ///< of the model: "embedding", "block", "experts block", "head", …
  std::string_view pass;   ///< "forward", "recompute", "backward"
  Operator what;           ///< with its shape; a time where it is measured or of the host
  double seconds{};        ///< of one, with what the software stack adds to the price
  std::int64_t count{};    ///< in one iteration, on one device
  PriceExplanation price;  ///< without what the software adds
};

/// Returns all kernels and collectives of layers, in the order in which they run, on a stage that
/// holds `parts` and passes so many micro batches.
std::vector<ExplainedKernel> explain_kernels(const LayerQuestion& question, const Inputs& inputs,
                                             const PartCounts& parts, std::int64_t micro_batches);

}  // namespace prequel
