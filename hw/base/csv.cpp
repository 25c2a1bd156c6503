#include "hw/base/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ios>
#include <istream>
#include <streambuf>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMaxColumns = 4096;
constexpr std::size_t kMaxRecordBytes = 1u << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(const CsvRow& row) {
  return row.cells.size() == 1 && trimmed(row.cells[0]).empty();
}

/// The number that fills all of `text`, blanks around it aside.
template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

CsvReader::CsvReader(std::istream& in, std::string_view file)
    : in_(in), file_(printable(file, 4096)) {
  CsvRow header;
  do {
    if (!read_record(header)) throw InputError(file_ + ": empty; expected a header line");
  } while (is_blank(header));
  for (const std::string& cell : header.cells) {
    const std::string name(trimmed(cell));
    if (name.empty()) {
      fail(header.line, fmt::format("column {} has no name", columns_.size() + 1));
    }
    if (column(name)) fail(header.line, fmt::format("column {} is there twice", in_quotes(name)));
    columns_.push_back(name);
  }
}

std::optional<std::size_t> CsvReader::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::optional<CsvRow> CsvReader::next() {
  CsvRow row;
  do {
    if (!read_record(row)) return std::nullopt;
  } while (is_blank(row));
  return row;
}

void CsvReader::fail(std::size_t line, const std::string& why) const {
  throw InputError(fmt::format("{}: line {}: {}", file_, line, why));
}

/// Reads one record, which a quoted cell may stretch over several lines; false at the end.
bool CsvReader::read_record(CsvRow& row) try {
  using Traits = std::streambuf::traits_type;
  enum class At { kCellStart, kPlain, kQuoted, kAfterQuote };

  std::streambuf& in = *in_.rdbuf();
  if (Traits::eq_int_type(in.sgetc(), Traits::eof())) return false;
  row.line = ++line_;
  row.cells.assign(1, {});
  At at = At::kCellStart;
  for (std::size_t bytes = 0;; ++bytes) {
    if (bytes > kMaxRecordBytes) fail(row.line, "a line of more than 1 MiB");
    const auto read = in.sbumpc();
    if (Traits::eq_int_type(read, Traits::eof())) {
      if (at == At::kQuoted) fail(row.line, "a quote is opened and never closed");
      return true;
    }
    const char letter = Traits::to_char_type(read);
    if (letter == '\0') fail(line_, "a NUL byte; expected UTF-8 text");
    std::string& cell = row.cells.back();
    if (at == At::kQuoted) {
      if (letter == '"') {
        at = At::kAfterQuote;
      } else {
        if (letter == '\n') ++line_;
        cell += letter;
      }
    } else if (letter == '"' && at == At::kAfterQuote) {  // a doubled quote stands for one
      cell += letter;
      at = At::kQuoted;
    } else if (letter == '"' && at == At::kCellStart) {
      at = At::kQuoted;
    } else if (letter == ',') {
      if (row.cells.size() == kMaxColumns) fail(row.line, "more than 4096 columns");
      row.cells.emplace_back();
      at = At::kCellStart;
    } else if (letter == '\n') {
      return true;
    } else if (letter == '\r') {
      if (Traits::eq_int_type(in.sgetc(), Traits::to_int_type('\n'))) in.sbumpc();
      return true;
    } else if (at == At::kAfterQuote) {
      fail(line_, "text after a closing quote; expected a comma");
    } else {
      cell += letter;
      at = At::kPlain;
      if (line_ == 1 && row.cells.size() == 1 && cell == kByteOrderMark) {
        cell.clear();
        at = At::kCellStart;
      }
    }
  }
} catch (const std::ios_base::failure&) {
  throw InputError(file_ + ": cannot be read");
}

std::string csv_quoted(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos && trimmed(cell) == cell) {
    return std::string(cell);
  }
  std::string out = "\"";
  for (const char letter : cell) {
    if (letter == '"') out += '"';
    out += letter;
  }
  return out + '"';
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<long long> parse_integer(std::string_view text) {
  return parse_whole<long long>(text);
}

}  // namespace prequel
