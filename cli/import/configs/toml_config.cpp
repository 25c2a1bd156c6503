#include "cli/import/configs/config_values.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/walk_budget.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestText = 1u << 20;

/// The text of a number, a word or a switch; empty for tables, lists and dates.
std::string scalar(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  return {};
}

/// Refuses keys of many parts, `[a.a.a.…]`, before toml++ makes a table of each: it bounds the
/// depth of values, not of keys.
void refuse_deep_keys(const std::string& file, std::string_view text) {
  constexpr std::ptrdiff_t kMostParts = 64;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view key = line.substr(0, line.find_first_of("=#"));
    if (std::ranges::count(key, '.') > kMostParts) {
      throw InputError(file + ": TOML nested deeper than 64 levels");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void collect(const toml::node& node, const std::string& path, const ForeignNames& names,
             WalkBudget& budget, ConfigValues& values) {
  const auto level = budget.deeper();
  budget.spend(path.size() + 16);
  if (const auto* table = node.as_table()) {
    for (const auto& [name, value] : *table) {
      std::string key(name.str());
      std::replace(key.begin(), key.end(), '-', '_');
      if (is_other_section(names, key)) continue;
      collect(value, path.empty() ? key : path + "." + key, names, budget, values);
    }
    return;
  }
  std::string value = scalar(node);
  if (const auto* items = node.as_array()) {
    for (const toml::node& item : *items) {
      const std::string word = scalar(item);
      value += (value.empty() || word.empty() ? "" : " ") + word;
    }
  }
  if (!value.empty()) values[path] = value;
}

}  // namespace

void read_toml_config(const std::string& file, std::string_view text, Facts& job) {
  if (text.size() > kLongestText) throw InputError(file + ": TOML of over 1 MiB");
  ConfigValues values;
  try {
    refuse_deep_keys(file, text);
    WalkBudget budget(file + ": TOML");
    collect(toml::parse(text), "", *job.names, budget, values);
  } catch (const toml::parse_error& problem) {
    throw InputError(fmt::format("{}: not TOML: line {}: {}", file, problem.source().begin.line,
                                 printable(problem.description())));
  }
  read_config_values(file, values, job);
  job.set_flag("script");
  job.set_flag("yaml_config");
  job.report.read.push_back(file + ": TOML configuration");
}

}  // namespace prequel
