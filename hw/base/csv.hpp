#pragma once

/// Reads comma-separated tables (RFC 4180: quoted cells, doubled quotes, CRLF, UTF-8 with or
/// without byte-order mark) with a header line, one row at a time in constant memory.

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// One row; cells in the order of the header.
struct CsvRow {
  std::size_t line{};  ///< where the row begins, counted from 1
  std::vector<std::string> cells;
};

/// A table being read. Throws InputError with file and line on a broken table: no header, an
/// open quote at the end, text after a closing quote, more than 4,096 columns, a row of more than
/// 1 MiB, a repeated or empty column name, NUL bytes. A row with too few or too many cells is the
/// reader's to judge: `CsvRow::cells` has what there is.
class CsvReader {
 public:
  CsvReader(std::istream& in, std::string_view file);

  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  /// Index of a column, if the table has it.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
  /// The next row that is not blank, or nothing at the end.
  std::optional<CsvRow> next();

 private:
  bool read_record(CsvRow& row);
  [[noreturn]] void fail(std::size_t line, const std::string& why) const;

  std::istream& in_;
  std::string file_;
  std::size_t line_{0};
  std::vector<std::string> columns_;
};

/// `cell` as it must stand in a CSV file (quoted where it has to be).
std::string csv_quoted(std::string_view cell);

/// The number that a cell holds; nothing if it is not one whole finite decimal number.
std::optional<double> parse_number(std::string_view text);
std::optional<long long> parse_integer(std::string_view text);

}  // namespace prequel
