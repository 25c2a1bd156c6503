#pragma once

/// The matrices of a block by the names that other tools give them.

#include <string>

#include "hw/base/words.hpp"
#include "models/axes/axis_words.hpp"

namespace prequel {

/// The targets that a text names, in any order, between blanks, commas or brackets: modules of
/// Hugging Face's models ("q_proj"), Megatron-Core's ("linear_qkv"), torchtune's ("w1" and "w3" are
/// its gate and up) or prequel's own words. A group counts where no module stands beside it; words
/// behind "or" and words that nobody knows do not.
WordSet<AdapterTarget> named_targets(const std::string& text);

}  // namespace prequel
