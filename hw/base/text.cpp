#include "hw/base/text.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace prequel {
namespace {

/// Length of the well-formed, visible UTF-8 character at the start of `text`; 0 if there is none.
std::size_t visible_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool outside = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  const bool control = lead == 0xc2 && second < 0xa0;
  return overlong || outside || control ? 0 : length;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string spaced(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = visible_character(text.substr(at));
    if (at + length > limit || at >= limit) return out + "…";
    if (length > 0) {
      out += text.substr(at, length);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    }
    at += length > 0 ? length : 1;
  }
  return out;
}

std::string in_quotes(std::string_view text, std::size_t limit) {
  return '"' + printable(text, limit) + '"';
}

}  // namespace prequel
