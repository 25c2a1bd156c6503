#include "cli/import/reading.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/configs/config_values.hpp"
#include "cli/import/configs/json_configs.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/job/name_files.hpp"
#include "cli/import/named_inputs.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "cli/import/shell/launch_script.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "cli/import/source_files.hpp"
#include "cli/import/training_programs.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestProblem = 400;  // of what is missing

/// How long the begin of a word is that names a setting, of letters, digits, `_`, `-` and `.`.
std::size_t setting_name(std::string_view word) {
  const auto end = std::ranges::find_if(word, [](unsigned char c) {
    return std::isalnum(c) == 0 && c != '_' && c != '-' && c != '.';
  });
  return static_cast<std::size_t>(end - word.begin());
}

/// The variables that scripts give launchers as the number of nodes: `--nnodes $NNODES`.
std::set<std::string> node_variables(std::string_view text) {
  constexpr std::string_view kFlags[] = {"--nnodes", "--num_nodes", "--num-nodes", "--num_machines",
                                         "--nodes"};
  std::set<std::string> names{"SLURM_NNODES", "SLURM_JOB_NUM_NODES"};
  for (const std::string_view flag : kFlags) {
    for (std::size_t at = text.find(flag); at != std::string_view::npos; at = text.find(flag, at)) {
      at += flag.size();
      const std::string_view behind = text.substr(at, text.find('\n', at) - at);
      const std::size_t dollar = std::min(behind.find_first_not_of(" =\"'\\"), behind.size());
      std::string_view name = behind.substr(dollar);
      if (!name.starts_with('$')) continue;
      name.remove_prefix(name.starts_with("${") ? 2 : 1);
      name = name.substr(0, setting_name(name));
      name = name.substr(0, name.find_first_of(".-"));
      if (!name.empty()) names.emplace(name);
    }
  }
  return names;
}

/// Flags with a value, by their names as configurations have them.
void note_flags(const std::vector<std::string>& words, ConfigValues& flags) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_flag(words[i])) continue;
    const std::size_t equals = words[i].find('=');
    std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '-', '_');
    if (equals != std::string::npos) {
      flags[name] = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-') &&
               words[i + 1] != kCommandEnd) {
      flags[name] = words[i + 1];
    }
  }
  std::erase_if(flags, [](const auto& flag) { return flag.second.find('$') != std::string::npos; });
}

/// Takes the settings out of a command line by which it changes a configuration:
/// `model.num_layers=4` and `+model.num_layers=4` as Hydra has them, `--training.seq_len 4096` as
/// torchtitan does.
ConfigValues take_settings(std::vector<std::string>& words) {
  ConfigValues settings;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool flag = is_flag(words[i]);
    std::string_view word = words[i];
    word.remove_prefix(flag ? 2 : std::min(word.find_first_not_of('+'), word.size()));
    const std::size_t length = setting_name(word);
    std::string name(word.substr(0, length));
    const bool named = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
    const bool equals = word.substr(length, 1) == "=";
    const bool dotted = name.find('.') != std::string::npos && length == word.size();
    const bool of_flag =
        !others.empty() && is_flag(others.back()) && others.back().ends_with("overrides");
    std::ranges::replace(name, '-', '_');
    if (named && equals && !of_flag && (!flag || name.find('.') != std::string::npos)) {
      settings[name] = word.substr(length + 1);
    } else if (named && flag && dotted) {
      const bool alone =
          i + 1 == words.size() || words[i + 1].starts_with("--") || words[i + 1] == kCommandEnd;
      settings[name] = alone ? "true" : words[++i];
    } else {
      others.push_back(std::move(words[i]));
    }
  }
  words = std::move(others);
  return settings;
}

/// Returns the state that a script starts from: the user's inputs for it, and the other scripts,
/// which it may run. Nodes that the user asks for are those of its variables, so that values which
/// scripts derive from them follow.
ShellState state_before(const std::vector<Source>& sources, const ImportNames& names) {
  ShellState state = shell_state(names.script);
  const auto nodes = names.whole("plan.nodes");
  for (const Source& source : sources) {
    if (!source.is(SourceKind::script)) continue;
    state.files.emplace(source.name(), source.text);
    if (!nodes) continue;
    for (const std::string& name : node_variables(source.text)) {
      if (state.variables.contains(name)) continue;
      state.held[name] = std::to_string(*nodes);
    }
  }
  for (const auto& [name, value] : state.held) state.variables.emplace(name, value);
  return state;
}

/// Scripts that others run or source are read as those do, and are none of these.
std::vector<const Source*> scripts_that_start(const std::vector<Source>& sources,
                                              const ImportNames& names) {
  std::vector<const Source*> scripts;
  for (const Source& source : sources) {
    if (source.is(SourceKind::script)) scripts.push_back(&source);
  }
  if (scripts.size() < 2) return scripts;
  std::set<std::string, std::less<>> run;
  for (const Source* source : scripts) {
    run.merge(
        read_launch_script(source->file, source->text, state_before(sources, names)).state.scripts);
  }
  const bool circle = std::ranges::all_of(
      scripts, [&](const Source* source) { return run.contains(source->name()); });
  if (!circle) std::erase_if(scripts, [&](const Source* one) { return run.contains(one->name()); });
  return scripts;
}

/// Returns the state that a script leaves to the next, which has arguments of its own.
ShellState after_script(const LaunchScript& script, const ImportNames& names) {
  ShellState state = script.state;
  state.arguments = shell_state(names.script).arguments;  // without what was shifted out
  return state;
}

/// A script as it is read after those before it.
struct RunScript {
  const Source* source;
  LaunchScript script;
};

/// Reads the scripts, each in the state that the one before it left. Notes settings that they make
/// in a configuration: these overrule it, wherever it is among the files.
std::vector<RunScript> run_scripts(const std::vector<Source>& sources, const ImportNames& names,
                                   Facts& job) {
  std::vector<RunScript> all;
  ShellState state = state_before(sources, names);
  for (const Source* source : scripts_that_start(sources, names)) {
    all.push_back({source, read_launch_script(source->file, source->text, state)});
    const LaunchScript& script = all.back().script;
    std::vector<std::string> words = words_of_training(script.words, *job.names).words;
    ConfigValues own = take_settings(words);
    own.merge(job.settings);
    job.settings = std::move(own);
    note_flags(words, job.script_flags);
    state = after_script(script, names);
  }
  return all;
}

void read_json(const Document& document, Facts& job) {
  if (is_hugging_face_config(document)) return read_hugging_face_config(document, job);
  if (is_deepspeed_config(document)) return read_deepspeed_config(document, job);
  std::string kind;
  for (const char* key : {"traceEvents", "nbformat"}) {
    if (document.json().contains(key)) kind = what_it_looks_like(fmt::format("\"{}\"", key));
  }
  throw InputError(document.file() +
                   (kind.empty()
                        ? ": neither a Hugging Face config.json nor a DeepSpeed ds_config.json"
                        : ": looks like " + kind));
}

/// Reads whether the host waits for each kernel: a fact of the software that only a script states.
void read_launch(const LaunchScript& script, Facts& job) {
  const auto blocking = script.state.variables.find("CUDA_LAUNCH_BLOCKING");
  if (blocking != script.state.variables.end() && blocking->second == "1") {
    job.set("launch", "blocking");
    job.report.read.emplace_back("CUDA_LAUNCH_BLOCKING=1: software.launch is blocking");
  } else {
    job.set("launch", "async");
    job.report.assumed.emplace_back("software.launch async: no CUDA_LAUNCH_BLOCKING=1");
  }
}

/// Libraries listen to these; none but CUDA_LAUNCH_BLOCKING is modelled.
void list_environment(const LaunchScript& script, Facts& job) {
  for (const auto& variable : script.state.variables) {
    const std::string& name = variable.first;
    const bool heard =
        std::ranges::any_of(job.names->words_of("libraries_hear"),
                            [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (!heard || name == "CUDA_LAUNCH_BLOCKING") continue;
    job.report.ignored.push_back(name + "=" + variable.second);
  }
}

/// Tests whether a launcher is given a list of hosts.
bool lists_hosts(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return (word.starts_with("--hostfile") && word != "--hostfile=") ||
           word.starts_with("--include");
  });
}

/// A list of hosts as DeepSpeed has it: `worker-1 slots=8`.
void read_hosts(const std::string& body, Facts& job) {
  std::istringstream lines(body);
  std::int64_t hosts = 0;
  std::optional<long long> slots;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(" slots=");
    if (at == std::string::npos || at == 0) {
      if (!trimmed(line).empty()) return;
      continue;
    }
    slots = parse_integer(std::string(trimmed(std::string_view(line).substr(at + 7))));
    if (!slots || *slots < 1 || *slots > 1024) return;
    ++hosts;
  }
  if (hosts == 0 || job.says("plan.nodes")) return;
  const OriginScope from(job, {Sureness::stated, {}, "a list of hosts"});
  job.set_number("plan.nodes", hosts);
  job.set_number("devices_per_node", *slots);
  job.report.read.push_back(fmt::format("a list of {} hosts with {} slots each", hosts, *slots));
}

/// A configuration that the script writes; other text may begin like one.
void read_written_config(const std::string& file, const std::string& body, Facts& job) {
  Facts with = job;
  try {
    const std::string name = file + " (here-document)";
    read_yaml_config(name, body, yaml_tree(name, body, with.report.left_out), with);
    job = std::move(with);
  } catch (const InputError& problem) {
    job.report.left_out.push_back(printable(problem.what(), kLongestProblem));
  }
}

void read_here_document(const std::string& file, const std::string& body, Facts& job) {
  if (looks_like_yaml(body)) return read_written_config(file, body, job);
  if (!is_json(body)) return read_hosts(body, job);
  std::optional<Document> document;
  try {
    document = Document::parse(file + " (here-document)", body);
  } catch (const InputError&) {
    const std::size_t open = body.find('$');
    if (open == std::string::npos) throw;
    const std::string_view rest = std::string_view(body).substr(open);
    job.report.left_out.push_back(
        fmt::format("a here-document with {}, which could not be resolved",
                    printable(rest.substr(0, rest.find_first_of(" ,\n\"")))));
    return;
  }
  if (is_deepspeed_config(*document)) read_deepspeed_config(*document, job);
}

bool is_one_of(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// Programs that start themselves, by one word, hear of nodes and devices from the environment.
void hear_of_devices(LaunchScript& script, Facts& job) {
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"NNODES", "--nnodes"}, {"NPROC_PER_NODE", "--nproc-per-node"}};
  bool starts = false;
  for (std::size_t i = 0; i < script.words.size(); ++i) {
    const bool first = i == 0 || script.words[i - 1] == kCommandEnd;
    const std::string two =
        i + 1 < script.words.size() ? script.words[i] + " " + script.words[i + 1] : "";
    for (const auto& [name, framework] : job.names->frameworks) {
      const bool alone = first && is_one_of(framework.commands, script.words[i]);
      if (alone || is_one_of(framework.commands, two)) job.set_flag("mark.of." + name);
      starts = starts || alone;
    }
  }
  for (const auto& [variable, flag] : kVariables) {
    const auto found = script.state.variables.find(variable);
    if (!starts || found == script.state.variables.end() || job.says(flag)) continue;
    script.words.insert(script.words.end(), {flag, found->second});
  }
}

/// Configurations that a program is given without a flag, `train.py config/train_gpt2.py` and
/// `llamafactory-cli train sft.yaml`, and those that it finds by a folder (`-d configs 20B.yml`,
/// `--config-path conf --config-name 7b`).
void note_config_files(const std::vector<std::string>& words, Facts& job) {
  const ForeignNames& names = *job.names;
  const auto is_python = [](std::string_view word) {
    return word.ends_with(".py") && !word.starts_with('-');
  };
  std::string folder;
  bool program = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == kCommandEnd) {
      folder.clear();
      program = false;
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view flag = std::string_view(word).substr(0, equals);
    const std::string behind = equals < word.size()   ? word.substr(equals + 1)
                               : i + 1 < words.size() ? words[i + 1]
                                                      : std::string();
    if (names.has_word("config_folders", flag)) folder = behind + "/";
    if (flag == "--config-name" && !folder.empty()) {
      job.files_named.push_back(folder + behind);
      job.files_named.push_back(folder + behind + ".yaml");
    }
    const bool alone = i == 0 || !is_flag(words[i - 1]);
    const bool xtuner = i > 1 && words[i - 2] == "xtuner" && words[i - 1] == "train";
    if (is_python(word) && (xtuner || (program && is_python(words[i - 1])))) {
      job.set("yaml_config_file", word);
      job.files_named.push_back(word);
    }
    if (program && alone && is_config_path(word)) {
      job.files_named.push_back(word);
      if (!folder.empty()) job.files_named.push_back(folder + word);
      if (!job.says("yaml_config_file")) job.set("yaml_config_file", word);
    }
    program = program || is_python(word) || word == "-m" || names.has_word("config_programs", word);
  }
}

constexpr std::size_t kLongestConfig = 16u << 20;

/// JSON has no `$` outside of quotes.
std::string with_variables(std::string_view text, const ShellState& state) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const bool braces = text.substr(at, 2) == "${";
    const std::size_t begin = at + (braces ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && is_name_letter(text[end])) ++end;
    const auto known = text[at] == '$' ? state.variables.find(text.substr(begin, end - begin))
                                       : state.variables.end();
    if (known == state.variables.end() || (braces && text.substr(end, 1) != "}")) {
      filled += text[at++];
      continue;
    }
    filled += known->second;
    at = end + (braces ? 1 : 0);
    if (filled.size() > kLongestConfig) throw InputError("envsubst: makes over 16 MiB of a config");
  }
  return filled;
}

/// As `sed` does.
std::string substituted(std::string text, const Facts& job) {
  for (const auto& [name, value] : job.substitutions) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), value);
      at += value.size();
      if (text.size() > kLongestConfig) throw InputError("sed: makes over 16 MiB of a config");
    }
  }
  return text;
}

/// Notes what a word says of `sed`: `s/WORD/VALUE/`, with any sign, and one behind the other.
void remember_substitutions(std::string_view word, Facts& job) {
  while (word.size() > 5 && word[0] == 's' &&
         std::ispunct(static_cast<unsigned char>(word[1])) != 0) {
    const char sign = word[1];
    const std::size_t middle = word.find(sign, 2);
    const std::size_t end = middle == std::string_view::npos ? middle : word.find(sign, middle + 1);
    if (end == std::string_view::npos) return;
    const std::string_view name = word.substr(2, middle - 2);
    const std::string_view value = word.substr(middle + 1, end - middle - 1);
    if (name.size() > 2 && is_variable_name(name) && value.find('$') == std::string_view::npos) {
      job.substitutions.emplace_back(name, value);
    }
    word.remove_prefix(end + 1);
    word.remove_prefix(std::min(word.find_first_of(";\n"), word.size()));
    word.remove_prefix(std::min(word.find_first_not_of("; \n"), word.size()));
  }
}

/// False for text without any flag, which says nothing of a job.
bool read_script(const Source& source, LaunchScript script, const ImportNames& names,
                 ShellState& state, Facts& job) {
  refuse_open_sizes(source.file, source.text, state, script);
  const auto before = std::exchange(state, after_script(script, names)).scripts;
  for (const std::string& run : state.scripts) {
    if (!before.contains(run)) job.report.read.push_back(run + ": run by " + source.file);
  }
  state.scripts.insert(source.name());
  job.set_flag("script");
  job.report.assumed.insert(job.report.assumed.end(), script.assumed.begin(), script.assumed.end());
  hear_of_devices(script, job);
  TrainingWords training = words_of_training(script.words, *job.names);
  script.words = std::move(training.words);
  for (std::string& line : training.told) job.report.assumed.push_back(std::move(line));
  check_programs(source.file, script.words, job);
  note_config_files(script.words, job);
  note_model_clues(script, job);
  for (const std::string& word : script.words) remember_substitutions(word, job);
  (void)take_settings(script.words);
  const std::size_t ignored = job.report.ignored.size();
  read_megatron_arguments(source.file, script.words, job);
  tell_by_names(ignored, job);
  job.report.read.push_back(source.file + ": launch script");
  for (const std::string& body : script.here_documents) {
    read_here_document(source.file, body, job);
  }
  read_launch(script, job);
  list_environment(script, job);
  follow_rules("all devices", job);
  if (!lists_hosts(script.words)) follow_rules("one node", job);
  job.name_model(std::filesystem::path(source.file).stem().string());
  const auto has_flags = [](const auto& variable) {
    return variable.second.find("--") != std::string::npos;
  };
  const bool writes =
      !script.here_documents.empty() && job.says("yaml_config");  // its configuration
  return writes || !job.settings.empty() ||
         std::any_of(script.words.begin(), script.words.end(), is_flag) ||
         std::any_of(state.variables.begin(), state.variables.end(), has_flags);
}

/// Tests whether a variable or a function that was not known before has been asked for.
bool is_used(const ShellState& before, const ShellState& now) {
  return now.functions.size() > before.functions.size() ||
         std::ranges::any_of(now.variables, [&](const auto& variable) {
           const auto known = before.variables.find(variable.first);
           const bool same = known != before.variables.end() && known->second == variable.second;
           return !same && now.used.contains(variable.first);
         });
}

}  // namespace

Reading read_sources(const std::vector<Source>& sources, const ImportNames& names) {
  Reading reading;
  Facts& job = reading.job;
  ShellState& state = reading.state;
  job.names = names.foreign ? names.foreign : names_of_library(names.library);
  for (const auto& [name, said] :
       {std::pair("cluster", names.cluster), {"software", names.software}}) {
    const OriginScope from(job, {Sureness::stated, {}, fmt::format("--{}", name)});
    if (said) job.set(name, *said);
  }
  for (const Override& override : names.overrides) {
    job.set("user." + override.path, override.value);
  }
  bool starts_another = false;  // of the files, which that one names
  ShellState unread_before;
  const auto& environment = shell_state(names.script).variables;
  job.environment.insert(environment.begin(), environment.end());
  std::vector<RunScript> scripts = run_scripts(sources, names, job);
  state = state_before(sources, names);
  for (const Source& source : sources) {
    if (source.is(SourceKind::log)) continue;
    note_file_clue(source.file, job);
    if (!source.named_by.empty()) {
      job.report.read.push_back(
          fmt::format("{}: named by {}", source.file, printable(source.named_by)));
    }
    if (source.is(SourceKind::json)) {
      const std::string text = with_variables(substituted(source.text, job), state);
      read_json(Document::parse(source.file, without_infinities(text)), job);
    } else if (source.is(SourceKind::yaml)) {
      std::ranges::copy(source.told, std::back_inserter(job.report.left_out));
      read_yaml_config(source.file, source.text, source.tree, job);
    } else if (source.is(SourceKind::toml)) {
      read_config_tree(source.file, "TOML", source.tree, job);
    } else if (source.is(SourceKind::python)) {
      read_python_config(source.file, source.text, job);
    }
    const auto script = std::ranges::find(scripts, &source, &RunScript::source);
    if (script == scripts.end()) continue;
    const ShellState before = state;
    if (!read_script(source, std::move(script->script), names, state, job) && !source.within) {
      reading.unread = source.file;
      unread_before = before;
      starts_another = std::ranges::any_of(sources, [&](const Source& other) {
        return &other != &source && source.text.find(other.name()) != std::string::npos;
      });
    }
  }
  if (!reading.unread.empty() && (is_used(unread_before, state) || starts_another)) {
    reading.unread.clear();
  }
  if (!job.settings.empty()) {
    read_config_values(first_file(sources), job.settings, job);
    job.report.read.emplace_back("the command line's settings, over those of configurations");
  }
  return reading;
}

}  // namespace prequel
