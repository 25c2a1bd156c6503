#include "cli/import/configs/config_values.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <toml++/toml.h>
#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/walk_budget.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestToml = 1u << 20;

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

/// Returns a value as a tree; dates are empty texts.
ConfigTree tree_of(const toml::node& node, WalkBudget& budget) {
  const auto level = budget.deeper();
  ConfigTree tree = "";
  if (const auto* table = node.as_table()) {
    tree = ConfigTree::object();
    auto& members = tree.get_ref<ConfigTree::object_t&>();
    for (const auto& [name, value] : *table) {
      members.emplace_back(std::string(name.str()), tree_of(value, budget));
    }
  } else if (const auto* items = node.as_array()) {
    tree = ConfigTree::array();
    for (const toml::node& item : *items) tree.push_back(tree_of(item, budget));
  } else if (const auto text = node.value_exact<std::string>()) {
    tree = *text;
  } else if (const auto whole = node.value_exact<std::int64_t>()) {
    tree = std::to_string(*whole);
  } else if (const auto number = node.value_exact<double>()) {
    tree = fmt::format("{}", *number);
  } else if (const auto flag = node.value_exact<bool>()) {
    tree = *flag ? "true" : "false";
  }
  return tree;
}

}  // namespace

ConfigTree toml_tree(const std::string& file, std::string_view text) {
  if (text.size() > kLongestToml) throw InputError(file + ": TOML of over 1 MiB");
  try {
    refuse_deep_keys(file, text);
    WalkBudget budget(file + ": TOML");
    return tree_of(toml::parse(text), budget);
  } catch (const toml::parse_error& problem) {
    throw InputError(fmt::format("{}: not TOML: line {}: {}", file, problem.source().begin.line,
                                 printable(problem.description())));
  }
}

}  // namespace prequel
