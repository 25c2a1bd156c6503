#include "cli/import/configs/config_values.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/walk_budget.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestYaml = 1u << 20;

class Reader {
 public:
  Reader(std::string file, Facts& job)
      : file_(std::move(file)), job_(job), budget_(file_ + ": YAML") {}

  void read(std::string_view text) {
    if (text.size() > kLongestYaml) throw InputError(file_ + ": YAML of over 1 MiB");
    try {
      const YAML::Node root = loaded(std::string(text));
      if (!root.IsMap()) throw InputError(file_ + ": YAML without keys");
      collect(root, "");
    } catch (const YAML::Exception& problem) {
      throw InputError(fmt::format("{}: not YAML: line {}: {}", file_, problem.mark.line + 1,
                                   printable(problem.msg)));
    }
    read_config_values(file_, values_, job_);
    if (!words_.empty()) read_megatron_arguments(file_, words_, job_);
  }

 private:
  /// Loads the text. A value left for the user to fill in (`path: !!CHANGETHIS!!`) is read as a
  /// word.
  YAML::Node loaded(std::string text) {
    constexpr int kMostMended = 16;  // lines
    for (int mended = 0;; ++mended) {
      try {
        return YAML::Load(text);
      } catch (const YAML::Exception& problem) {
        if (mended == kMostMended || !quote_value(problem.mark.line, text)) throw;
        job_.report.left_out.push_back(fmt::format("{}: line {} is not YAML; its value is not read",
                                                   file_, problem.mark.line + 1));
      }
    }
  }

  /// Puts what a line has behind `key: !` in quotes; false where it has no such value.
  static bool quote_value(int line, std::string& text) {
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

  void collect(const YAML::Node& node, const std::string& path) {
    const auto level = budget_.deeper();
    budget_.spend(path.size() + 16);
    if (node.IsMap()) {
      for (const auto& member : node) {
        if (!member.first.IsScalar()) continue;
        std::string key = member.first.Scalar();
        key.erase(0, std::min(key.find_first_not_of('-'), key.size()));  // `--num-layers: 12`
        std::replace(key.begin(), key.end(), '-', '_');
        if (key == "peft") adapters(member.second);
        if (is_other_section(*job_.names, key)) continue;
        collect(member.second, path.empty() ? key : path + "." + key);
      }
      return;
    }
    std::string value;
    if (node.IsScalar()) value = node.Scalar();
    if (node.IsNull()) value = "null";
    if (is_command_line(node)) return add_words(node);
    if (node.IsSequence()) {
      for (const auto& item : node) {
        if (item.IsScalar()) value += (value.empty() ? "" : " ") + item.Scalar();
        budget_.spend(item.IsScalar() ? item.Scalar().size() + 1 : 1);
        if (item.IsMap()) collect(item, path);
        if (item.IsSequence()) {  // GPT-NeoX: attention-config: [[["flash"], 32]]
          collect(item, path);
          const auto inner = values_.find(path);
          if (inner != values_.end()) value += (value.empty() ? "" : " ") + inner->second;
        }
      }
    }
    budget_.spend(value.size());
    if (!value.empty()) values_[path] = value;
  }

  /// Notes whether a section of adapters, of NeMo or Megatron-Bridge, has any trained.
  void adapters(const YAML::Node& section) {
    if (!section.IsMap()) return;
    for (const char* key : {"peft_scheme", "_target_"}) {
      const YAML::Node scheme = section[key];
      if (scheme && scheme.IsScalar()) values_["peft_scheme"] = scheme.Scalar();
    }
  }

  /// Tests whether a list holds the arguments of a container: `args: ["--nnodes=4", …]`.
  static bool is_command_line(const YAML::Node& node) {
    if (!node.IsSequence()) return false;
    return std::any_of(node.begin(), node.end(), [](const YAML::Node& item) {
      return item.IsScalar() && item.Scalar().starts_with("--");
    });
  }
  void add_words(const YAML::Node& node) {
    for (const auto& item : node) {
      if (!item.IsScalar()) continue;
      budget_.spend(item.Scalar().size() + 1);
      words_.push_back(item.Scalar());
    }
  }

  std::string file_;
  Facts& job_;
  ConfigValues values_;
  std::vector<std::string> words_;
  WalkBudget budget_;
};

/// The commands that configurations of a launch run, and the variables that they set first.
struct Commands {
  explicit Commands(const std::string& file) : budget(file + ": YAML") {}

  std::string variables, commands;
  WalkBudget budget;

  void collect(const YAML::Node& node, const std::string& key) {
    const auto level = budget.deeper();
    budget.spend(node.IsScalar() ? node.Scalar().size() + 16 : 16);
    const bool runs = std::find(std::begin(kRun), std::end(kRun), key) != std::end(kRun);
    const bool sets = std::find(std::begin(kSet), std::end(kSet), key) != std::end(kSet);
    if (node.IsScalar() && runs && node.Scalar().find(' ') != std::string::npos) {
      commands += node.Scalar() + "\n";
    } else if (node.IsSequence()) {
      for (const auto& item : node) {
        const bool pair = sets && item.IsMap() && item["name"] && item["value"];
        if (sets && item.IsScalar()) set(item.Scalar());  // as dstack has it
        if (pair) set(item["name"], item["value"]);       // as Kubernetes has it
        if (!pair) collect(item, key);
      }
    } else if (node.IsMap()) {
      for (const auto& member : node) {
        if (!member.first.IsScalar()) continue;
        if (sets) set(member.first, member.second);
        if (!sets) collect(member.second, member.first.Scalar());
      }
    }
  }

 private:
  static constexpr const char* kRun[] = {"run",    "command",    "commands",
                                         "script", "entrypoint", "args"};
  static constexpr const char* kSet[] = {"envs", "env", "environment_variables", "env_variables"};

  void set(const std::string& pair) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return;
    variables += fmt::format("{}='{}'\n", pair.substr(0, equals), pair.substr(equals + 1));
  }
  void set(const YAML::Node& name, const YAML::Node& value) {
    if (!name.IsScalar() || !value.IsScalar()) return;
    variables += fmt::format("{}='{}'\n", name.Scalar(), value.Scalar());
  }
};

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

std::string commands_of_yaml(const std::string& file, std::string_view text) {
  if (text.size() > kLongestYaml) return {};
  Commands found(file);
  try {
    found.collect(YAML::Load(std::string(text)), "");
  } catch (const YAML::Exception&) {
    return {};  // read_yaml_config says what is wrong
  }
  const bool flags = found.commands.find(" --") != std::string::npos;
  const bool writes = found.commands.find("<<") != std::string::npos;  // what it then reads
  if (!flags && !writes) return {};
  return found.variables + found.commands;
}

void read_yaml_config(const std::string& file, std::string_view text, Facts& job) {
  Reader(file, job).read(text);
  if (is_neox_config(text)) {  // GPT-NeoX has no other
    job.set_flag("deepspeed");
    job.set_flag("deepspeed_config");
  }
  job.set_flag("script");
  job.set_flag("yaml_config");
  job.report.read.push_back(file + ": YAML configuration");
}

}  // namespace prequel
