#include "cli/text/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace prequel {

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  bool escape = false;  // inside "\033[…m"
  for (const char c : text) {
    if (c == '\033') escape = true;
    if (!escape && (static_cast<unsigned char>(c) & 0xC0) != 0x80) ++width;
    if (c == 'm') escape = false;
  }
  return width;
}

TextTable TextTable::of(const std::vector<TextColumn>& columns) {
  TextTable table(std::vector<std::string>{});
  for (const TextColumn& column : columns) {
    table.rows_.resize(column.cells.size() + 1);
    table.rows_.front().push_back(column.name);
    for (std::size_t i = 0; i < column.cells.size(); ++i) {
      table.rows_[i + 1].push_back(column.cells[i]);
    }
  }
  return table;
}

std::string TextTable::text(std::size_t width, const std::string& indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string out;
  for (std::size_t first = 1; first == 1 || first < widths.size();) {
    std::size_t last = first;  // behind the columns that fit, at least one
    std::size_t used = indent.size() + (widths.empty() ? 0 : widths[0]);
    while (last < widths.size() &&
           (width == 0 || last == first || used + 2 + widths[last] <= width)) {
      used += 2 + widths[last++];
    }
    for (const auto& row : rows_) {
      std::string line = indent;
      for (std::size_t i = 0; i < std::min(last, row.size()); i = i == 0 ? first : i + 1) {
        const std::string padding(widths[i] - display_width(row[i]), ' ');
        if (i > 0) line += "  ";
        line += i == 0 ? row[i] + padding : padding + row[i];
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    first = std::max(last, first + 1);
  }
  return out;
}

std::string bar(double share, int width) {
  static constexpr std::array<const char*, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 8 * width));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[static_cast<std::size_t>(eighths % 8)];
}

std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::string out, line;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      out += line + "\n";
      line = indent + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
    begin = end + 1;
  }
  return out + line;
}

}  // namespace prequel
