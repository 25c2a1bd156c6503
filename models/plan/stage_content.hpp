#pragma once

/// Content of a pipeline stage: the parts of a transformer that it holds.

#include <cstdint>
#include <vector>

#include "models/layers/parts.hpp"

namespace prequel {

/// The content of one pipeline stage, or of one model chunk of it.
struct StageContent {
  std::int64_t blocks{};
  bool embedding{};
  bool head{};
  PartCounts parts{};  ///< all of that by kind, once `with_parts` has told

  bool operator==(const StageContent&) const = default;
};

/// Dealt chunks with the parts of the model that each holds; layers of multi-token prediction stand
/// before the head.
std::vector<StageContent> with_parts(std::vector<StageContent> dealt, const Transformer& model);

/// One block of the model by itself.
StageContent one_block(const Transformer& model, std::int64_t layer);

/// All of the model in one.
StageContent whole_model(const Transformer& model);

}  // namespace prequel
