#include "cli/import/shell/script_reader.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cli/import/shell/launchers.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostExpanded = 4u << 20;
constexpr std::size_t kLongestTold = 60;    // of a value, in reports
constexpr std::size_t kLongestTest = 1024;  // words

/// Commands that read what to do from a here-document, and those that name a function's own.
constexpr const char* kReadCommands[] = {"bash", "sh", "sbatch", "srun", "ssh"};
constexpr const char* kReaders[] = {"read", "mapfile", "readarray"};
constexpr const char* kSetters[] = {"export", "local", "declare", "typeset", "readonly", "env"};
/// Commands whose words start nothing.
constexpr const char* kNoOutput[] = {"return", "exit",    "shift",    "local",  "declare",
                                     "export", "typeset", "readonly", "source", "."};
/// Programs of Python that packages install, whose settings look like assignments.
constexpr std::string_view kCommandPrograms[] = {"tune", "litgpt", "nemo", "llamafactory-cli",
                                                 "axolotl"};
/// Programs that start a module of Python, too.
constexpr std::string_view kLauncherNames[] = {"torchrun", "accelerate", "deepspeed"};
constexpr const char* kSilent[] = {":", "echo", "printf"};

bool is_sign(char c) {
  return std::string_view("|&<>()").find(c) != std::string_view::npos;
}

/// Inside `[[ … ]]` signs are words.
bool in_double_brackets(const std::vector<std::string>& command) {
  if (command.size() > kLongestTest) return false;
  const auto open = std::ranges::find(command, "[[");
  return open != command.end() && std::find(open, command.end(), "]]") == command.end();
}

bool runs_one_of(const std::vector<std::string>& command, std::span<const char* const> programs) {
  return std::ranges::find(programs, program_of(command)) != programs.end();
}

/// `((…))` where a command could begin.
bool starts_arithmetic(std::string_view text, std::size_t at,
                       const std::vector<std::string>& command) {
  constexpr const char* kBefore[] = {"if",   "elif", "while", "until", "then",
                                     "else", "do",   "!",     "for",   "{"};
  return text.substr(at, 2) == "((" && std::ranges::all_of(command, [&](const std::string& one) {
           return std::ranges::find(kBefore, one) != std::end(kBefore);
         });
}

/// `LAYERS[7B]=32`, which arrays keep as their words.
bool is_element(std::string_view value, std::size_t length) {
  return length > 0 && value.substr(length, 1) == "[" &&
         value.find("]=", length) != std::string_view::npos;
}

/// The name and the values that a `for` goes through.
std::vector<std::string> repeated(const std::vector<std::string>& command) {
  const auto found = std::ranges::find(command, "for");
  const bool list = command.end() - found > 2 && *(found + 2) == "in";
  if (!list || found - command.begin() > 1) return {};
  std::vector<std::string> words{*(found + 1)};
  for (auto value = found + 3; value != command.end(); ++value) split_words(*value, words);
  return words;
}

/// Tests whether a value holds nothing but unknown parts: `$2`, `$(nproc)`.
bool is_unknown(std::string_view value) {
  if (value.starts_with("$(") || value.starts_with('`')) return true;
  return value.starts_with('$') && value.find(' ') == std::string_view::npos;
}

/// `printf -v NAME FORMAT VALUE…` with `%s` and `%d` alone.
std::optional<std::string> printed(const std::vector<std::string>& command) {
  const std::string& format = command[3];
  std::string text;
  std::size_t value = 4;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      text += format[at];
    } else if (at + 1 < format.size() && (format[at + 1] == 's' || format[at + 1] == 'd')) {
      if (value < command.size()) text += command[value++];
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return value == command.size() ? std::optional(text) : std::nullopt;
}

/// The words between any of these letters.
void split_at(std::string_view text, std::string_view between, std::vector<std::string>& words) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Tests whether a quoted word is a command with flags, or a program of Python's with settings.
bool holds_command(std::string_view value) {
  return value.find(" --") != std::string_view::npos ||
         value.find(".py ") != std::string_view::npos ||
         value.find(" -m ") != std::string_view::npos;
}

}  // namespace

void ScriptReader::read(std::string_view text, int depth) {
  std::size_t at = 0;
  std::size_t begin = 0;  // of the command
  std::vector<std::string> command;
  std::vector<Announced> documents;
  std::vector<Loop> loops;
  bool commented = false;   // this command, which ends there
  bool cut = false;         // the command before was, so what looks like more of it is not
  bool definitions = true;  // may come; an open brace that nothing closes ends all hope
  while (at < text.size()) {
    if (command.empty()) begin = at;
    const char c = text[at];
    if (c == '\\' && at + 1 < text.size() && text[at + 1] == '\n') {
      at += 2;
    } else if (c == '#') {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      scheduler_line(text.substr(at, end - at));
      commented = !command.empty();
      at = end;
    } else if (starts_arithmetic(text, at, command)) {
      at = arithmetic_command(text, at, command);
    } else if (c == '<' && text.substr(at, 2) == "<<" && text.substr(at, 3) != "<<<") {
      at += text.substr(at, 3) == "<<-" ? 3 : 2;
      while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
      std::string delimiter = word(text, at).first;
      if (delimiter.empty()) continue;
      const bool kept = runs_one_of(command, kReaders) && is_variable_name(command.back());
      documents.push_back({std::move(delimiter), runs_one_of(command, kReadCommands),
                           kept ? command.back() : std::string()});
    } else if (c == '<' && text.substr(at, 3) == kHereString) {
      at += kHereString.size();
      command.emplace_back(kHereString);
    } else if (c == '\n') {
      if (!command.empty() && depth == calls_) cut = drop_cut(command, cut, commented);
      commented = false;
      finish(command, depth, c);
      at = next(loops, begin, at + 1);
      for (const Announced& one : std::exchange(documents, {})) {
        here_document(text, at, one, depth);
      }
    } else if (is_shell_blank(c)) {
      ++at;
    } else if (is_sign(c) && in_double_brackets(command)) {
      const std::size_t length = text.substr(at, 2) == "&&" || text.substr(at, 2) == "||" ? 2 : 1;
      command.emplace_back(text.substr(at, length));
      at += length;
    } else if (c == ';' || is_sign(c)) {
      ++at;
      if (c == '>' || (c == '&' && text.substr(at, 1) == ">")) {
        pass_redirection(text, at, command);
        continue;
      }
      if (c == '<') continue;
      finish(command, depth, c);
      at = next(loops, begin, at);
    } else if (!(definitions && command.empty() && define(text, at, definitions))) {
      const std::size_t before = at;
      keeps_elements_ = !command.empty() && command.front() == "for";
      auto [value, quoted] = word(text, at);
      keeps_elements_ = false;
      if (is_list(text.substr(before, at - before))) quoted = false;
      if (value.ends_with('=') && at < text.size() && text[at] == '(') array(text, ++at, value);
      const std::size_t length = name_length(value);
      const bool assigns =
          length > 0 && (value.substr(length, 1) == "=" || value.substr(length, 2) == "+=" ||
                         is_element(value, length));
      if (quoted || assigns) {
        command.push_back(std::move(value));
      } else {
        split_words(value, command);
      }
    }
  }
  finish(command, depth, '\n');
  (void)next(loops, begin, at);
}

void ScriptReader::pass_redirection(std::string_view text, std::size_t& at,
                                    std::vector<std::string>& command) {
  const bool numbered = at > 1 && std::isdigit(static_cast<unsigned char>(text[at - 2])) != 0;
  if (numbered && !command.empty() && command.back().size() == 1) command.pop_back();  // 2>
  while (at < text.size() && (text[at] == '>' || text[at] == '&' || text[at] == '|')) ++at;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  if (text.substr(at, 1) != "-") (void)word(text, at);  // `<PATH> --fp16` is a place to fill in
}

LaunchScript ScriptReader::finished() {
  read_uncalled();
  while (!chains_.empty()) {  // never closed
    end_branch({});
    close_chain();
  }
  for (const OpenChain& chain : result_.open) {
    const std::string& taken = chain.values[chain.taken];
    assume(fmt::format("{} is not known: read as for {}, of {}{}", printable(chain.subject),
                       taken.empty() ? "another" : printable(taken, 40), told(chain),
                       how_to_say(chain)));
  }
  for (auto& [name, value] : state_.variables) value = with_blanks(std::move(value));
  result_.state = std::move(state_);
  return std::move(result_);
}

void ScriptReader::spend(std::size_t bytes) {
  spent_ += bytes;
  if (spent_ > kMostExpanded) throw InputError(file_ + ": its variables expand to over 4 MiB");
}

std::size_t ScriptReader::arithmetic_command(std::string_view text, std::size_t at,
                                             std::vector<std::string>& command) {
  const std::size_t end = end_of_arithmetic(text, at);
  if (end == std::string_view::npos) return text.size();
  const std::string_view inside = text.substr(at + 2, end - at - 4);
  if (!command.empty() && command.back() == "for") return end;
  if (auto word = assigned_number(inside)) {
    command.push_back(std::move(*word));
  } else {
    command.insert(command.end(), {"[", number_of(inside), "-ne", "0", "]"});
  }
  return end;
}

bool ScriptReader::drop_cut(std::vector<std::string>& command, bool cut, bool commented) {
  const bool flag = command.front().starts_with("--");
  if (!cut || !flag) return commented && !flag;
  assume(fmt::format("{} is not passed on: a comment ends the command before it",
                     printable(fmt::format("{}", fmt::join(command, " ")))));
  command.clear();
  return true;
}

void ScriptReader::scheduler_line(std::string_view line) {
  if (line.find_first_of(" \t") == std::string_view::npos) return;
  if (scheduler_options(line).empty()) return;  // what comments hold says nothing
  // A here-document that submits a script fills in what the script then says.
  std::vector<std::string> options = scheduler_options(expanded(line));
  std::erase_if(options, [&](const std::string& option) {
    return submitted_.contains(option.substr(0, option.find('=')));
  });
  submit(options);
  result_.words.insert(result_.words.end(), options.begin(), options.end());
  end_words();
}

void ScriptReader::submit(const std::vector<std::string>& options) {
  for (auto& [name, value] : scheduler_variables(options)) {
    counts_tasks_ = counts_tasks_ || name == "SLURM_NTASKS";
    set(name, std::move(value));
  }
  const auto number = [&](std::string_view name) {
    const auto known = state_.variables.find(name);
    return known == state_.variables.end() ? std::nullopt : parse_integer(known->second);
  };
  const auto nodes = number("SLURM_NNODES");
  const auto each = number("SLURM_NTASKS_PER_NODE");
  constexpr long long kMostTasks = 1LL << 20;
  if (!counts_tasks_ && nodes && each && *nodes < kMostTasks && *each < kMostTasks) {
    set("SLURM_NTASKS", std::to_string(*nodes * *each));
  }
}

void ScriptReader::here_document(std::string_view text, std::size_t& at, const Announced& one,
                                 int depth) {
  const std::size_t begin = at;
  std::size_t behind = at;
  std::string body;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
    if (trimmed(line) == one.delimiter) break;
    behind = at;
    for (std::size_t i = 0; i < line.size();) {
      if (line[i] == '$') {
        body += expansion(line, i);
      } else {
        body += line[i++];
      }
    }
    body += '\n';
  }
  body = with_blanks(std::move(body));
  spend(body.size());
  if (branches_.skips()) return;
  if (!one.name.empty()) return set(one.name, std::move(body));
  if (prints_) return split_words(body, result_.words);
  if ((one.runs || text.substr(begin, 2) == "#!") && depth < kMostNested) {
    std::string script(text.substr(begin, behind - begin));
    spend(script.size());
    for (std::size_t i = script.find("\\$"); i != std::string::npos; i = script.find("\\$", i)) {
      script.erase(i, 1);  // what this one leaves to that one
    }
    return read_inside(script, depth + 1);
  }
  result_.here_documents.push_back(std::move(body));
}

void ScriptReader::finish(std::vector<std::string>& command, int depth, char end) {
  using Truth = ShellBranches::Truth;
  const auto repetition = repeated(command);
  judge_getopts(command);
  judge_unset_switch(command);
  const Truth runs = branches_.take(command, end);
  for (const ShellBranches::Event& event : branches_.events()) follow(event);
  const auto defaults = std::exchange(defaults_, {});
  if (runs == Truth::no) return command.clear();
  for (const auto& [name, value] : defaults) {
    const bool argument = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
    assume(
        fmt::format("{}{}={}: the script's default", argument ? "$" : "", name, printable(value)));
  }
  if (!repetition.empty()) repeat(repetition);
  if (command.empty()) return;
  if (!chains_.empty() && (command.front() == "exit" || command.front() == "return")) {
    chains_.back().leaves = true;
  }
  if (command.front() == "shift" && runs == Truth::yes) shift(command);
  if (command.front() == "set" && command.size() > 2 && command[1] == "--") {
    state_.arguments.emplace(command.begin() + 2, command.end());
    return command.clear();
  }
  const bool counts = runs_one_of(command, kSetters) && std::ranges::count(command, "-i") > 0;
  if (command.front() == "let" || counts) {  // declare -i A=B*2
    for (std::string& value : command) value = assigned_number(value).value_or(value);
  }
  if (read_words(command)) return command.clear();
  prepare(command);
  keep_locals(command);
  if (command.size() > 3 && command[0] == "printf" && command[1] == "-v") {
    if (auto text = printed(command)) assign(command[2], std::move(*text), runs == Truth::unknown);
  }
  if (runs_one_of(command, kSilent)) {
    if (prints_) print(command);
    return command.clear();
  }
  const bool sets = runs_one_of(command, kSetters);
  bool started = false;  // a command has been named
  bool python = false;
  bool launcher = false;  // of Python's modules
  bool program = false;   // and that of Python, whose arguments follow
  bool shell = false;     // `bash`, and behind its `-c` what it runs
  bool behind_shell = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    std::string& value = command[i];
    const std::size_t length = name_length(value);
    const bool appends = length > 0 && value.substr(length, 2) == "+=";
    const bool assigns = appends || (length > 0 && value.substr(length, 1) == "=");
    const auto function = state_.functions.find(value);
    const bool quoted = started && !sets && holds_command(value);  // with variables before it
    if (assigns && !program && !quoted) {
      assign_word(value, length, appends, runs == Truth::unknown);
    } else if (is_element(value, length)) {
      append_element(value, length);
    } else if (!started && function != state_.functions.end() && calls_ < kMostNested) {
      run_function(value, {command.begin() + static_cast<std::ptrdiff_t>(i) + 1, command.end()});
      break;
    } else if (runs_file(command, i) && calls_ < kMostNested) {
      run_file(command, i);
      break;
    } else if ((holds_command(value) || behind_shell) && depth < kMostNested) {
      read_inside(value, depth + 1);
      behind_shell = false;
    } else {
      behind_shell = shell && (value == "-c" || value == "-lc");
      shell = shell || file_name(value) == "bash" || file_name(value) == "sh";
      started = started || value != "{";
      program = program || value.ends_with(".py") || (value == "-m" && (python || launcher)) ||
                std::ranges::find(kCommandPrograms, value) != std::end(kCommandPrograms);
      launcher = launcher || std::ranges::find(kLauncherNames, value) != std::end(kLauncherNames);
      python = value.find("python") != std::string::npos;
      const bool document = value == "cat" && command.size() == 1;
      if (prints_) opaque_ = opaque_ || !(document || runs_one_of(command, kNoOutput));
      if (!prints_) result_.words.push_back(std::move(value));
    }
  }
  if (!prints_) end_words();
  command.clear();
}

void ScriptReader::end_words() {
  if (!result_.words.empty() && result_.words.back() != kCommandEnd) {
    result_.words.emplace_back(kCommandEnd);
  }
}

bool ScriptReader::read_words(const std::vector<std::string>& command) {
  auto reader = command.begin();
  std::string between = " \t\r\n";
  if (const auto own = state_.variables.find("IFS"); own != state_.variables.end()) {
    between = own->second + "\n";
  }
  if (reader->starts_with("IFS=")) between = (reader++)->substr(4) + "\n";
  const auto sign = std::find(reader, command.end(), kHereString);
  if (command.end() - sign < 2 || !runs_one_of({reader, reader + 1}, kReaders)) return false;
  std::vector<std::string> values;
  for (auto text = sign + 1; text != command.end(); ++text) split_at(*text, between, values);
  std::vector<std::string> names;
  std::copy_if(reader + 1, sign, std::back_inserter(names), is_variable_name);
  if (names.empty()) return false;
  const bool array = *reader != "read" || std::any_of(reader + 1, sign, [](const std::string& one) {
    return one.starts_with('-') && one.ends_with('a');
  });
  if (array) names.erase(names.begin(), names.end() - 1);
  if (values.size() < names.size()) return false;
  for (std::size_t i = 0; i + 1 < names.size(); ++i) assign(names[i], values[i], false);
  const auto last = values.begin() + static_cast<std::ptrdiff_t>(names.size()) - 1;
  assign(names.back(), fmt::format("{}", fmt::join(last, values.end(), " ")), false);
  return true;
}

void ScriptReader::assign_word(const std::string& value, std::size_t length, bool appends,
                               bool optional) {
  const std::string name = value.substr(0, length);
  const auto known = state_.variables.find(name);
  const bool is_known = known != state_.variables.end();
  std::string assigned = appends && is_known ? known->second : std::string();
  assigned += value.substr(length + (appends ? 2 : 1));
  spend(assigned.size());
  assign(name, std::move(assigned), optional);
}

void ScriptReader::append_element(const std::string& value, std::size_t length) {
  const std::string name = value.substr(0, length);
  const auto known = state_.variables.find(name);
  std::string all = known == state_.variables.end() ? std::string() : known->second + " ";
  all += value.substr(length);
  spend(all.size());
  set(name, std::move(all));
}

void ScriptReader::set(const std::string& name, std::string value) {
  if (is_held(name, value)) return;
  const auto known = state_.variables.find(name);
  if (!chains_.empty()) {
    chains_.back().before.try_emplace(
        name, known == state_.variables.end() ? std::nullopt : std::optional(known->second));
  }
  state_.variables.insert_or_assign(name, std::move(value));
}

bool ScriptReader::is_held(const std::string& name, const std::string& value) {
  const auto held = state_.held.find(name);
  if (held == state_.held.end()) return false;
  if (parse_integer(value) && value != held->second) {
    assume(fmt::format("{} {}, as the flags have it, not {}", name, held->second, value));
  }
  return true;
}

void ScriptReader::assign(const std::string& name, std::string value, bool optional) {
  if (is_held(name, value)) return;
  const auto known = state_.variables.find(name);
  const bool keeps = known != state_.variables.end() && !known->second.empty() &&
                     !is_unknown(known->second) && known->second != value;
  if (keeps && optional && value.starts_with(known->second)) {
    assume(fmt::format(
        "{} without {}: a condition that prequel cannot test adds it", name,
        printable(trimmed(std::string_view(value).substr(known->second.size())), kLongestTold)));
    return;
  }
  if (keeps && (optional || is_unknown(value))) {
    assume(fmt::format("{} stays {}: prequel cannot tell whether it becomes {}", name,
                       printable(known->second, kLongestTold), printable(value, kLongestTold)));
    return;
  }
  if (optional) {
    assume(fmt::format("{}={}: a condition that prequel cannot test sets it", name,
                       printable(value, kLongestTold)));
  }
  set(name, std::move(value));
}

void ScriptReader::assume(std::string text) {
  if (assumed_.insert(text).second) result_.assumed.push_back(std::move(text));
}

void ScriptReader::prepare(std::vector<std::string>& command) {
  if ((command.front() == "source" || command.front() == ".") && command.size() > 1) {
    const std::string name = file_name(command[1]);
    if (!state_.scripts.contains(name) && !state_.files.contains(name)) {
      state_.wanted.insert(command[1]);
      assume(fmt::format("nothing of {0}, which the script sources; give {0}, too",
                         printable(command[1])));
    }
  }
  spell_out_launcher(command);
  const std::string program = program_of(command);
  if (program != "sbatch" && program != "qsub") return;
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word.starts_with("--")) submitted_.insert(word.substr(0, word.find('=')));
    if (word.starts_with("--export=")) split_at(std::string_view(word).substr(9), ",", settings);
    if (program == "qsub" && word == "-v" && i + 1 < command.size()) {
      split_at(command[i + 1], ",", settings);
      command[i + 1].clear();
    }
  }
  std::erase(command, "");
  for (const std::string& one : settings) {
    const std::size_t length = name_length(one);
    if (one.substr(length, 1) == "=") assign_word(one, length, false, false);
  }
  submit(command);
}

}  // namespace prequel
