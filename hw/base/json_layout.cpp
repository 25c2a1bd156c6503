#include "hw/base/json_layout.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace prequel {
namespace {

using nlohmann::ordered_json;

std::string on_one_line(const ordered_json& value) {
  std::string text;
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      text += text.empty() ? "{ " : ", ";
      text += ordered_json(key).dump();
      text += ": ";
      text += on_one_line(member);
    }
    text += text.empty() ? "{}" : " }";
    return text;
  }
  if (value.is_array()) {
    for (const ordered_json& element : value) {
      text += text.empty() ? "[" : ", ";
      text += on_one_line(element);
    }
    text += text.empty() ? "[]" : "]";
    return text;
  }
  return value.dump();
}

/// `lead` is what stands before the value on its line, the comma after it included.
void lay_out(const ordered_json& value, std::size_t indent, std::size_t lead, std::size_t width,
             std::string& text) {
  const std::string one = on_one_line(value);
  const bool fits = indent > 0 && indent + lead + one.size() <= width;
  if (!value.is_structured() || value.empty() || fits) {
    text += one;
    return;
  }
  const std::string pad(indent + 2, ' ');
  text += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    text += first ? "\n" : ",\n";
    first = false;
    const std::string name = value.is_object() ? ordered_json(key).dump() + ": " : "";
    text += pad;
    text += name;
    lay_out(member, indent + 2, name.size() + 1, width, text);
  }
  text += '\n';
  text.append(indent, ' ');
  text += value.is_object() ? '}' : ']';
}

}  // namespace

std::string laid_out(const ordered_json& value, std::size_t width) {
  std::string text;
  lay_out(value, 0, 0, width, text);
  text += '\n';
  return text;
}

double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

}  // namespace prequel
