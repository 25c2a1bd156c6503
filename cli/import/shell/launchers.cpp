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
#include "hw/base/text.hpp"

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

/// Requests for nodes or for devices of one in the words of other schedulers: `select=4:ngpus=8` of
/// PBS, `nodes=4:ppn=8:gpus=8` of Torque, `-nnodes 64` and `-gpu "num=8"` of LSF, `node=4x8x12` of
/// Fugaku's torus, `-n 64` of Cobalt, `rt_F=16` and `node_f=16` of ABCI and of TSUBAME.
struct Request {
  std::string_view scheduler, name, option;
};
constexpr Request kRequests[] = {
    {"#PBS", "select=", "--nodes"},        {"#PBS", "nodes=", "--nodes"},
    {"#PBS", "ngpus=", "--gpus-per-node"}, {"#PBS", "gpus=", "--gpus-per-node"},
    {"#BSUB", "-nnodes ", "--nodes"},      {"#BSUB", "num=", "--gpus-per-node"},
    {"#PJM", "node=", "--nodes"},          {"#PJM", "gpu=", "--gpus-per-node"},
    {"#COBALT", "-n ", "--nodes"},         {"#$", "rt_F=", "--nodes"},
    {"#$", "rt_AF=", "--nodes"},           {"#$", "node_f=", "--nodes"},
    {"#$", "f_node=", "--nodes"}};

/// A whole number at the begin of a text: 4 of `4:ncpus=64`.
std::optional<long long> leading_number(std::string_view text) {
  return parse_integer(text.substr(0, text.find_first_not_of("0123456789")));
}

/// The number of `4x8x2` or `4:ngpus=8+1:ngpus=8`, 0 for what is none.
long long amount(std::string_view text) {
  long long sum = 0;
  long long product = 1;
  while (true) {
    const long long one = leading_number(text).value_or(0);
    product = one < kMostUnits && product < kMostUnits ? product * one : kMostUnits;
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
    if (!text.starts_with('x')) {
      sum += std::exchange(product, 1);
      text.remove_prefix(std::min(text.find('+'), text.size()));
      if (text.empty() || sum > kMostUnits) return sum;
    }
    text.remove_prefix(1);
  }
}

void ask(std::vector<std::string>& options, std::string_view option,
         std::optional<long long> count) {
  if (count && *count > 0 && *count < kMostUnits)
    options.push_back(fmt::format("{}={}", option, *count));
}

/// Returns the options that a line asks a scheduler for; the first of several for the same counts.
std::vector<std::string> requested(std::string_view scheduler, std::string_view line) {
  std::vector<std::string> options;
  for (const Request& one : kRequests) {
    const std::size_t at = one.scheduler == scheduler ? line.find(one.name) : line.npos;
    if (at == line.npos || (at > 0 && (is_name_letter(line[at - 1]) || line[at - 1] == '-'))) {
      continue;
    }
    const std::string_view behind = line.substr(at + one.name.size());
    const bool nodes = one.option == "--nodes";
    const bool asked = std::ranges::any_of(
        options, [&](const std::string& other) { return other.starts_with(one.option); });
    if (asked) continue;
    ask(options, one.option,
        nodes ? amount(behind.substr(0, behind.find_first_of(", \""))) : leading_number(behind));
  }
  return options;
}

std::vector<std::string> slurm_options(std::string_view line) {
  std::vector<std::string> options;
  split_words(line.substr(0, line.find(" #")), options);
  for (std::string& option : options) {
    const auto* const brief = std::ranges::find(kSlurmBriefs, option, &OtherName::name);
    if (brief != std::end(kSlurmBriefs)) option = brief->option;
  }
  return options;
}

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

/// Returns what launchers ask for in words of their own: resource sets of LSF's jsrun, how many,
/// how many on a node, and the devices of one; DeepSpeed's `--include host1:0,1@host2:0,1`; `qsub
/// -l select=8:ngpus=4`; TorchX's nodes and devices of one, `-j 4x8`.
std::vector<std::string> asked_by(const std::vector<std::string>& command) {
  const std::string program = program_of(command);
  const auto value = [&](std::string_view brief, std::string_view full) {
    return option_value(command, brief).value_or(option_value(command, full).value_or(""));
  };
  std::vector<std::string> options;
  if (program == "jsrun") {
    const long long devices = amount(value("-g", "--gpu_per_rs"));
    ask(options, "--gpus", devices * amount(value("-n", "--nrs")));
    ask(options, "--gpus-per-node", devices * amount(value("-r", "--rs_per_host")));
  } else if (const std::string hosts = value("--include", "--include");
             program == "deepspeed" && !hosts.empty() && hosts.find('$') == hosts.npos) {
    const std::string_view first = std::string_view(hosts).substr(0, hosts.find('@'));
    const std::size_t colon = std::min(first.find(':'), first.size());
    ask(options, "--num_nodes", std::ranges::count(hosts, '@') + 1);
    if (colon < first.size()) {
      ask(options, "--num_gpus", std::ranges::count(first.substr(colon), ',') + 1);
    }
  } else if (program == "qsub") {
    options = requested("#PBS", in_one_line(command));
  } else if (program == "torchx") {
    const std::string shape = value("-j", "-j");
    const std::size_t sign = std::min(shape.find('x'), shape.size());
    ask(options, "--nnodes", leading_number(shape));
    ask(options, "--gpus-per-node", leading_number(shape.substr(std::min(sign + 1, shape.size()))));
  }
  return options;
}

}  // namespace

std::vector<std::string> scheduler_options(std::string_view line) {
  const std::string_view mark = line.substr(0, line.find_first_of(" \t"));
  return mark == "#SBATCH" ? slurm_options(line.substr(mark.size())) : requested(mark, line);
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
  const std::vector<std::string> asked = asked_by(command);
  if (!asked.empty()) command.insert(command.begin() + 1, asked.begin(), asked.end());
  // `litgpt pretrain pythia-160m` names a model without a flag.
  const bool model = program == "litgpt" && command.size() > 2 && !command[2].starts_with('-');
  if (model) command[2] = "--litgpt-model=" + command[2];
  if (program == "flux" && command.size() > 2) {  // flux run -N 8
    command.erase(command.begin() + 1);
    return spell_out(command, kSlurmBriefs);
  }
  const auto* const found = std::ranges::find(kLaunchers, program, &Launcher::program);
  if (found != std::end(kLaunchers)) spell_out(command, found->briefs);
}

}  // namespace prequel
