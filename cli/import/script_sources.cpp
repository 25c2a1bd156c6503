#include "cli/import/script_sources.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "cli/import/shell/launch_script.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "cli/import/training_programs.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

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

}  // namespace

bool is_flag(const std::string& word) {
  return word.size() > 2 && word.starts_with("--");
}

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

void note_settings(const std::vector<Source>& sources, const std::vector<const Source*>& scripts,
                   const ImportNames& names, Facts& job) {
  ConfigValues& all = job.settings;
  ShellState state = state_before(sources, names);
  for (const Source* source : scripts) {
    LaunchScript script = read_launch_script(source->file, source->text, state);
    std::vector<std::string> words = words_of_training(script.words, *job.names).words;
    ConfigValues own = take_settings(words);
    own.merge(all);
    all = std::move(own);
    note_flags(words, job.script_flags);
    state = std::move(script.state);
    state.arguments = shell_state(names.script).arguments;
  }
}

namespace {

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

}  // namespace

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

std::string filled_template(const std::string& text, const Facts& job, const ShellState& state) {
  return with_variables(substituted(text, job), state);
}

}  // namespace prequel
