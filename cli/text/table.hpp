#pragma once

/// Aligned tables and small charts in plain text.

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace prequel {

/// A column, with a cell for each row.
struct TextColumn {
  std::string name;
  std::vector<std::string> cells;
  bool is_setting{};  ///< may be told above the table where it is the same in all rows
  bool may_go{};      ///< left out where the terminal is too narrow
};

/// Rows of cells under a header; the first column is aligned left, the others right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  static TextTable of(const std::vector<TextColumn>& columns);
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Adds a row of texts and whole numbers.
  template <class... Cells>
  void row(const Cells&... cells) {
    add({cell(cells)...});
  }
  /// All rows, each beginning with `indent` and ending with a line break. Columns that do not fit
  /// into `width` (0: any) stand below, again after the first column.
  [[nodiscard]] std::string text(std::size_t width = 0, const std::string& indent = "  ") const;

 private:
  static std::string cell(std::string_view text) { return std::string(text); }
  static std::string cell(std::integral auto number) { return std::to_string(number); }

  std::vector<std::vector<std::string>> rows_;
};

/// A bar of `width` characters at most, in eighths of a character; `share` from 0 to 1.
std::string bar(double share, int width);

/// Characters that a terminal shows for UTF-8 text with colours (combining marks not considered).
std::size_t display_width(const std::string& text);

/// `text` broken at blanks so that no line is longer than `width`; later lines get `indent`.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent);

}  // namespace prequel
