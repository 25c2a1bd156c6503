#pragma once

/// Values of axes as JSON and tables write them.

#include <algorithm>
#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axes.hpp"

namespace prequel {

template <Worded Enum>
constexpr std::span<const std::string_view> words(const Domain<Enum>& domain) {
  return std::span(kWordsOf<Enum>).first(domain.words);
}

/// The values of a list: words between commas, blanks or pluses, `none`, or what an empty one is
/// called; nothing where one is no word of it.
template <Worded Enum>
std::optional<WordSet<Enum>> of_cell(const std::string& cell,
                                     const Domain<WordSet<Enum>>& /*domain*/) {
  WordSet<Enum> set;
  if (cell == "none") return kNoneOf<Enum>;
  if (cell == kEmptyWord<Enum>) return set;
  for (std::size_t begin = 0; begin <= cell.size();) {
    const std::size_t end = std::min(cell.find_first_of(", +", begin), cell.size());
    if (end > begin) {
      const auto value = named<Enum>(std::string_view(cell).substr(begin, end - begin));
      if (!value) return std::nullopt;
      set.add(*value);
    }
    begin = end + 1;
  }
  return set;
}

/// Describes the cells of the domain for messages: "a whole number from 1 to 8".
inline std::string expected(const Domain<std::int64_t>& domain) {
  return fmt::format("a whole number from {} to {}", domain.least, domain.most);
}
inline std::string expected(const Domain<double>& domain) {
  return fmt::format("a number from {} to {}", domain.least, domain.most);
}
inline std::string expected(const Domain<bool>& /*domain*/) {
  return "one of 0, 1";
}
inline std::string expected(const Domain<std::string>& /*domain*/) {
  return "text";
}
template <Worded Enum>
std::string expected(const Domain<Enum>& domain) {
  return fmt::format("one of {}", fmt::join(words(domain), ", "));
}
template <Worded Enum>
std::string expected(const Domain<WordSet<Enum>>& /*domain*/) {
  const std::string_view empty = kEmptyWord<Enum>;
  return fmt::format("none{}{} or some of {}", empty == "none" ? "" : ", ",
                     empty == "none" ? "" : empty, fmt::join(kWordsOf<Enum>, ", "));
}

/// Reads the value in a file; a wrong one is a problem of the document.
inline std::int64_t read_value(const Cursor& cursor, const Domain<std::int64_t>& domain) {
  return cursor.integer(domain.least, domain.most);
}
inline bool read_value(const Cursor& cursor, const Domain<bool>& /*domain*/) {
  return cursor.boolean();
}
inline double read_value(const Cursor& cursor, const Domain<double>& domain) {
  return cursor.number({domain.least, domain.most});
}
inline std::string read_value(const Cursor& cursor, const Domain<std::string>& /*domain*/) {
  return cursor.text();
}
template <Worded Enum>
WordSet<Enum> read_value(const Cursor& cursor, const Domain<WordSet<Enum>>& domain) {
  WordSet<Enum> set;
  if (cursor.is_array()) {
    for (const Cursor& item : cursor.items()) set.add(item.word<Enum>());
    return set;
  }
  const std::string text = cursor.text();
  const auto said = of_cell(text, domain);
  if (!said) cursor.problem(fmt::format("expected {}, got {}", expected(domain), in_quotes(text)));
  return said.value_or(set);
}
template <Worded Enum>
Enum read_value(const Cursor& cursor, const Domain<Enum>& domain) {
  return static_cast<Enum>(cursor.choice(words(domain)));
}

/// The cell of a table.
inline std::string cell_of(std::int64_t value) {
  return std::to_string(value);
}
inline std::string cell_of(double value) {
  return fmt::format("{}", value);
}
inline std::string cell_of(const std::string& value) {
  return value;
}
template <Worded Enum>
std::string cell_of(const WordSet<Enum>& set) {
  if (set == kNoneOf<Enum>) return "none";
  std::string text;
  for (const Enum value : all_of<Enum>()) {
    if (set.has(value)) text += fmt::format("{}{}", text.empty() ? "" : " ", name(value));
  }
  return text.empty() ? std::string(kEmptyWord<Enum>) : text;
}
inline std::string cell_of(bool value) {
  return value ? "1" : "0";
}
template <Worded Enum>
std::string cell_of(Enum value) {
  return std::string(name(value));
}

/// Returns the value that a cell says; nothing where it is not in the domain.
inline std::optional<std::int64_t> of_cell(const std::string& cell,
                                           const Domain<std::int64_t>& domain) {
  const auto value = parse_integer(cell);
  return value && *value >= domain.least && *value <= domain.most ? value : std::nullopt;
}
inline std::optional<double> of_cell(const std::string& cell, const Domain<double>& domain) {
  const auto value = parse_number(cell);
  return value && *value >= domain.least && *value <= domain.most ? value : std::nullopt;
}
inline std::optional<std::string> of_cell(const std::string& cell,
                                          const Domain<std::string>& /*domain*/) {
  return cell;
}
inline std::optional<bool> of_cell(const std::string& cell, const Domain<bool>& /*domain*/) {
  return cell == "1" ? std::optional(true) : cell == "0" ? std::optional(false) : std::nullopt;
}
template <Worded Enum>
std::optional<Enum> of_cell(const std::string& cell, const Domain<Enum>& domain) {
  const auto value = named<Enum>(cell);
  return value && static_cast<std::size_t>(*value) < domain.words ? value : std::nullopt;
}

}  // namespace prequel
