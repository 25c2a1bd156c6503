#include "cli/flags/value_lists.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostValues = 10000;  // of one axis

/// Returns the value of a flag as a job writes it.
std::string job_value(const std::string& text) {
  return text == "on" ? "true" : text == "off" ? "false" : text;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::int64_t> whole_numbers(const std::string& flag, const std::string& text,
                                        std::int64_t least, std::int64_t most) {
  const auto fail = [&](const std::string& why) {
    throw InputError(fmt::format("{} {}: {}", flag, printable(text), why));
  };
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text, ',')) {
    std::vector<std::int64_t> bounds;
    for (const std::string& number : split(part, ':')) {
      const auto value = parse_integer(number);
      if (!value) fail("expected whole numbers such as 1,2,4 or ranges such as 8:64:8");
      if (*value < least || *value > most) {
        fail(fmt::format("{} is not from {} to {}", *value, least, most));
      }
      bounds.push_back(*value);
    }
    const std::int64_t step = bounds.size() > 2 ? bounds[2] : 1;
    if (bounds.size() > 3 || step < 1) fail("expected FIRST:LAST or FIRST:LAST:STEP");
    for (std::int64_t value = bounds[0]; value <= bounds[bounds.size() > 1 ? 1 : 0];
         value += step) {
      values.push_back(value);
      if (values.size() > kMostValues) fail(fmt::format("more than {} values", kMostValues));
    }
    if (bounds.size() > 1 && bounds[1] < bounds[0]) fail("the range ends before it begins");
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

PlanRequest read_layout(const std::string& flag, const std::string& text) {
  const std::string from = flag + " " + printable(text);
  Document document = Document::from(flag, nlohmann::json::object());
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos || part.find('.') < equals) {
      throw InputError(from + ": expected axes with values, such as tp=8,pp=12");
    }
    std::string axis = part.substr(0, equals);
    std::ranges::replace(axis, '-', '_');
    if (document.json().contains(axis)) throw InputError(from + ": " + axis + " is said twice");
    document.set(axis, job_value(part.substr(equals + 1)), printable(part));
  }
  PlanRequest layout = read_plan(document.root());
  document.finish();
  return layout;
}

}  // namespace prequel
