#include "cli/import/configs/config_values.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/walk_budget.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestYaml = 1u << 20;

/// Puts what a line has behind `key: !` in quotes; false where it has no such value.
bool quote_value(int line, std::string& text) {
  std::size_t begin = 0;
  for (int i = 0; i < line && begin != std::string::npos; ++i) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (line < 0 || begin == std::string::npos) return false;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  const std::size_t value = text.find(": !", begin);
  if (value == std::string::npos || value >= end) return false;
  std::string word = text.substr(value + 2, end - value - 2);
  std::erase(word, '\'');
  text.replace(value + 2, end - value - 2, "'" + word + "'");
  return true;
}

/// Loads the text. A value left for the user to fill in (`path: !!CHANGETHIS!!`) is read as a word.
YAML::Node loaded(const std::string& file, std::string text, std::vector<std::string>& told) {
  constexpr int kMostMended = 16;  // lines
  for (int mended = 0;; ++mended) {
    try {
      return YAML::Load(text);
    } catch (const YAML::Exception& problem) {
      if (mended == kMostMended || !quote_value(problem.mark.line, text)) throw;
      told.push_back(fmt::format("{}: line {} is not YAML; its value is not read", file,
                                 problem.mark.line + 1));
    }
  }
}

ConfigTree tree_of(const YAML::Node& node, WalkBudget& budget) {
  const auto level = budget.deeper();
  budget.spend(node.IsScalar() ? node.Scalar().size() + 16 : 16);
  if (node.IsScalar()) return node.Scalar();
  ConfigTree tree;
  if (node.IsSequence()) {
    tree = ConfigTree::array();
    for (const auto& item : node) tree.push_back(tree_of(item, budget));
  } else if (node.IsMap()) {
    tree = ConfigTree::object();
    auto& members = tree.get_ref<ConfigTree::object_t&>();
    for (const auto& member : node) {
      if (!member.first.IsScalar()) continue;
      members.emplace_back(member.first.Scalar(), tree_of(member.second, budget));
    }
  }
  return tree;
}

/// The first line that is neither empty nor a comment nor the begin of a document.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    if (!line.empty() && !line.starts_with('#') && line != "---") return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

bool looks_like_yaml(std::string_view text) {
  std::string_view line = first_line(text);
  if (line.starts_with('{') && trimmed(text).starts_with('#')) return !text.starts_with("#!");
  if (line.starts_with('"') || line.starts_with('\'')) line.remove_prefix(1);
  std::size_t length = 0;
  while (length < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[length])) != 0 ||
          std::string_view("_-./$").find(line[length]) != std::string_view::npos)) {
    ++length;
  }
  if (length == 0) return false;
  std::string_view behind = line.substr(length);
  if (behind.starts_with('"') || behind.starts_with('\'')) behind.remove_prefix(1);
  return behind == ":" || behind.starts_with(": ");
}

bool is_neox_config(std::string_view text) {
  for (const std::string_view key : {"pipe-parallel-size", "pipe_parallel_size", "num-layers"}) {
    const std::size_t at = text.find(key);
    const bool flag = at != std::string_view::npos && at > 0 && text[at - 1] == '-';
    if (at != std::string_view::npos && !flag) return true;
  }
  return false;
}

bool is_yaml_in_braces(std::string_view text) {
  char before = '\0';  // the last letter that is neither blank nor in quotes
  bool line_begins = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '#' && line_begins) return true;
    if (c == '}' && before == ',') return true;
    if (before == ':' && (text.substr(at, 4) == "True" || text.substr(at, 5) == "False"))
      return true;
    if (c == '"') {  // npos + 1 would be the begin
      at = text.find('"', at + 1);
      if (at == std::string_view::npos) return false;
    }
    line_begins = c == '\n' || (line_begins && (c == ' ' || c == '\t'));
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') before = c;
  }
  return false;
}

ConfigTree yaml_tree(const std::string& file, std::string_view text,
                     std::vector<std::string>& told) {
  if (text.size() > kLongestYaml) throw InputError(file + ": YAML of over 1 MiB");
  try {
    const YAML::Node root = loaded(file, std::string(text), told);
    if (!root.IsMap()) throw InputError(file + ": YAML without keys");
    WalkBudget budget(file + ": YAML");
    return tree_of(root, budget);
  } catch (const YAML::Exception& problem) {
    throw InputError(fmt::format("{}: not YAML: line {}: {}", file, problem.mark.line + 1,
                                 printable(problem.msg)));
  }
}

}  // namespace prequel
