#include "hw/base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLeastBeginning = 2;  // letters that say something about a name
constexpr std::size_t kMostNamed = 4;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

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

/// The parts of a name with numbers: "llama-3.1-70b" is a llama of generation 3.1 with 70 billion.
struct NumberedName {
  std::vector<std::string> words;  ///< in small letters
  std::optional<double> generation, size;

  bool operator==(const NumberedName&) const = default;
};

/// Returns the billions that the letter behind a number stands for; 0 where it is no unit.
double unit_at(std::string_view name, std::size_t at) {
  if (at >= name.size()) return 0;
  if (at + 1 < name.size() && (is_letter(name[at + 1]) || is_digit(name[at + 1]))) return 0;
  const char unit = lower(name[at]);
  return unit == 'b' ? 1 : unit == 'm' ? 1e-3 : unit == 't' ? 1e3 : 0;
}

NumberedName numbered(std::string_view name) {
  NumberedName parts;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t begin = at;
    if (is_letter(name[at])) {
      while (at < name.size() && is_letter(name[at])) ++at;
      std::string word(name.substr(begin, at - begin));
      std::ranges::transform(word, word.begin(), lower);
      parts.words.push_back(std::move(word));
    } else if (is_digit(name[at])) {
      const auto continues = [&] {
        const bool point = name[at] == '.' && at + 1 < name.size() && is_digit(name[at + 1]);
        return is_digit(name[at]) || point;
      };
      while (at < name.size() && continues()) ++at;
      const auto number = parse_number(std::string(name.substr(begin, at - begin)));
      if (!number) continue;  // 1.2.3
      if (const double unit = unit_at(name, at); unit > 0) {
        if (!parts.size) parts.size = *number * unit;
        ++at;
      } else if (!parts.generation) {
        parts.generation = *number;
      } else if (!parts.size) {
        parts.size = *number;
      }
    } else {
      ++at;
    }
  }
  return parts;
}

double distance_of(double a, double b) {
  return std::max(a, b) - std::min(a, b);
}

/// Tests whether a name goes on behind the word, but not its number: "bloom-176b" of "bloom-176".
bool goes_on(std::string_view word, std::string_view name) {
  return begins(word, name) && name.size() > word.size() && !is_digit(name[word.size()]);
}

/// Returns those of the word's family that are nearest in generation, and then the one that is
/// nearest in size: "llama4-scout" and "llama-3.1-70b" of "llama-4-70b".
std::vector<std::string> named_by_numbers(std::string_view word,
                                          const std::vector<std::string>& candidates) {
  constexpr double kNoSize = 1e9;  // beyond any ratio of sizes
  const NumberedName asked = numbered(word);
  if (asked.words.empty() || (!asked.generation && !asked.size)) return {};
  if (auto named = named_with(word, candidates, goes_on); !named.empty()) return named;
  struct Likeness {
    std::string name;
    NumberedName parts;
    std::ptrdiff_t missing, extra;  ///< words
    double generation, size;        ///< distances
    std::size_t edits;
  };
  std::vector<Likeness> family;
  for (const std::string& name : candidates) {
    NumberedName parts = numbered(name);
    if (parts.words.empty() || parts.words.front() != asked.words.front()) continue;
    const auto absent = [](const NumberedName& from, const NumberedName& in) {
      return std::ranges::count_if(from.words, [&](const std::string& one) {
        return std::ranges::find(in.words, one) == in.words.end();
      });
    };
    double size = asked.size ? kNoSize : 0;
    if (asked.size && parts.size && *asked.size > 0 && *parts.size > 0) {
      size = std::max(*asked.size / *parts.size, *parts.size / *asked.size) - 1;
    }
    const double generation =
        asked.generation ? distance_of(*asked.generation, parts.generation.value_or(1)) : 0;
    family.push_back({name, parts, absent(asked, parts), absent(parts, asked), generation, size,
                      edit_distance(word, name)});
  }
  if (family.empty()) return {};
  const std::ptrdiff_t least = std::ranges::min_element(family, {}, &Likeness::missing)->missing;
  std::erase_if(family, [&](const Likeness& one) { return one.missing > least; });
  const auto by_generation = [](const Likeness& one) {
    return std::tuple(one.generation, one.size, one.extra, one.edits, one.name);
  };
  const auto by_size = [](const Likeness& one) {
    return std::tuple(one.size, one.generation, one.extra, one.edits, one.name);
  };
  std::ranges::sort(family, {}, by_generation);
  std::vector<const Likeness*> chosen;
  const auto choose = [&](const Likeness& one) {
    const auto same = [&](const Likeness* other) { return other->parts == one.parts; };
    if (std::ranges::none_of(chosen, same)) chosen.push_back(&one);
  };
  for (const Likeness& one : family) {
    const Likeness& first = family.front();
    if (one.generation != first.generation || one.size != first.size || chosen.size() == 2) break;
    choose(one);
  }
  choose(*std::ranges::min_element(family, {}, by_size));
  std::vector<std::string> names;
  for (const Likeness* one : chosen) names.push_back(one->name);
  return names;
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
  if (std::string named = listed(named_by_numbers(word, candidates)); !named.empty()) return named;
  if (const auto meant = nearest(word, candidates)) {
    return " (did you mean " + in_quotes(*meant) + "?)";
  }
  return listed(named_with(word, candidates, begins));
}

}  // namespace prequel
