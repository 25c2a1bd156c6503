#include "cli/import/foreign_file.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/argument_dump.hpp"
#include "cli/import/config_templates.hpp"
#include "cli/import/config_values.hpp"
#include "cli/import/contradictions.hpp"
#include "cli/import/deepspeed_config.hpp"
#include "cli/import/file_kinds.hpp"
#include "cli/import/hugging_face_config.hpp"
#include "cli/import/internevo.hpp"
#include "cli/import/launch_script.hpp"
#include "cli/import/megatron_arguments.hpp"
#include "cli/import/megatron_defaults.hpp"
#include "cli/import/megatron_flags.hpp"
#include "cli/import/named_models.hpp"
#include "cli/import/python_config.hpp"
#include "cli/import/source_files.hpp"
#include "cli/import/telling_names.hpp"
#include "cli/import/toml_config.hpp"
#include "cli/import/torchtitan.hpp"
#include "cli/import/training_log.hpp"
#include "cli/import/training_programs.hpp"
#include "cli/import/yaml_config.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"

namespace prequel {

namespace {

constexpr std::size_t kLongestRefusal = 400;  // of what is missing
constexpr const char* kHeard[] = {"NCCL_", "NVTE_", "TORCH_", "PYTORCH_", "CUDA_", "CUBLAS_"};

void read_json(const Document& document, ImportedJob& job) {
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

/// Whether the host waits for each kernel belongs to the software; only a script says it.
void read_launch(const LaunchScript& script, ImportedJob& job) {
  const auto blocking = script.state.variables.find("CUDA_LAUNCH_BLOCKING");
  if (blocking != script.state.variables.end() && blocking->second == "1") {
    job.launch = Launch::blocking;
    job.report.read.emplace_back("CUDA_LAUNCH_BLOCKING=1: software.launch is blocking");
  } else {
    job.launch = Launch::async;
    job.report.assumed.emplace_back("software.launch async: no CUDA_LAUNCH_BLOCKING=1");
  }
}

/// Libraries listen to these; none but CUDA_LAUNCH_BLOCKING is modelled.
void list_environment(const LaunchScript& script, ImportedJob& job) {
  for (const auto& variable : script.state.variables) {
    const std::string& name = variable.first;
    const bool heard = std::any_of(std::begin(kHeard), std::end(kHeard),
                                   [&](const char* prefix) { return name.starts_with(prefix); });
    if (!heard || name == "CUDA_LAUNCH_BLOCKING") continue;
    job.report.ignored.push_back(name + "=" + variable.second);
  }
}

/// DeepSpeed counts those of a node, NeMo's and Megatron-Bridge's scripts all of them, of which
/// `--gpus-per-node` is the share of one.
void follow_all_devices(ImportedJob& job) {
  constexpr std::int64_t kMostOfNode = 16;
  const auto all = job.value("--num-gpus");
  if (!all || job.gpus) return;
  const auto each = job.value("--gpus-per-node");
  if (*all <= each.value_or(kMostOfNode)) return;
  job.gpus = all;
  if (job.gpus_per_node == all) job.gpus_per_node = each;
  job.report.assumed.push_back(
      fmt::format("--num-gpus {}: of all nodes, as none has so many", *all));
}

/// What launchers do where no flag says how many nodes: one, unless a scheduler knows more.
void assume_one_node(const LaunchScript& script, ImportedJob& job) {
  const bool by_launcher = job.says("--nproc-per-node") || job.says("--num-gpus");
  if (job.plan.nodes || job.gpus || !by_launcher) return;
  for (const char* flag : {"--nodes", "--nnodes", "--num-nodes"}) {
    if (job.unresolved.contains(flag)) return;
  }
  for (const std::string& word : script.words) {
    if (word.starts_with("--hostfile") || word.starts_with("--include")) return;
  }
  job.plan.nodes = 1;
  job.report.assumed.push_back(
      fmt::format("nodes 1: {} without a number of nodes",
                  job.says("--nproc-per-node") ? "--nproc-per-node" : "--num-gpus"));
}

/// A list of hosts as DeepSpeed has it: `worker-1 slots=8`.
void read_hosts(const std::string& body, ImportedJob& job) {
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
  if (hosts == 0 || job.plan.nodes) return;
  job.plan.nodes = hosts;
  job.gpus_per_node = *slots;
  job.report.read.push_back(fmt::format("a list of {} hosts with {} slots each", hosts, *slots));
}

/// A configuration that the script writes; other text may begin like one.
void read_written_config(const std::string& file, const std::string& body, ImportedJob& job) {
  ImportedJob with = job;
  try {
    read_yaml_config(file + " (here-document)", body, with);
    job = std::move(with);
  } catch (const InputError& problem) {
    job.report.left_out.push_back(printable(problem.what(), kLongestRefusal));
  }
}

void read_here_document(const std::string& file, const std::string& body, ImportedJob& job) {
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

bool is_flag(const std::string& word) {
  return word.size() > 2 && word.starts_with("--");
}

/// How long the begin of a word is that names a setting, of letters, digits, `_`, `-` and `.`.
std::size_t setting_name(std::string_view word) {
  const auto end = std::ranges::find_if(word, [](unsigned char c) {
    return std::isalnum(c) == 0 && c != '_' && c != '-' && c != '.';
  });
  return static_cast<std::size_t>(end - word.begin());
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
      const bool alone = i + 1 == words.size() || words[i + 1].starts_with("--");
      settings[name] = alone ? "true" : words[++i];
    } else {
      others.push_back(std::move(words[i]));
    }
  }
  words = std::move(others);
  return settings;
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

/// What a script starts from: what the user gives it, and the others, which it may run. Nodes that
/// the user asks for are those of its variables, so that what scripts derive of them follows.
ShellState state_before(const std::vector<Source>& sources, const ImportNames& names) {
  ShellState state = shell_state(names.script);
  const auto nodes = names.whole("plan.nodes");
  for (const Source& source : sources) {
    if (!source.script()) continue;
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

/// Scripts that others run or source are read as those do.
std::vector<const Source*> scripts_that_start(const std::vector<Source>& sources,
                                              const ImportNames& names) {
  std::vector<const Source*> scripts;
  for (const Source& source : sources) {
    if (source.script()) scripts.push_back(&source);
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

/// Flags with a value, by their names as configurations have them.
void note_flags(const std::vector<std::string>& words, ConfigValues& flags) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_flag(words[i])) continue;
    const std::size_t equals = words[i].find('=');
    std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '-', '_');
    if (equals != std::string::npos) {
      flags[name] = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      flags[name] = words[i + 1];
    }
  }
  std::erase_if(flags, [](const auto& flag) { return flag.second.find('$') != std::string::npos; });
}

/// What scripts set in a configuration has the last word on it, wherever it is among the files.
void note_settings(const std::vector<Source>& sources, const std::vector<const Source*>& scripts,
                   const ImportNames& names, ImportedJob& job) {
  ConfigValues& all = job.settings;
  ShellState state = state_before(sources, names);
  for (const Source* source : scripts) {
    LaunchScript script = read_launch_script(source->file, source->text, state);
    std::vector<std::string> words = words_of_training(script.words);
    ConfigValues own = take_settings(words);
    own.merge(all);
    all = std::move(own);
    note_flags(words, job.script_flags);
    state = std::move(script.state);
    state.arguments = shell_state(names.script).arguments;
  }
}

/// Programs that start themselves hear of nodes and devices from the environment.
void hear_of_devices(LaunchScript& script, ImportedJob& job) {
  constexpr const char* kPrograms[] = {"llamafactory-cli", "swift", "megatron"};
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"NNODES", "--nnodes"}, {"NPROC_PER_NODE", "--nproc-per-node"}};
  bool starts = false;
  for (std::size_t i = 0; i < script.words.size(); ++i) {
    const bool first = i == 0 || script.words[i - 1] == kCommandEnd;
    if (first && script.words[i] == "megatron") job.said.try_emplace(kSwiftMegatron, 1);
    if (first && script.words[i] == "swift") job.said.try_emplace(kSwift, 1);
    starts =
        starts || (first && std::ranges::find(kPrograms, script.words[i]) != std::end(kPrograms));
  }
  for (const auto& [variable, flag] : kVariables) {
    const auto found = script.state.variables.find(variable);
    if (!starts || found == script.state.variables.end() || job.says(flag)) continue;
    script.words.insert(script.words.end(), {flag, found->second});
  }
}

/// `train.py config/train_gpt2.py`: a program is given another as its configuration.
void note_python_config(const std::vector<std::string>& words, ImportedJob& job) {
  const auto is_python = [](std::string_view word) {
    return word.ends_with(".py") && !word.starts_with('-');
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_python(words[i - 1]) && is_python(words[i])) job.yaml_config_file = words[i];
  }
}

/// False for text without any flag, which says nothing of a job.
bool read_script(const Source& source, const ImportNames& names, ShellState& state,
                 ImportedJob& job) {
  LaunchScript script = read_launch_script(source.file, source.text, state);
  refuse_open_sizes(source.file, source.text, state, script);
  const auto before = std::exchange(state, script.state).scripts;
  state.arguments = shell_state(names.script).arguments;  // without what was shifted out
  for (const std::string& run : state.scripts) {
    if (!before.contains(run)) job.report.read.push_back(run + ": run by " + source.file);
  }
  state.scripts.insert(source.name());
  job.script = true;
  job.report.assumed.insert(job.report.assumed.end(), script.assumed.begin(), script.assumed.end());
  hear_of_devices(script, job);
  script.words = words_of_training(script.words);
  check_programs(source.file, script.words, job);
  note_python_config(script.words, job);
  for (const std::string& word : script.words) remember_substitutions(word, job);
  (void)take_settings(script.words);
  const std::size_t ignored = job.report.ignored.size();
  read_megatron_arguments(source.file, script.words, job);
  tell_by_names(ignored, job.report);
  job.report.read.push_back(source.file + ": launch script");
  for (const std::string& body : script.here_documents) {
    read_here_document(source.file, body, job);
  }
  read_launch(script, job);
  list_environment(script, job);
  follow_all_devices(job);
  if (!names.replaces("plan.nodes") && !names.replaces("plan.dp")) assume_one_node(script, job);
  if (job.model.name.empty()) {
    job.model.name = std::filesystem::path(source.file).stem().string();
  }
  const auto has_flags = [](const auto& variable) {
    return variable.second.find("--") != std::string::npos;
  };
  return !job.settings.empty() || std::any_of(script.words.begin(), script.words.end(), is_flag) ||
         std::any_of(state.variables.begin(), state.variables.end(), has_flags);
}

/// Files that set flags and leave it to another to start the program with them.
void read_unused_variables(const std::string& file, const ShellState& state, ImportedJob& job) {
  if (job.model.layers || job.model.hidden) return;
  for (const auto& [name, value] : state.variables) {
    if (state.used.contains(name) || value.find("--") == std::string::npos) continue;
    std::istringstream text(value);
    const std::vector<std::string> words{std::istream_iterator<std::string>(text),
                                         std::istream_iterator<std::string>()};
    if (std::none_of(words.begin(), words.end(), is_flag)) continue;
    job.report.assumed.push_back(
        fmt::format("{}: its flags are the program's, though no command names it", name));
    read_megatron_arguments(file, words, job);
  }
}

/// Files of one job assume the same.
void drop_repeats(std::vector<std::string>& lines) {
  std::set<std::string> seen;
  std::erase_if(lines, [&](const std::string& line) { return !seen.insert(line).second; });
}

/// The runs of a log, and the job as its last arguments have it.
void read_log(const std::string& file, const TrainingLog& log, const ImportNames& names,
              Import& import) {
  ImportReport report = std::move(import.job.report);
  import.job.report = {};
  report.read.push_back(fmt::format("{}: training log of {} iteration lines{}", file,
                                    log.iteration_lines,
                                    log.sections.back().arguments.empty() ? "" : " and arguments"));
  if (log.measured()) {
    std::vector<LoggedRun> runs = logged_runs(file, log, import.job, names, report);
    std::move(runs.begin(), runs.end(), std::back_inserter(import.runs));
  }
  const LogSection& last = log.sections.back();
  read_argument_dump(file, last.arguments, import.job);
  read_engine_arguments(last.engine_arguments, import.job);
  if (import.job.model.name.empty()) {
    import.job.model.name = std::filesystem::path(file).stem().string();
  }
  const ImportReport& dumped = import.job.report;
  report.assumed.insert(report.assumed.end(), dumped.assumed.begin(), dumped.assumed.end());
  report.left_out.insert(report.left_out.end(), dumped.left_out.begin(), dumped.left_out.end());
  import.job.report = std::move(report);
}

/// For runs a cluster, where the user names none; and the stack that the arguments fit, where that
/// cluster's own is not known to (it may lack what they ask for).
void assume_names(Import& import, const ImportNames& names) {
  ImportedJob& job = import.job;
  const auto assume = [&job](const char* what, const std::string& chosen) {
    job.report.assumed.push_back(
        fmt::format("{} {}: no file names it (--{} NAME)", what, chosen, what));
    return chosen;
  };
  const bool modern = job.plan.attention == AttentionKind::flash || job.megatron_core;
  if (!job.software &&
      (job.torchtitan.said() || std::ranges::any_of(import.runs, &LoggedRun::torchtitan))) {
    job.software = assume("software", "torchtitan-2025");
  }
  if (!job.software && job.says(kInternEvo)) job.software = assume("software", "internevo-2023");
  if (!job.software && (job.says("--tp-mode") || job.says("--pp-engine"))) {
    job.software = assume("software", "nanotron-2025");
  }
  if (!job.software && (!job.maxtext.empty() || job.says("--levanter"))) {  // both are JAX's
    job.software = assume("software", "maxtext-2025");
  }
  if (!job.software && job.torchtitan.family.ends_with("_causal_lm")) {  // llm-foundry's
    job.software = assume("software", "composer-late-2023");
  }
  const bool flash = job.plan.attention == AttentionKind::flash;
  const std::optional<Software> usual = look_up(job, names).software;  // the cluster's own
  const bool suits = usual &&
                     usual->framework == (job.deepspeed ? "megatron-deepspeed" : "megatron-lm") &&
                     (!flash || !usual->kernels.flash_kernel.empty());
  const std::int64_t zero = job.plan.zero.value_or(0);
  const bool sharded = zero > 1;
  // Hugging Face's and its like, and those that give a shape of their own to PyTorch's FSDP.
  const bool trainer = sharded && (!job.says("--num-layers") || job.says(kFullySharded));
  const bool offered = usual && std::ranges::count(usual->choices.zero, zero) > 0;
  if (!job.software && !job.deepspeed && trainer && !offered) {
    job.software = assume("software", "pytorch-fsdp2-2024");
  }
  if (!job.software && modern && suits) job.software = assume("software", usual->name);
  const bool foreign = usual && !suits && job.deepspeed && (job.says("--num-layers") || sharded);
  if (!job.software && (modern || foreign || (!job.cluster && !import.runs.empty()))) {
    // DeepSpeed's stacks were measured before they had flash attention.
    const char* with_flash = sharded ? "pytorch-fsdp2-2024" : "megatron-core-2024";
    const char* deepspeed = flash || trainer    ? with_flash
                            : modern || foreign ? "megatron-deepspeed-2023"
                                                : "megatron-deepspeed-2022";
    const char* megatron = modern ? "megatron-core-2024" : "megatron-lm-2021";
    job.software = assume("software", job.deepspeed ? deepspeed : megatron);
  }
  const bool hopper = job.device_type && job.device_type->find("h100") != std::string::npos;
  if (!job.cluster && !import.runs.empty()) {
    job.cluster = assume("cluster", hopper ? "dgx-h100" : "dgx-a100");
  }
  for (LoggedRun& run : import.runs) {
    run.job.cluster = job.cluster;
    run.job.software = job.software;
  }
}

std::string names_of(const std::vector<Source>& sources) {
  std::string text;
  for (const Source& source : sources) text += (text.empty() ? "" : ", ") + source.file;
  return text;
}

/// Says what a file looks like that gives no model, and what would do.
void refuse_known_kinds(const std::vector<Source>& sources, const ImportedJob& job) {
  for (const Source& source : sources) {
    if (!source.script()) continue;
    const std::string kind = what_it_looks_like(source.text);
    if (!kind.empty()) throw InputError(source.file + ": looks like " + kind);
  }
  if (job.model_named.empty() && !job.yaml_config_file.empty() && !job.yaml_config) {
    throw InputError(fmt::format(
        "{}: names the configuration {}, which is not among the files; with it they would do",
        names_of(sources), printable(job.yaml_config_file)));
  }
  if (job.model_named.empty()) return;
  throw InputError(fmt::format(
      "{}: names the model {} and not its shape; that file or its config.json beside it "
      "would do",
      names_of(sources), printable(job.model_named)));
}

/// What kept the shape of a model from being read: a value that only a run would tell, or files
/// that are not there.
std::string what_is_missing(const ImportedJob& job) {
  std::string text;
  for (const std::string& line : job.report.assumed) {
    const bool shape = line.starts_with("--num-layers is left out: ") ||
                       line.starts_with("--hidden-size is left out: ");
    if (!shape && !line.starts_with("nothing of ")) continue;
    text += "; " + line;
    if (text.size() > kLongestRefusal) break;
  }
  if (text.find("left out: $") != std::string::npos) text += "; --env NAME=VALUE gives it";
  return text;
}

/// Whether a variable or a function that was not known before has been asked for.
bool is_used(const ShellState& before, const ShellState& now) {
  return now.functions.size() > before.functions.size() ||
         std::ranges::any_of(now.variables, [&](const auto& variable) {
           const auto known = before.variables.find(variable.first);
           const bool same = known != before.variables.end() && known->second == variable.second;
           return !same && now.used.contains(variable.first);
         });
}

/// A model that the user names stands in the place of what files say of theirs.
void tell_named_model(const ImportNames& names, ImportedJob& job) {
  if (!names.model) return;
  const ImportedModel& said = job.model;
  const bool another = (said.layers && said.layers != names.model->layers) ||
                       (said.hidden && said.hidden != names.model->hidden);
  if (another) {
    job.report.assumed.push_back(fmt::format(
        "the model {}, which --model names, not that of the files", printable(names.model->name)));
  } else {
    job.report.read.push_back(
        fmt::format("the model {}: by --model", printable(names.model->name)));
  }
}
void use_named_model(const ImportNames& names, ImportedJob& job) {
  if (!names.model) return;
  job.model = *names.model;
  job.padded_vocab.reset();
  job.model_named.clear();
}

/// Models of scripts and configurations hold as many positions as they train with.
void assume_positions(ImportedJob& job) {
  if (!job.script || job.model.max_positions || !job.plan.seq_len) return;
  job.model.max_positions = job.plan.seq_len;
  job.report.assumed.push_back(
      fmt::format("max_position_embeddings {}: that of --seq-length", *job.plan.seq_len));
}

Import import_sources(const std::vector<Source>& sources, const ImportNames& names) {
  Import import;
  import.job.cluster = names.cluster;
  import.job.software = names.software;
  std::string unread;
  bool starts_another = false;  // of the files, which that one names
  ShellState unread_before;
  const std::vector<const Source*> scripts = scripts_that_start(sources, names);
  const auto& environment = shell_state(names.script).variables;
  import.job.environment.insert(environment.begin(), environment.end());
  note_settings(sources, scripts, names, import.job);
  ShellState state = state_before(sources, names);
  for (const Source& source : sources) {
    if (source.log.found()) continue;
    if (source.json) {
      const std::string text = filled_template(source.text, import.job, state);
      read_json(Document::parse(source.file, without_infinities(text)), import.job);
    } else if (source.yaml) {
      read_yaml_config(source.file, source.text, import.job);
    } else if (source.toml) {
      read_toml_config(source.file, source.text, import.job);
    } else if (source.python) {
      read_python_config(source.file, source.text, import.job);
    } else if (std::ranges::find(scripts, &source) == scripts.end()) {
      continue;
    } else if (const ShellState before = state; !read_script(source, names, state, import.job)) {
      unread = source.file;
      unread_before = before;
      starts_another = std::ranges::any_of(sources, [&](const Source& other) {
        return &other != &source && source.text.find(other.name()) != std::string::npos;
      });
    }
  }
  if (!unread.empty() && (is_used(unread_before, state) || starts_another)) unread.clear();
  if (!import.job.settings.empty()) {
    read_config_values(sources.front().file, import.job.settings, import.job);
    import.job.report.read.push_back("the command line's settings, over those of configurations");
  }
  tell_named_model(names, import.job);
  use_named_model(names, import.job);
  assume_positions(import.job);
  look_up_flavour(names.library, import.job);
  look_up_model(names.library, import.job);
  if (!import.job.maxtext.empty()) replace_by_names(import.job, names);  // its axes fill devices
  if (import.job.script) {
    read_unused_variables(sources.front().file, state, import.job);
    assume_megatron_defaults(import.job);
  }
  use_named_model(names, import.job);  // whatever flags of another model made of it
  ImportedJob said = import.job;
  replace_by_names(said, names);
  complete(said);
  refuse_contradictions(said, names_of(sources));
  for (const Source& source : sources) {
    if (source.log.found()) read_log(source.file, source.log, names, import);
  }
  const ImportedModel& model = import.job.model;
  const bool only_json =
      !names.model &&
      std::all_of(sources.begin(), sources.end(), [](const Source& source) { return source.json; });
  if (!only_json && (!model.layers || !model.hidden)) {
    refuse_known_kinds(sources, import.job);
    const std::string missing = what_is_missing(import.job);
    const std::string programs =
        import.job.programs.empty() ? "" : fmt::format("; it starts {}", import.job.programs);
    throw InputError(
        fmt::format("{}: no --num-layers and --hidden-size found{}{}; expected {}",
                    sources.front().file, programs, missing,
                    "a Megatron launch script, a configuration in YAML (NeMo, Megatron-Bridge, "
                    "GPT-NeoX) or TOML (torchtitan), a Hugging Face or DeepSpeed config, or a "
                    "training log (one without its arguments: together with its launch script)"));
  }
  if (!unread.empty()) {
    refuse_known_kinds(sources, import.job);
    throw InputError(unread + ": nothing that prequel reads: no flags, no JSON object, no log");
  }
  replace_by_names(import.job, names);
  complete(import.job);
  if (!only_json) assume_names(import, names);
  complete_by_names(import.job, names);
  count_parameters(import.job);
  ImportReport& report = import.job.report;
  for (auto* lines : {&report.assumed, &report.left_out, &report.ignored}) drop_repeats(*lines);
  return import;
}

/// Configs say the model or the batch, not the whole job.
void refuse_half_a_job(const Document& document, const ImportNames& names) {
  const std::string& file = document.file();
  if (is_hugging_face_config(document)) {
    throw InputError(file +
                     ": a Hugging Face config says the model alone; give it as --model, with "
                     "--cluster, --nodes, --gbs and the degrees of parallelism");
  }
  if (is_deepspeed_config(document) && !names.model) {
    throw InputError(file +
                     ": a DeepSpeed config does not say the model; --model NAME or config.json "
                     "does, or prequel import, which makes a job of it and a launch script");
  }
}

}  // namespace

Import import_files(const std::vector<std::string>& files, const ImportNames& names) {
  std::vector<Source> sources;
  for (const std::string& file : files) add_sources(file, sources);
  return import_sources(sources, names);
}

std::optional<Translated> translate_job(const std::string& path, const ImportNames& names) {
  std::error_code ignored;
  if (path != "-" && !std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::vector<Source> sources;
  add_sources(path, sources);
  Source& source = sources.front();
  if (source.json) {
    const Document document = Document::parse(source.file, without_infinities(source.text));
    refuse_half_a_job(document, names);
    if (!is_deepspeed_config(document)) {
      if (path != "-") return std::nullopt;
      return Translated{std::move(source.text), {}, {}};
    }
  }
  const Import import = import_sources(sources, names);
  return Translated{job_json(import.job, source.file), software_fields(import.job),
                    import.job.report};
}

std::optional<Translated> translate_model(const std::string& path) {
  std::error_code ignored;
  if (!is_path(path) || !std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  return translate_model_text(path, read_file(path));
}

std::optional<Translated> translate_model_text(const std::string& file, const std::string& text) {
  if (!is_json(text)) {
    throw InputError(file +
                     ": no JSON object; expected a model file or a Hugging Face config.json (a "
                     "launch script is a whole job: prequel predict SCRIPT)");
  }
  const Document document = Document::parse(file, without_infinities(text));
  if (!is_hugging_face_config(document)) return std::nullopt;
  ImportedJob job;
  read_hugging_face_config(document, job);
  count_parameters(job);
  return Translated{model_json(job.model, file), {}, job.report};
}

}  // namespace prequel
