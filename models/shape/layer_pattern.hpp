#pragma once

/// Layers told by a pattern of letters, as Megatron-Core's `--hybrid-layer-pattern` does
/// (megatron/core/models/hybrid/hybrid_layer_allocation.py): one letter a sublayer, `|` between
/// pipeline chunks, and behind each `/` the sublayers of a depth of multi-token prediction.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/shape/layer_kind.hpp"

namespace prequel {

struct LayerPattern {
  std::vector<LayerKind> layers;
  std::vector<std::int64_t> chunks;   ///< layers of each pipeline chunk; one where no bar is
  std::vector<LayerKind> next_token;  ///< sublayers of a depth of multi-token prediction
  std::int64_t depths{};              ///< of multi-token prediction
};

/// Reads a pattern, or returns what is wrong with it.
std::variant<LayerPattern, std::string> parse_layer_pattern(const std::string& letters);

/// The letters of these layers; empty where one of them has no letter.
std::string pattern_letters(const std::vector<LayerKind>& layers);

}  // namespace prequel
