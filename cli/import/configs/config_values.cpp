#include "cli/import/configs/config_values.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/job/job_rules.hpp"
#include "cli/import/python/python_values.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/framework_defaults.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/base/walk_budget.hpp"

namespace prequel {
namespace {

bool is_off(std::string_view value) {
  return value.empty() || value == "null" || value == "~" || value == "None" || value == "false" ||
         value == "False" || value == "no" || value == "off";
}
bool is_on(std::string_view value) {
  return value == "true" || value == "True" || value == "yes" || value == "on";
}

/// Returns the product of `4, 8`.
std::optional<std::string> product(std::string_view text) {
  constexpr long long kMost = 1LL << 30;
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto one = parse_integer(std::string(trimmed(text.substr(0, comma))));
  const auto other =
      parse_integer(std::string(trimmed(text.substr(std::min(comma + 1, text.size())))));
  if (!one || !other || *one < 0 || *other < 0 || *one > kMost || *other > kMost) {
    return std::nullopt;
  }
  return std::to_string(*one * *other);
}

/// Returns what a name in `${…}` stands for: another value (`model.hidden_size`; with a dot in
/// front one of the same section, as OmegaConf has it), a variable or what is behind its colon
/// (`PRIMUS_TP:1` of Primus), or a product (`multiply:4, 8` of NeMo).
std::optional<std::string> referred(const ConfigValues& values, const ConfigValues& environment,
                                    const std::string& section, std::string name) {
  constexpr std::string_view kMultiply = "multiply:";
  if (name.starts_with(kMultiply)) return product(std::string_view(name).substr(kMultiply.size()));
  if (name.starts_with('.') && !name.starts_with("..")) name.replace(0, 1, section);
  if (const auto found = values.find(name); found != values.end()) return found->second;
  const std::size_t colon = name.find(':');
  const auto variable = environment.find(name.substr(0, colon));
  if (variable != environment.end()) return variable->second;
  const bool usual = colon != std::string::npos && colon + 1 < name.size() &&
                     name.find(',') == std::string::npos && name[0] != '.';
  return usual ? std::optional(name.substr(colon + 1)) : std::nullopt;
}

/// Returns a value that begins with `${` with what its names stand for, the innermost first.
std::string resolved(const ConfigValues& values, const ConfigValues& environment,
                     const std::string& path, std::string value) {
  constexpr int kMostReferences = 16;
  const std::string section = path.substr(0, path.rfind('.') + 1);  // npos + 1 is 0
  for (int i = 0; i < kMostReferences && value.starts_with("${"); ++i) {
    const std::size_t begin = value.rfind("${");
    const std::size_t end = value.find('}', begin);
    if (end == std::string::npos) break;
    const auto stands =
        referred(values, environment, section, value.substr(begin + 2, end - begin - 2));
    if (!stands) break;
    value.replace(begin, end + 1 - begin, *stands);
  }
  return value;
}

/// The flag that says the same, with what stands behind it.
void add_flag(const ForeignNames& names, const std::string& path, const std::string& key,
              const std::string& value, SaidFlags& flags) {
  if (is_off(value)) {
    const std::string* contrary = named_by_path(names.keys_off, path);
    if (contrary == nullptr || value.empty() || value == "null") return;
    const std::size_t equals = std::min(contrary->find('='), contrary->size());
    flags.push_back({contrary->substr(0, equals),
                     contrary->substr(std::min(equals + 1, contrary->size())), path});
    return;
  }
  const std::string* same = named_by_path(names.keys, path);
  flags.push_back({same == nullptr ? "--" + key : *same, is_on(value) ? "" : value, path});
}

/// The values with those that a command line sets: by their path, or by one that has more or fewer
/// sections before the same name; flags, which are other programs' too, by their path alone.
ConfigValues with_settings(ConfigValues values, const ConfigValues& settings,
                           const ConfigValues& flags) {
  const auto ends = [](const std::string& longer, const std::string& shorter) {
    return longer == shorter || longer.ends_with("." + shorter);
  };
  for (auto& [path, value] : values) {
    if (const auto flag = flags.find(path); flag != flags.end()) value = flag->second;
    for (const auto& [name, set] : settings) {
      if (ends(path, name) || ends(name, path)) value = set;
    }
  }
  return values;
}

/// Tests whether a setting is in such a section; files leave these out as they are read.
bool is_in_other_section(const ForeignNames& names, std::string_view path) {
  for (std::size_t end = path.find('.'); end != std::string_view::npos; end = path.find('.')) {
    if (names.has_word("other_sections", path.substr(0, end))) return true;
    path.remove_prefix(end + 1);
  }
  return false;
}

/// Tests whether the program counts batches by the device.
bool says_context_width(const ConfigValues& values) {
  return std::ranges::any_of(values, [](const auto& one) {
    return one.first == "max_context_width" || one.first.ends_with(".max_context_width");
  });
}

/// How wide a share of the width beside it is, `expansion_ratio: 2.6875` of llm-foundry; empty for
/// whole numbers, which are flags' as they are.
std::string width_of_share(const std::string& path, const std::string& key,
                           const std::string& value, const ConfigValues& values) {
  constexpr double kMostRatio = 1000;
  const auto width = values.find(path.substr(0, path.size() - key.size()) + "d_model");
  const auto ratio = parse_number(value);
  if (key != "expansion_ratio" || parse_integer(value) || !ratio || width == values.end())
    return {};
  const auto whole = parse_integer(width->second);
  if (!whole || *whole < 1 || *whole > (1LL << 24)) return {};
  if (!(*ratio > 0 && *ratio < kMostRatio)) return {};
  return std::to_string(static_cast<std::int64_t>(static_cast<double>(*whole) * *ratio));
}

/// A key that overrides the keys beside it with a prefix: `fp8: false` on `fp8_hybrid: true`.
struct Master {
  std::string_view prefix, key;
};
constexpr Master kMasters[] = {
    {"fp8_", "fp8"},
    {"fsdp_", "fsdp"},
    {"recompute_", "recompute"},  // PaddleNLP's
    {"activations_checkpoint_", "activations_checkpoint_granularity"},
};
bool is_switched_off(const std::string& path, const std::string& key, const ConfigValues& values) {
  return std::ranges::any_of(kMasters, [&](const Master& one) {
    if (!key.starts_with(one.prefix)) return false;
    const auto whole = values.find(path.substr(0, path.size() - key.size()) + std::string(one.key));
    return whole != values.end() && is_off(whole->second);
  });
}

/// Tests whether a batch size is the model's. Where several sections have one, the training's
/// counts, `runner_config.batch_size`; the model's is for inference.
bool is_other_batch(const std::string& path, const std::string& key, const ConfigValues& values) {
  if (key != "batch_size" || path.find("model") == std::string::npos) return false;
  return std::ranges::any_of(values, [&](const auto& one) {
    return one.first.ends_with("batch_size") && one.first.find("model") == std::string::npos;
  });
}

/// `defaults: [base, train: 7b]`: base.yaml and train/7b.yaml stand beside it.
void note_bases(const std::string& path, const std::string& value, Facts& job) {
  const std::string group = path.substr(std::min(path.find('.'), path.size() - 1) + 1);
  const bool whole = path == "defaults";
  if (!whole && !job.names->has_word("groups", group)) return;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find(' ', at), value.size());
    const std::string name = value.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == "_self_" || is_off(name)) continue;
    job.bases_named.push_back((whole ? "" : group + "/") + name + ".yaml");
  }
}

bool is_marked(const Framework& framework, const ConfigValues& values) {
  const auto says_all = [&](const std::vector<std::string>& keys) {
    return std::ranges::all_of(keys, [&](const auto& key) { return values.contains(key); });
  };
  return std::ranges::any_of(framework.keys, says_all);
}

/// Follows the rules of the framework whose configuration this is: they ask for its values
/// (`config.KEY`) and put others in their place.
ConfigValues as_others_say(const std::string& file, ConfigValues values, Facts& job) {
  constexpr std::string_view kConfig = "config.";
  for (const auto& [name, framework] : job.names->frameworks) {
    const std::string step = "config of " + name;
    if (!job.names->rules.contains(step) || !is_marked(framework, values)) continue;
    job.set_flag("mark.of." + name);
    for (const auto& [path, value] : values) job.set(std::string(kConfig) + path, value);
    try {
      follow_rules(step, job);
    } catch (const InputError& problem) {
      throw InputError(fmt::format("{}: {}", file, problem.what()));
    }
    values.clear();
    for (const auto& [path, fact] : job.with(kConfig)) {
      values.emplace(path.substr(kConfig.size()), fact.text);
    }
    job.drop_all(kConfig);
  }
  return values;
}

}  // namespace

void read_config_values(const std::string& file, const ConfigValues& own, Facts& job) {
  const ConfigValues all =
      with_settings(as_others_say(file, own, job), job.settings, job.script_flags);
  ConfigValues values = all;
  std::erase_if(values, [](const auto& one) { return one.second == "null"; });
  SaidFlags flags;
  for (const auto& [path, value] : values) {
    const std::string key = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
    if (is_in_other_section(*job.names, path)) continue;
    if (path == "defaults" || path.starts_with("defaults.")) {
      note_bases(path, value, job);
      continue;
    }
    const bool hub = path == "model.name" && value.find('/') != std::string::npos;  // picotron's
    if (path == "model.path" || path == "model.name_or_path" || hub) {
      job.set("model_named", value);  // of verl and ArcticTraining, too
      continue;
    }
    const bool other_file = key == "model" && (value.ends_with(".yaml") || value.ends_with(".yml"));
    if (is_maxtext_key(key)) {
      job.set_flag("mark.of.maxtext");
      job.set("maxtext." + key, resolved(values, job.environment, path, value));
      continue;
    }
    if (path == "model._component_") {  // of torchtune: torchtune.models.llama3_1.llama3_1_8b
      job.set("model_named", value.substr(value.rfind('.') + 1));
      flags.push_back({"--use-fsdp", "", path});
      continue;
    }
    if (key == "model_name" && value == "default") continue;  // MaxText's: sizes follow
    if (other_file || job.names->has_word("model_keys", key)) {
      job.set("model_named", resolved(values, job.environment, path, value));
    }
    if (path.find("config_overrides.") != std::string::npos) {
      job.set_flag("mark.model_overrides");
    }
    if (is_switched_off(path, key, all) || is_other_batch(path, key, values)) continue;
    const bool of_device = key == "train_batch_size" && says_context_width(values);
    if (of_device) {
      flags.push_back({"--train-batch-size", value, path});
      continue;
    }
    if (const std::string width = width_of_share(path, key, value, values); !width.empty()) {
      flags.push_back({"--ffn-hidden-size", width, path});
      continue;
    }
    add_flag(*job.names, path, key, resolved(values, job.environment, path, value), flags);
  }
  for (const char* way : {"grpo", "ppo", "rloo"}) {  // a section of that name, as NeMo-RL has it
    const auto first = values.lower_bound(std::string(way) + ".");
    if (first == values.end() || !first->first.starts_with(std::string(way) + ".")) continue;
    flags.push_back({"--advantage-estimator", way});
  }
  const std::size_t ignored = job.report.ignored.size();
  read_flags(file, flags, job);
  for (const auto& [name, framework] : job.names->frameworks) {
    if (!is_marked(framework, values)) continue;
    job.set_flag("mark.of." + name);
    if (!framework.model_key.empty()) job.set("model_named", values.at(framework.model_key));
  }
  tell_by_names(ignored, job);
}

namespace {

/// Scalars of a tree by their paths, and the arguments of containers that it lists.
class Collected {
 public:
  Collected(const std::string& subject, const ForeignNames& names)
      : names_(names), budget_(subject) {}

  ConfigValues values;
  std::vector<std::string> words;

  void collect(const ConfigTree& node, const std::string& path) {
    const auto level = budget_.deeper();
    budget_.spend(path.size() + 16);
    if (node.is_object()) return collect_members(node, path);
    if (is_command_line(node)) {
      for (const ConfigTree& item : node) {
        if (item.is_string()) words.push_back(item.get<std::string>());
      }
      return;
    }
    std::string value = node.is_string() ? node.get<std::string>() : node.is_null() ? "null" : "";
    const auto add = [&](const std::string& more) {
      value += (value.empty() || more.empty() ? "" : " ") + more;
    };
    for (const ConfigTree& item : node.is_array() ? node : ConfigTree::array()) {
      if (item.is_string()) add(item.get<std::string>());
      if (item.is_structured()) collect(item, path);
      const auto inner = values.find(path);  // GPT-NeoX: attention-config: [[["flash"], 32]]
      if (item.is_array() && inner != values.end()) add(inner->second);
    }
    budget_.spend(value.size());
    if (!value.empty()) values[path] = value;
  }

 private:
  void collect_members(const ConfigTree& node, const std::string& path) {
    for (const auto& member : node.items()) {
      std::string key = member.key();
      key.erase(0, std::min(key.find_first_not_of('-'), key.size()));  // `--num-layers: 12`
      std::ranges::replace(key, '-', '_');
      if (key == "peft") note_adapters(member.value());
      if (names_.has_word("other_sections", key)) continue;
      collect(member.value(), path.empty() ? key : path + "." + key);
    }
  }

  /// Notes whether a section of adapters, of NeMo or Megatron-Bridge, has any trained.
  void note_adapters(const ConfigTree& section) {
    if (!section.is_object()) return;
    for (const char* key : {"peft_scheme", "_target_"}) {
      const auto scheme = section.find(key);
      if (scheme != section.end() && scheme->is_string()) {
        values["peft_scheme"] = scheme->get<std::string>();
      }
    }
  }

  /// Tests whether a list holds the arguments of a container: `args: ["--nnodes=4", …]`.
  static bool is_command_line(const ConfigTree& node) {
    return node.is_array() && std::ranges::any_of(node, [](const ConfigTree& item) {
             return item.is_string() && item.get_ref<const std::string&>().starts_with("--");
           });
  }

  const ForeignNames& names_;
  WalkBudget budget_;
};

/// The commands that configurations of a launch run, and the variables that they set first.
struct Commands {
  std::string variables, commands;

  void collect(const ConfigTree& node, std::string_view key) {
    constexpr std::string_view kRun[] = {"run",    "command",    "commands",
                                         "script", "entrypoint", "args"};
    constexpr std::string_view kSet[] = {"envs", "env", "environment_variables", "env_variables"};
    const bool runs = std::ranges::count(kRun, key) > 0;
    const bool sets = std::ranges::count(kSet, key) > 0;
    if (node.is_string() && runs && text_of(node).find(' ') != std::string::npos) {
      commands += text_of(node) + "\n";
    } else if (node.is_array()) {
      for (const ConfigTree& item : node) {
        const bool pair = sets && item.contains("name") && item.contains("value");
        if (sets && item.is_string()) {  // as dstack has it
          const std::size_t equals = std::min(text_of(item).find('='), text_of(item).size());
          if (equals > 0 && equals < text_of(item).size()) {
            set(text_of(item).substr(0, equals), text_of(item).substr(equals + 1));
          }
        }
        if (pair) set(item["name"], item["value"]);  // as Kubernetes has it
        if (!pair) collect(item, key);
      }
    } else if (node.is_object()) {
      for (const auto& [name, value] : node.items()) {
        if (sets) set(name, value);
        if (!sets) collect(value, name);
      }
    }
  }

 private:
  static const std::string& text_of(const ConfigTree& scalar) {
    return scalar.get_ref<const std::string&>();
  }
  void set(const ConfigTree& name, const ConfigTree& value) {
    if (!name.is_string() || !value.is_string()) return;
    variables += fmt::format("{}='{}'\n", text_of(name), text_of(value));
  }
};

}  // namespace

std::string commands_of_tree(const ConfigTree& tree) {
  Commands found;
  found.collect(tree, "");
  const bool flags = found.commands.find(" --") != std::string::npos;
  const bool writes = found.commands.find("<<") != std::string::npos;  // what it then reads
  if (!flags && !writes) return {};
  return found.variables + found.commands;
}

void read_config_tree(const std::string& file, std::string_view language, const ConfigTree& tree,
                      Facts& job) {
  Collected found(fmt::format("{}: {}", file, language), *job.names);
  found.collect(tree, "");
  read_config_values(file, found.values, job);
  if (!found.words.empty()) read_megatron_arguments(file, found.words, job);
  job.set_flag("script");
  job.set_flag("yaml_config");
  job.report.read.push_back(fmt::format("{}: {} configuration", file, language));
}

void read_yaml_config(const std::string& file, std::string_view text, const ConfigTree& tree,
                      Facts& job) {
  read_config_tree(file, "YAML", tree, job);
  if (!is_neox_config(text)) return;  // GPT-NeoX has no other
  job.set_flag("deepspeed");
  job.set_flag("deepspeed_config");
}

void read_python_config(const std::string& file, std::string_view text, Facts& job) {
  ConfigValues values = python_values(file, text);
  const auto flat = [&](const char* key) { return values.contains(key); };
  if (flat("block_size") || flat("n_embd") || flat("n_layer")) {
    job.set_flag("mark.of.nanogpt");
    const OriginScope from(job, {Sureness::stated, file, "bias"});
    if (const auto bias = values.extract("bias"))
      job.set_flag("model.bias", bias.mapped() == "True");
  }
  read_config_values(file, values, job);
  job.set_flag("script");
  job.set_flag("yaml_config");
  job.report.read.push_back(file + ": configuration in Python");
}

}  // namespace prequel
