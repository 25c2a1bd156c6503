#include "cli/import/shell/launchers.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/files.hpp"

namespace prequel {
namespace {

constexpr long long kMostUnits = 1LL << 20;  // of nodes, or of devices of one

struct OtherName {
  std::string_view name, option;
};

/// Slurm's options in brief, and the variables that it sets from the long ones.
constexpr OtherName kSlurmBriefs[] = {{"-N", "--nodes"}, {"-n", "--ntasks"}, {"-G", "--gpus"}};
constexpr OtherName kSlurmVariables[] = {{"--nodes", "SLURM_NNODES"},
                                         {"--nodes", "SLURM_JOB_NUM_NODES"},
                                         {"--nodes", "NHOSTS"},
                                         {"--nodes", "PBS_NUM_NODES"},
                                         {"--ntasks", "SLURM_NTASKS"},
                                         {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
                                         {"--gpus", "SLURM_GPUS"},
                                         {"--gpus-per-node", "SLURM_GPUS_PER_NODE"},
                                         {"--gpus-per-node", "SLURM_GPUS_ON_NODE"},
                                         {"--gres", "SLURM_GPUS_ON_NODE"}};
constexpr OtherName kMpiBriefs[] = {{"-n", "-np"},
                                    {"-N", "--ntasks-per-node"},
                                    {"-npernode", "--ntasks-per-node"},
                                    {"--npernode", "--ntasks-per-node"},
                                    {"--ppn", "--ntasks-per-node"},
                                    {"-ppn", "--ntasks-per-node"}};
constexpr OtherName kComposerBriefs[] = {{"-n", "--nproc-per-node"},
                                         {"--nproc", "--nproc-per-node"},
                                         {"--world_size", "--num-processes"}};

/// llm.c's program, whose batch is counted in tokens.
constexpr OtherName kLlmcBriefs[] = {{"-b", "--micro-batch-size"},
                                     {"-t", "--seq-length"},
                                     {"-d", "--total-batch-tokens"},
                                     {"-z", "--zero-stage"},
                                     {"-e", "--model"}};

struct Launcher {
  std::string_view program;
  std::span<const OtherName> briefs;
};
constexpr Launcher kLaunchers[] = {{"srun", kSlurmBriefs},       {"sbatch", kSlurmBriefs},
                                   {"salloc", kSlurmBriefs},     {"mpirun", kMpiBriefs},
                                   {"mpiexec", kMpiBriefs},      {"mpiexec.hydra", kMpiBriefs},
                                   {"composer", kComposerBriefs}};

/// Programs with options of one letter, wherever in a command they stand.
constexpr Launcher kPrograms[] = {{"train_gpt2cu", kLlmcBriefs}, {"train_gpt2fp32cu", kLlmcBriefs}};

/// A whole number at the begin of a text: 4 of `4:ncpus=64`.
std::optional<long long> leading_number(std::string_view text) {
  const auto* const end =
      std::ranges::find_if(text, [](unsigned char c) { return std::isdigit(c) == 0; });
  return parse_integer(std::string(text.begin(), end));
}

/// Returns the text after `NAME=`; empty where that is not in the text.
std::string_view value_in(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  return text.substr(0, text.find_first_of(":+,\" "));
}

void ask(std::vector<std::string>& options, const char* option, std::optional<long long> count) {
  if (count && *count > 0 && *count < kMostUnits)
    options.push_back(fmt::format("{}={}", option, *count));
}

/// `select=4:ngpus=8+1:ngpus=8`, and `nodes=4:ppn=8:gpus=8` of Torque.
std::vector<std::string> pbs_options(std::string_view line) {
  std::vector<std::string> options;
  std::string_view chunks = line.substr(std::min(line.find("select="), line.size()));
  std::optional<long long> nodes = leading_number(value_in(line, "nodes="));
  if (!chunks.empty()) {
    chunks.remove_prefix(std::string_view("select=").size());
    nodes = 0;
    while (!chunks.empty()) {
      *nodes += std::min(leading_number(chunks).value_or(0), kMostUnits);
      const std::size_t plus = chunks.find('+');
      chunks = plus == std::string_view::npos ? "" : chunks.substr(plus + 1);
    }
  }
  ask(options, "--nodes", nodes);
  if (options.empty()) return options;
  std::string_view gpus = value_in(line, "ngpus=");
  if (gpus.empty()) gpus = value_in(line, ":gpus=");
  ask(options, "--gpus-per-node", leading_number(gpus));
  return options;
}

/// `-nnodes 64` and `-gpu "num=8"`.
std::vector<std::string> lsf_options(std::string_view line) {
  std::vector<std::string> options;
  std::vector<std::string> words;
  split_words(line, words);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-nnodes") ask(options, "--nodes", parse_integer(words[i + 1]));
  }
  ask(options, "--gpus-per-node", leading_number(value_in(line, "num=")));
  return options;
}

/// `node=384`, or `node=4x8x12` of a torus.
std::vector<std::string> fugaku_options(std::string_view line) {
  std::vector<std::string> options;
  std::string_view shape = value_in(line, "node=");
  if (line.find("per-node=") != std::string_view::npos) shape = {};  // of processes
  std::optional<long long> nodes;
  for (std::size_t at = 0; at < shape.size();) {
    const auto one = leading_number(shape.substr(at));
    if (!one || *one >= kMostUnits || nodes.value_or(1) >= kMostUnits) return options;
    nodes = nodes.value_or(1) * *one;
    at = std::min(shape.find('x', at), shape.size() - 1) + 1;
  }
  ask(options, "--nodes", nodes);
  ask(options, "--gpus-per-node", leading_number(value_in(line, "gpu=")));
  return options;
}

std::vector<std::string> slurm_options(std::string_view line) {
  std::vector<std::string> options;
  split_words(line.substr(0, line.find(" #")), options);
  for (std::string& option : options) {
    for (const auto& [brief, full] : kSlurmBriefs) {
      if (option == brief) option = full;
    }
  }
  return options;
}

std::vector<std::string> cobalt_options(std::string_view line) {
  std::vector<std::string> words;
  std::vector<std::string> options;
  split_words(line, words);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-n") ask(options, "--nodes", parse_integer(words[i + 1]));
  }
  return options;
}

/// Whole nodes of ABCI and of TSUBAME: `-l rt_F=16`, `-l node_f=16`.
std::vector<std::string> grid_engine_options(std::string_view line) {
  std::vector<std::string> options;
  for (const std::string_view kind : {"rt_F=", "rt_AF=", "node_f=", "f_node="}) {
    if (options.empty()) ask(options, "--nodes", leading_number(value_in(line, kind)));
  }
  return options;
}

struct Scheduler {
  std::string_view mark;
  std::vector<std::string> (*options)(std::string_view line);
};
constexpr Scheduler kSchedulers[] = {{"#SBATCH", slurm_options},  {"#PBS", pbs_options},
                                     {"#BSUB", lsf_options},      {"#PJM", fugaku_options},
                                     {"#COBALT", cobalt_options}, {"#$", grid_engine_options}};

void spell_out(std::vector<std::string>& command, std::span<const OtherName> briefs,
               std::size_t program = 0) {
  for (std::size_t i = program + 1; i < command.size(); ++i) {
    const bool option = command[i].starts_with('-');
    if (!option && !command[i - 1].starts_with('-')) return;  // the program that is launched
    for (const auto& [brief, full] : briefs) {
      const std::string_view rest =
          std::string_view(command[i])
              .substr(command[i].starts_with(brief) ? brief.size() : command[i].size());
      if (command[i] == brief) {
        command[i] = full;
      } else if (!rest.empty() && brief.size() == 2 &&
                 std::isdigit(static_cast<unsigned char>(rest[0])) != 0) {
        command[i] = fmt::format("{}={}", full, rest);  // -N8
      } else if (rest.starts_with('=')) {
        command[i] = fmt::format("{}{}", full, rest);
      }
    }
  }
}

/// LSF's jsrun counts resource sets: how many, how many on a node, and the devices of one.
void spell_out_resource_sets(std::vector<std::string>& command) {
  struct Option {
    std::string_view brief, full;
    std::string value;
  };
  Option options[] = {{"-n", "--nrs", {}}, {"-r", "--rs_per_host", {}}, {"-g", "--gpu_per_rs", {}}};
  std::size_t end = 1;  // of the options
  while (end < command.size() && command[end].starts_with('-')) {
    const std::string& word = command[end++];
    const std::size_t equals = word.find('=');
    const bool attached = !word.starts_with("--") && word.size() > 2;
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (attached) {
      value = word.substr(2);
    } else if (end < command.size()) {
      value = command[end++];
    }
    for (Option& one : options) {
      if (word.substr(0, equals) == one.full || word.substr(0, 2) == one.brief) one.value = value;
    }
  }
  const auto sets = parse_integer(options[0].value);
  const auto on_node = parse_integer(options[1].value);
  const auto devices = parse_integer(options[2].value);
  std::vector<std::string> spelt{command.front()};
  if (devices && *devices < kMostUnits) {
    if (sets && *sets < kMostUnits) ask(spelt, "--gpus", *sets * *devices);
    if (on_node && *on_node < kMostUnits) ask(spelt, "--gpus-per-node", *on_node * *devices);
  }
  command.erase(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(end));
  command.insert(command.begin(), spelt.begin(), spelt.end());
}

/// DeepSpeed's `--include host1:0,1@host2:0,1` as nodes and devices of one.
void spell_out_included(std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    std::string value;
    if (command[i].starts_with("--include=")) value = command[i].substr(10);
    if (command[i] == "--include" && i + 1 < command.size()) value = command[i + 1];
    if (value.empty() || value.find('$') != std::string::npos) continue;
    const std::string_view first = std::string_view(value).substr(0, value.find('@'));
    const std::size_t colon = first.find(':');
    std::vector<std::string> spelt;
    ask(spelt, "--num_nodes", std::ranges::count(value, '@') + 1);
    if (colon != std::string_view::npos) {
      ask(spelt, "--num_gpus", std::ranges::count(first.substr(colon), ',') + 1);
    }
    command.insert(command.begin() + 1, spelt.begin(), spelt.end());
    return;
  }
}

/// Spells out the request of `qsub -l select=8:ngpus=4` as a `#PBS` line would.
void spell_out_request(std::vector<std::string>& command) {
  const auto options = pbs_options(fmt::format("{}", fmt::join(command, " ")));
  command.insert(command.begin() + 1, options.begin(), options.end());
}

/// TorchX's nodes and devices of one: `-j 4x8`.
void spell_out_replicas(std::vector<std::string>& command) {
  const auto found = std::ranges::find(command, "-j");
  if (command.end() - found < 2) return;
  const std::string value = *(found + 1);
  const std::size_t sign = std::min(value.find('x'), value.size());
  std::vector<std::string> spelt;
  ask(spelt, "--nnodes", parse_integer(value.substr(0, sign)));
  ask(spelt, "--gpus-per-node",
      leading_number(std::string_view(value).substr(std::min(sign + 1, value.size()))));
  command.insert(command.begin() + 1, spelt.begin(), spelt.end());
}

/// `litgpt pretrain pythia-160m`, which names a model without a flag.
void spell_out_model(std::vector<std::string>& command) {
  const bool named = command.size() > 2 && !command[2].starts_with('-');
  if (named) command[2] = "--litgpt-model=" + command[2];
}

}  // namespace

std::vector<std::string> scheduler_options(std::string_view line) {
  const auto* const found = std::ranges::find_if(
      kSchedulers, [&](const Scheduler& one) { return line.starts_with(one.mark); });
  if (found == std::end(kSchedulers)) return {};
  return found->options(line.substr(found->mark.size()));
}

std::vector<std::pair<std::string, std::string>> scheduler_variables(
    const std::vector<std::string>& options) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::size_t equals = options[i].find('=');
    const std::string_view option = std::string_view(options[i]).substr(0, equals);
    std::string value;
    if (equals != std::string::npos) value = options[i].substr(equals + 1);
    if (value.empty() && i + 1 < options.size()) value = options[i + 1];
    for (const auto& [name, variable] : kSlurmVariables) {
      // `gpu:a100:4` is four of them
      if (name == option) variables.emplace_back(variable, value.substr(value.rfind(':') + 1));
    }
  }
  return variables;
}

std::string program_of(const std::vector<std::string>& command) {
  return command.empty() ? std::string() : file_name(command.front());
}

void spell_out_launcher(std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const auto* const known =
        std::ranges::find(kPrograms, file_name(command[i]), &Launcher::program);
    if (known != std::end(kPrograms)) return spell_out(command, known->briefs, i);
  }
  const std::string program = program_of(command);
  if (program == "jsrun") return spell_out_resource_sets(command);
  if (program == "deepspeed") return spell_out_included(command);
  if (program == "litgpt") return spell_out_model(command);
  if (program == "qsub") return spell_out_request(command);
  if (program == "torchx") return spell_out_replicas(command);
  if (program == "flux" && command.size() > 2) {  // flux run -N 8
    command.erase(command.begin() + 1);
    return spell_out(command, kSlurmBriefs);
  }
  const auto* const found = std::ranges::find(kLaunchers, program, &Launcher::program);
  if (found != std::end(kLaunchers)) spell_out(command, found->briefs);
}

}  // namespace prequel
