#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/command_tree.hpp"

namespace prequel {
namespace {

/// Options and positionals that take a name of the library, and the kind that lists it.
constexpr std::array<std::pair<std::string_view, const char*>, 5> kLibraryNames{
    {{"--model", "models"},
     {"--device", "devices"},
     {"--cluster", "clusters"},
     {"--software", "software"},
     {"job", "jobs"}}};

// Each shell asks the program what may follow: the words before the cursor, --, and the word there.
constexpr const char* kBash = R"(# bash completion of prequel, written by `prequel completion bash`.
_prequel() {
  mapfile -t COMPREPLY < <(prequel completion words "${COMP_WORDS[@]:1:COMP_CWORD-1}" -- \
    "${COMP_WORDS[COMP_CWORD]}" 2>/dev/null | cut -f1)
}
complete -o default -F _prequel prequel
)";
constexpr const char* kZsh = R"(#compdef prequel
# zsh completion of prequel, written by `prequel completion zsh`.
_prequel() {
  local -a entries
  local word help
  while IFS=$'\t' read -r word help; do
    entries+=("${word//:/\\:}:$help")
  done < <(prequel completion words "${(@)words[2,CURRENT-1]}" -- "${words[CURRENT]}" 2>/dev/null)
  _describe -o argument entries
  _files
}
compdef _prequel prequel
)";
constexpr const char* kFish = R"(# fish completion of prequel, written by `prequel completion fish`.
complete -c prequel -a '(prequel completion words (commandline -opc)[2..-1] -- (commandline -ct) 2>/dev/null)'
)";

/// Words with what they mean.
using Offers = std::vector<std::pair<std::string, std::string>>;

/// Adds the values that an option or a positional takes, as far as they are known.
void add_values(const OptionDescription& option, const NamesOfKind& names, Offers& offers) {
  for (const std::string& choice : option.choices) offers.emplace_back(choice, "");
  for (const auto& [taker, kind] : kLibraryNames) {
    if (option.names.back() != taker) continue;
    for (const std::string& name : names(kind)) offers.emplace_back(name, "");
  }
}

}  // namespace

std::string completion_script(Shell shell) {
  return shell == Shell::bash ? kBash : shell == Shell::zsh ? kZsh : kFish;
}

std::string completions(const CommandDescription& program, const std::vector<std::string>& before,
                        const std::string& typed, const NamesOfKind& names) {
  const CommandDescription* command = &program;
  for (const std::string& word : before) {
    const auto sub = std::ranges::find(command->commands, word, &CommandDescription::name);
    if (sub != command->commands.end()) command = &*sub;
  }
  Offers offers;
  const OptionDescription* waiting = nullptr;  // for its value
  for (const CommandDescription* level : {&program, command}) {
    for (const OptionDescription& option : level->options) {
      const bool is_last =
          !before.empty() && std::ranges::find(option.names, before.back()) != option.names.end();
      if (is_last && !option.value.empty()) waiting = &option;
    }
  }
  if (waiting != nullptr) {
    add_values(*waiting, names, offers);
  } else {
    for (const CommandDescription& sub : command->commands) {
      offers.emplace_back(sub.name(), sub.help);
    }
    for (const OptionDescription& option : command->options) {
      for (const std::string& name : option.names) offers.emplace_back(name, option.help);
    }
    for (const OptionDescription& one : command->positionals) add_values(one, names, offers);
  }
  std::string lines;
  for (const auto& [word, help] : offers) {
    if (word.starts_with(typed)) lines += fmt::format("{}\t{}\n", word, help);
  }
  return lines;
}

}  // namespace prequel
