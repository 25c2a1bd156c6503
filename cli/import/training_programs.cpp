#include "cli/import/training_programs.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "cli/import/shell/launch_script.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// Parts of programs' paths, and what such a program does.
using Programs = std::vector<std::pair<std::string, std::string>>;

/// Returns what a program does by the first part that its path has; null if it has none.
const std::string* known_as(std::string_view word, const Programs& programs) {
  const auto found = std::ranges::find_if(
      programs, [&](const auto& one) { return word.find(one.first) != std::string_view::npos; });
  return found == programs.end() ? nullptr : &found->second;
}

/// Tests whether a word is a program. The text for a folder may hold blanks: `$(dirname
/// $0)/train.py`.
bool is_program(std::string_view word, const ForeignNames& names) {
  const std::size_t folder = word.find_last_of(")`");
  if (folder != std::string_view::npos) word.remove_prefix(folder);
  // A program that a package installs has no ending: train_esm2.
  if (word.starts_with("train_") && is_variable_name(word) && known_as(word, names.no_decoders)) {
    return true;
  }
  return word.ends_with(".py") && word.find_first_of(" =\t\n") == std::string_view::npos;
}

/// `openrlhf.cli.train_sft`.
bool is_name_of_module(std::string_view word) {
  return word.find('.') != std::string_view::npos &&
         word.find_first_of(" =/$") == std::string_view::npos;
}

/// A command of a script, and what it starts.
struct Command {
  std::vector<std::string> words;
  std::string program;  ///< its own name, without folders; empty: none that is known as one
  bool other{};         ///< it trains nothing
  bool several{};       ///< it trains several models, or one on answers of another
};

/// Returns what a command starts: a program of Python, a module, or a trainer's own command.
std::string started_by(const std::vector<std::string>& words, const ForeignNames& names) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (is_program(word, names)) return word.substr(word.rfind('/') + 1);  // npos + 1 is 0
    const bool module = i > 0 && (words[i - 1] == "-m" || words[i - 1] == "--module");
    const bool runs = word.starts_with("torch.distributed");  // another program
    if (module && !runs && is_name_of_module(word)) return word;
    if (names.has_word("trainers", word) && i + 1 < words.size()) return word + " " + words[i + 1];
  }
  return {};
}

std::vector<Command> commands_of(const std::vector<std::string>& words, const ForeignNames& names) {
  std::vector<Command> commands;
  for (auto begin = words.begin(); begin != words.end();) {
    const auto end = std::find(begin, words.end(), kCommandEnd);
    Command& one = commands.emplace_back();
    one.words.assign(begin, end);
    one.program = started_by(one.words, names);
    const auto program = std::ranges::find_if(
        one.words, [&](const std::string& word) { return is_program(word, names); });
    one.other = known_as(one.program, names.no_training) != nullptr ||
                (program != one.words.end() && known_as(*program, names.no_training) != nullptr);
    one.several = known_as(one.program, names.several_models) != nullptr;
    begin = end == words.end() ? end : end + 1;
  }
  return commands;
}

/// Tests whether a command sets most of what the one before it does.
bool stands_for(const Command& later, const Command& before) {
  std::ptrdiff_t flags = 0;
  std::ptrdiff_t same = 0;
  const std::set<std::string_view> said(later.words.begin(), later.words.end());
  for (const std::string& word : before.words) {
    if (!word.starts_with("--")) continue;
    ++flags;
    if (said.contains(word)) ++same;
  }
  return 2 * same >= flags;
}

/// Returns what the later command says otherwise, for people: `--num-layers 32, not 24`.
std::string differences(const Command& before, const Command& later) {
  constexpr std::size_t kMost = 3;
  constexpr std::size_t kLongest = 60;
  std::vector<std::string> told;
  for (std::size_t i = 0; i + 1 < later.words.size() && told.size() < kMost; ++i) {
    const std::string& flag = later.words[i];
    if (!flag.starts_with("--") || later.words[i + 1].starts_with("--")) continue;
    const auto same = std::ranges::find(before.words, flag);
    if (same == before.words.end() || same + 1 == before.words.end()) continue;
    if (*(same + 1) == later.words[i + 1] || (same + 1)->starts_with("--")) continue;
    told.push_back(fmt::format("{} {}, not {}", printable(flag, kLongest),
                               printable(later.words[i + 1], kLongest),
                               printable(*(same + 1), kLongest)));
  }
  return told.empty() ? std::string() : fmt::format(" ({})", fmt::join(told, "; "));
}

/// A first training is what is predicted where others follow on its model; whose programs' names
/// say that they train.
std::string drop_later_stages(std::vector<Command>& commands, const ForeignNames& names) {
  const auto trains_one = std::ranges::find_if(commands, [&](const Command& one) {
    return !one.other && !one.several && has_part(one.program, names.words_of("training"));
  });
  std::string told;
  for (Command& one : commands) {
    if (trains_one == commands.end() || !one.several || one.other) continue;
    told = fmt::format("{} alone, without {}, which {}", printable(trains_one->program, 80),
                       printable(one.program, 80), *known_as(one.program, names.several_models));
    one.words.clear();
  }
  return told;
}

/// Drops all but the last command of a program that a script starts several times.
std::string drop_earlier_trainings(std::vector<Command>& commands) {
  constexpr std::ptrdiff_t kMostLater = 64;  // commands that one is compared with
  std::string told;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Command& one = commands[i];
    if (one.program.empty() || one.other) continue;
    const auto next = commands.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto last = next + std::min(kMostLater, commands.end() - next);
    const auto later = std::find_if(next, last, [&](const Command& other) {
      return other.program == one.program && stands_for(other, one);
    });
    if (later == last) continue;
    if (later->words != one.words) {
      told = fmt::format("the last of several commands that start {}{}", printable(one.program, 80),
                         differences(one, *later));
    }
    one.words.clear();
  }
  return told;
}

}  // namespace

TrainingWords words_of_training(const std::vector<std::string>& words, const ForeignNames& names) {
  std::vector<Command> commands = commands_of(words, names);
  const bool trains = std::ranges::any_of(
      commands, [](const Command& one) { return !one.program.empty() && !one.other; });
  TrainingWords training;
  for (std::string told : {drop_later_stages(commands, names), drop_earlier_trainings(commands)}) {
    if (!told.empty()) training.told.push_back(std::move(told));
  }
  for (const Command& one : commands) {
    if ((trains && one.other) || one.words.empty()) continue;
    training.words.insert(training.words.end(), one.words.begin(), one.words.end());
    training.words.emplace_back(kCommandEnd);
  }
  return training;
}

void check_programs(const std::string& file, const std::vector<std::string>& words, Facts& job) {
  const ForeignNames& names = *job.names;
  std::vector<std::string> programs;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool module =  // of Python, by its name
        i > 0 && (words[i - 1] == "-m" || words[i - 1] == "--module");
    if (module || is_program(words[i], names)) programs.push_back(words[i]);
    if (i > 0 && words[i - 1] == "trl") (void)takes_objective_of(words[i], job);
  }
  for (const std::string& program : programs) {
    if (job.text("programs").size() > 100 ||
        job.text("programs").find(program) != std::string::npos)
      continue;
    job.set("programs",
            job.text("programs") + (job.says("programs") ? " and " : "") + printable(program, 80));
  }
  for (const std::string& program : programs) {
    if (program.find("torchtitan") != std::string::npos) job.set_flag("torchtitan.trains");
    constexpr std::string_view kTrain = "pretrain_";
    const std::size_t at = program.rfind(kTrain);
    if (at == std::string::npos || job.says("model_of_program")) continue;
    const std::string_view rest = std::string_view(program).substr(at + kTrain.size());
    job.set("model_of_program", std::string(rest.substr(0, rest.find('.'))));
  }
  const bool trains_decoder = std::ranges::any_of(programs, [&](const std::string& program) {
    return program.find("gpt") != std::string::npos &&
           known_as(program, names.no_decoders) == nullptr &&
           known_as(program, names.no_training) == nullptr;
  });
  if (trains_decoder) return;
  for (const std::string& program : programs) {
    const bool ended = program.ends_with(".py");  // else a module: openrlhf.cli.train_sft
    const std::string_view own =
        std::string_view(program).substr(program.rfind(ended ? '/' : '.') + 1);
    if (takes_objective_of(own, job)) continue;
    if (const std::string* several = known_as(own, names.several_models)) {
      job.report.left_out.push_back(
          fmt::format("{}: {}; prequel predicts training one model on the same tokens",
                      printable(program), *several));
    } else if (const std::string* found = known_as(program, names.no_training)) {
      job.report.left_out.push_back(fmt::format("{}: {}; prequel predicts training the same model",
                                                printable(program), *found));
    } else if (const std::string* other = known_as(program, names.no_decoders)) {
      throw InputError(fmt::format("{}: {}: trains {}; prequel models decoders only", file,
                                   printable(program), *other));
    }
  }
}

}  // namespace prequel
