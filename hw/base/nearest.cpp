#include "hw/base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLeastBeginning = 2;  // letters that say something about a name
constexpr std::size_t kMostNamed = 4;

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of two
/// neighbours that make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto distance = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return table[i * width + j];  // of the first i letters of `a` to the first j of `b`
  };
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t i = 0; i <= a.size(); ++i) distance(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t best = distance(i - 1, j - 1) + (same(i - 1, j - 1) ? 0 : 1);
      best = std::min({best, distance(i - 1, j) + 1, distance(i, j - 1) + 1});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        best = std::min(best, distance(i - 2, j - 2) + 1);
      }
      distance(i, j) = best;
    }
  }
  return distance(a.size(), b.size());
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (word.empty()) return std::nullopt;
  std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > limit) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < limit || (distance == limit && best == nullptr)) {
      limit = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  if (const auto meant = nearest(word, candidates)) {
    return " (did you mean " + in_quotes(*meant) + "?)";
  }
  // Who knows how a name begins gets those that begin so, the shortest first.
  std::vector<std::string> begun;
  for (const std::string& candidate : candidates) {
    if (word.size() >= kLeastBeginning && candidate.starts_with(word)) {
      begun.push_back(in_quotes(candidate));
    }
  }
  if (begun.empty()) return "";
  std::ranges::sort(begun, {},
                    [](const std::string& name) { return std::pair(name.size(), name); });
  if (begun.size() > kMostNamed) begun.resize(kMostNamed);
  return " (did you mean " + fmt::format("{}", fmt::join(begun, ", ")) + "?)";
}

}  // namespace prequel
