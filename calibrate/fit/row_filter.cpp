#include "calibrate/fit/row_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {

RowFilter parse_row_filter(std::string_view text) {
  const auto equals = text.find('=');
  const bool negated = equals != std::string_view::npos && equals > 0 && text[equals - 1] == '!';
  const std::string_view column =
      equals == std::string_view::npos ? "" : text.substr(0, equals - (negated ? 1 : 0));
  if (column.empty()) {
    throw InputError(
        "where", fmt::format("expected COLUMN=VALUE or COLUMN!=VALUE (with * for any text), got {}",
                             in_quotes(text)));
  }
  return {std::string(column), std::string(text.substr(equals + 1)), negated};
}

bool matches(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool meets(const Fields& fields, const std::vector<RowFilter>& filters) {
  return std::all_of(filters.begin(), filters.end(), [&](const RowFilter& filter) {
    const auto found = fields.find(filter.column);
    const std::string_view cell = found == fields.end() ? "" : std::string_view(found->second);
    return matches(cell, filter.pattern) != filter.negated;
  });
}

}  // namespace prequel
