#pragma once

/// Chooses rows of a table: `--where COLUMN=VALUE`, `--where COLUMN!=VALUE`.

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readings/measurement.hpp"

namespace prequel {

struct RowFilter {
  std::string column;
  std::string pattern;  ///< `*` stands for any text
  bool negated{false};
};

/// Throws InputError that shows the form when `text` is not of it.
RowFilter parse_row_filter(std::string_view text);

/// Tests whether the row meets all filters; a row without the column has an empty cell there.
bool meets(const Fields& fields, const std::vector<RowFilter>& filters);

/// Tests whether `text` is of the pattern, in which `*` stands for any text.
bool matches(std::string_view text, std::string_view pattern);

}  // namespace prequel
