#include "cli/import/shell/shell_text.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kLongestMatched = 256;  // of a value that a pattern is held against
constexpr std::size_t kMostValues = 256;      // of an array

/// Without the shortest or the longest begin, or end, that the pattern matches.
std::optional<std::string> trimmed_by(std::string_view value, std::string_view pattern,
                                      bool at_front, bool longest) {
  if (pattern.find_first_of("*?[\\@+!(") == kNone) {  // a word, of texts of any length
    const bool there = at_front ? value.starts_with(pattern) : value.ends_with(pattern);
    const std::size_t cut = there ? pattern.size() : 0;
    return std::string(value.substr(at_front ? cut : 0, value.size() - cut));
  }
  if (value.size() > kLongestMatched || pattern.size() > kLongestMatched) return std::nullopt;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const std::size_t length = longest ? value.size() - i : i;
    const std::string_view piece =
        at_front ? value.substr(0, length) : value.substr(value.size() - length);
    const auto match = fits_pattern(piece, pattern);
    if (!match) return std::nullopt;
    if (!*match) continue;
    return std::string(at_front ? value.substr(length) : value.substr(0, value.size() - length));
  }
  return std::string(value);
}

std::optional<std::string> replaced(std::string_view value, std::string_view change) {
  const bool all = change.starts_with("//");
  const std::string_view rest = change.substr(all ? 2 : 1);
  const std::size_t middle = rest.find('/');
  const std::string_view from = rest.substr(0, middle);
  const std::string_view to = middle == kNone ? std::string_view() : rest.substr(middle + 1);
  if (from.empty() || from.find_first_of("*?[#%\\") != kNone || value.size() > kLongestMatched) {
    return std::nullopt;
  }
  std::string result(value);
  for (std::size_t at = result.find(from); at != kNone; at = result.find(from, at)) {
    result.replace(at, from.size(), to);
    at += to.size();
    if (!all) break;
  }
  return result;
}

std::optional<std::string> piece_of(std::string_view value, std::string_view change) {
  const std::size_t middle = change.find(':', 1);
  const auto begin = parse_integer(trimmed(change.substr(1, middle - 1)));
  const auto length = middle == kNone ? std::optional(static_cast<long long>(value.size()))
                                      : parse_integer(trimmed(change.substr(middle + 1)));
  if (!begin || !length || *begin < 0 || *length < 0) return std::nullopt;
  const auto from = std::min(static_cast<std::size_t>(*begin), value.size());
  return std::string(value.substr(from, static_cast<std::size_t>(*length)));
}

/// Where the next ` [name]=` of an array begins.
std::size_t next_name(std::string_view value, std::size_t at) {
  for (at = value.find(" [", at); at != kNone; at = value.find(" [", at + 1)) {
    const std::size_t close = value.find_first_of("] ", at + 2);
    if (close != kNone && value.substr(close, 2) == "]=") return at;
  }
  return value.size();
}

/// Returns an element of an array, which is kept as its words: `[1]`, or of one with names, `[7B]`.
std::optional<std::string> element(std::string_view value, std::string_view change) {
  if (!change.ends_with(']')) return std::nullopt;
  std::string key(change.substr(1, change.size() - 2));
  std::erase_if(key, [](char c) { return c == '"' || c == '\''; });
  if (key == "@" || key == "*") return std::string(value);
  const std::string named = " [" + key + "]=";
  const std::string words = " " + std::string(value);
  if (const std::size_t at = words.rfind(named); at != kNone) {
    const std::size_t begin = at + named.size();
    return with_blanks(std::string(
        trimmed(std::string_view(words).substr(begin, next_name(words, begin) - begin))));
  }
  const auto number = parse_integer(key);
  std::istringstream each{std::string(value)};
  std::string word;
  for (std::size_t i = 0; i < kMostValues && number && each >> word; ++i) {
    if (word.starts_with('[')) return std::nullopt;
    if (static_cast<std::size_t>(*number) == i) return with_blanks(word);
  }
  return std::nullopt;
}

}  // namespace

bool is_shell_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_name_letter);
}

std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_name_letter(text[length])) ++length;
  return length;
}

/// The length of the name in front of `LAYERS=32` and `LAYERS+=32`; 0 for other words.
std::size_t assigned_length(std::string_view word) {
  const std::size_t length = name_length(word);
  const std::string_view rest = word.substr(length);
  return rest.starts_with('=') || rest.starts_with("+=") ? length : 0;
}

/// `LAYERS[7B]=32`, which arrays keep as their words.
bool is_element(std::string_view word) {
  const std::size_t length = name_length(word);
  return length > 0 && word.substr(length, 1) == "[" &&
         word.find("]=", length) != std::string_view::npos;
}

std::string with_blanks(std::string text) {
  std::ranges::replace(text, kBlankInside, ' ');
  return text;
}

bool is_list(std::string_view word) {
  return word == "\"$@\"" || word == "\"${@}\"" ||
         (word.starts_with("\"${") && word.ends_with("[@]}\"") &&
          is_variable_name(word.substr(3, word.size() - 8)));
}

void split_words(std::string_view text, std::vector<std::string>& words) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && !is_shell_blank(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    if (!word.empty() && word != "\\") words.emplace_back(word);  // a line that goes on
    while (at < text.size() && is_shell_blank(text[at])) ++at;
  }
}

std::string in_one_line(std::span<const std::string> words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::optional<std::string> option_value(const std::vector<std::string>& command,
                                        std::string_view name) {
  const std::string start = std::string(name) + (name.starts_with("--") ? "=" : "");
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == name && i + 1 < command.size()) return command[i + 1];
    if (command[i].starts_with(start) && command[i].size() > start.size()) {
      return command[i].substr(start.size());
    }
  }
  return std::nullopt;
}

std::optional<bool> fits_pattern(std::string_view text, std::string_view pattern) {
  if (pattern.find_first_of("[\\@+!(") != kNone || text.size() > kLongestMatched ||
      pattern.size() > kLongestMatched) {
    return std::nullopt;
  }
  std::size_t at = 0;
  std::size_t sign = 0;
  std::size_t star = kNone;  // the last one, and where what it stands for ends
  std::size_t star_end = 0;
  while (at < text.size()) {
    if (sign < pattern.size() && pattern[sign] == '*') {
      star = sign++;
      star_end = at;
    } else if (sign < pattern.size() && (pattern[sign] == '?' || pattern[sign] == text[at])) {
      ++sign;
      ++at;
    } else if (star != kNone) {
      sign = star + 1;
      at = ++star_end;
    } else {
      return false;
    }
  }
  while (sign < pattern.size() && pattern[sign] == '*') ++sign;
  return sign == pattern.size();
}

std::optional<std::string> changed(std::string_view value, std::string_view change) {
  if (change.empty()) return std::string(value);
  if (change.starts_with('[')) return element(value, change);
  if (change.starts_with('#') || change.starts_with('%')) {
    const bool longest = change.size() > 1 && change[1] == change[0];
    return trimmed_by(value, change.substr(longest ? 2 : 1), change[0] == '#', longest);
  }
  if (change.starts_with('/')) return replaced(value, change);
  if (change.starts_with(':')) return piece_of(value, change);
  std::string result(value);
  const auto turn = [&](int (*letter)(int), bool all) {
    const auto end = all || result.empty() ? result.end() : result.begin() + 1;
    std::transform(result.begin(), end, result.begin(),
                   [letter](unsigned char c) { return static_cast<char>(letter(c)); });
  };
  if (change == ",," || change == ",") {
    turn(std::tolower, change.size() == 2);
  } else if (change == "^^" || change == "^") {
    turn(std::toupper, change.size() == 2);
  } else {
    return std::nullopt;
  }
  return result;
}

}  // namespace prequel
