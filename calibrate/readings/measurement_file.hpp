#pragma once

/// Reads files of measured kernels and collectives, whatever wrote them.

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readings/measurement.hpp"

namespace prequel {

/// Reads a CSV table (data README of the columns: `m,n,k,dtype,…,time_us`,
/// `op,ranks,nodes,bytes,time_us`, …), a measurement file (JSON Lines, schema
/// prequel/measurement/1), or a log of nccl-tests (text or JSON); which one is seen from the
/// content. Throws InputError when the file cannot be read or holds no sound point.
MeasurementFile read_measurements(const std::string& path);

/// The same of several files, one after another.
MeasurementFile read_measurements(const std::vector<std::string>& paths);

/// Rows that `--where COLUMN=VALUE` or `--where COLUMN!=VALUE` keeps.
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
