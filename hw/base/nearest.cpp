#include "hw/base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <tuple>
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

bool begins(std::string_view word, std::string_view name) {
  return name.starts_with(word);
}

/// "h100" of "dgx-h100".
bool is_part_of(std::string_view word, std::string_view name) {
  return ("-" + std::string(name) + "-").find("-" + std::string(word) + "-") != std::string::npos;
}

/// "llama-70b" of "llama-3-70b".
bool has_all_words(std::string_view words, std::string_view name) {
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find('-', begin), words.size());
    if (!is_part_of(words.substr(begin, end - begin), name)) return false;
    begin = end + 1;
  }
  return true;
}

/// The candidates of which `is_named` holds: those that begin with the word first, of them the
/// shortest.
std::vector<std::string> named_with(std::string_view word,
                                    const std::vector<std::string>& candidates,
                                    bool (*is_named)(std::string_view, std::string_view)) {
  std::vector<std::string> named;
  if (word.size() < kLeastBeginning) return named;
  std::ranges::copy_if(candidates, std::back_inserter(named),
                       [&](const std::string& name) { return is_named(word, name); });
  std::ranges::sort(named, {}, [&](const std::string& name) {
    return std::tuple(!begins(word, name), name.size(), name);
  });
  if (named.size() > kMostNamed) named.resize(kMostNamed);
  return named;
}

/// ` (did you mean "x", "y"?)`, or the empty text.
std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(in_quotes(name));
  return quoted.empty() ? std::string()
                        : fmt::format(" (did you mean {}?)", fmt::join(quoted, ", "));
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
  // Who knows a part of a name gets those that have it, and who knows how one begins those that
  // begin so; but for that, what is spelt nearly so.
  for (const auto is_named : {is_part_of, has_all_words}) {
    if (std::string named = listed(named_with(word, candidates, is_named)); !named.empty()) {
      return named;
    }
  }
  if (const auto meant = nearest(word, candidates)) {
    return " (did you mean " + in_quotes(*meant) + "?)";
  }
  return listed(named_with(word, candidates, begins));
}

}  // namespace prequel
