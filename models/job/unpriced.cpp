#include "models/job/unpriced.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

constexpr std::string_view kOff[] = {"none", "null", "false", "no", "off", "0", "0.0", "[]", "~"};

/// Returns whether a text fits a pattern, in which `*` stands for any letters.
bool fits(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at) {
    if (fits(rest, text.substr(at))) return true;
  }
  return false;
}

bool fits_one(const std::vector<std::string>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& pattern) { return fits(pattern, text); });
}

std::string plain_name(std::string_view name) {
  if (name.starts_with("--")) name.remove_prefix(2);
  name = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  std::string plain = lower_case(std::string(name));
  std::ranges::replace(plain, '-', '_');
  return plain;
}

std::vector<std::string> texts(const Cursor& row, const char* key) {
  std::vector<std::string> found;
  if (const auto list = row.find(key)) {
    for (const Cursor& item : list->items()) found.push_back(item.text());
  }
  return found;
}

}  // namespace

const UnpricedRow* asked_for(const std::vector<UnpricedRow>& rows, std::string_view name,
                             std::string_view value, NameSource source) {
  const std::string plain = plain_name(name);
  const std::string said = lower_case(std::string(value));
  if (std::ranges::find(kOff, said) != std::end(kOff)) return nullptr;
  for (const UnpricedRow& row : rows) {
    if (!fits_one(row.names, plain)) continue;
    const bool meant = !(row.sizes && source == NameSource::dump) &&
                       !(row.flags && source == NameSource::config) &&
                       !fits_one(row.unless, said) &&
                       (row.only.empty() || fits_one(row.only, said));
    return meant ? &row : nullptr;
  }
  return nullptr;
}

bool is_named(const std::vector<UnpricedRow>& rows, std::string_view name) {
  return std::ranges::any_of(rows, [plain = plain_name(name)](const UnpricedRow& row) {
    return fits_one(row.names, plain);
  });
}

std::string unpriced_text(const UnpricedRow& row) {
  return fmt::format(
      "asks for {}, which prequel does not price yet; without it, the answer would "
      "be of another training",
      row.what);
}

std::vector<UnpricedRow> read_unpriced(const Document& file) {
  const Cursor root = file.root();
  expect_schema(root, "prequel/unpriced/1");
  (void)root.find("origin");
  std::vector<UnpricedRow> rows;
  for (const Cursor& item : root.at("rows").items()) {
    UnpricedRow row;
    row.what = item.at("what").text();
    row.names = texts(item, "names");
    row.unless = texts(item, "unless");
    row.only = texts(item, "only");
    if (const auto sizes = item.find("sizes")) row.sizes = sizes->boolean();
    if (const auto flags = item.find("flags")) row.flags = flags->boolean();
    rows.push_back(std::move(row));
  }
  file.finish();
  return rows;
}

}  // namespace prequel
