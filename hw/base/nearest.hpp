#pragma once

/// Finds what a user may have meant.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// The candidate with the smallest edit distance to `word`, if it is near enough to be meant
/// (at most a third of its length, at least 1, upper and lower case alike; two neighbours swapped
/// count as one edit). First one on a tie.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// ` (did you mean "x"?)`, or the empty text: names of which the word is a part ("h100" of
/// "dgx-h100"), else those of its family that are nearest by their numbers ("qwen3-8b" and
/// "qwen2.5-7b" of "qwen3-7b"), else the nearest one, else those that begin with it.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace prequel
