#include "cli/import/shell/script_reader.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
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

constexpr int kMostRounds = 256;  // of all loops
/// Commands of torchtitan's run_train.sh, by which its README starts a registered configuration:
/// `MODULE=llama3 CONFIG=llama3_8b ./run_train.sh`.
constexpr const char* kRegistered = R"(torchrun --nproc_per_node=${NGPU:-8} -m torchtitan.train \
--module ${MODULE} --config ${CONFIG} "$@")";
constexpr const char* kOwners[] = {"local", "declare", "typeset"};

void put_aside(std::vector<std::string>& from, std::size_t begin, std::vector<std::string>& to) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(std::min(begin, from.size()));
  to.assign(std::make_move_iterator(first), std::make_move_iterator(from.end()));
  from.erase(first, from.end());
}

}  // namespace

bool ScriptReader::define(std::string_view text, std::size_t& at, bool& more) {
  const FunctionDefinition found = function_definition(text, at);
  if (found.name.empty()) return false;
  more = found.end != std::string_view::npos;
  if (!more) return false;
  spend(found.body.size());
  state_.functions.insert_or_assign(found.name, found.body);
  uncalled_.insert(found.name);
  at = found.end;
  return true;
}

void ScriptReader::read_uncalled() {
  const auto is_flag = [](const std::string& word) { return word.starts_with("--"); };
  if (std::ranges::any_of(result_.words, is_flag)) return;
  for (const std::string& name : std::set(uncalled_)) {
    const auto found = state_.functions.find(name);
    if (found == state_.functions.end() || found->second.find("--") == std::string::npos) continue;
    assume(fmt::format("{} runs, though nothing calls it by name", printable(name)));
    call(found->second, std::nullopt);
  }
}

void ScriptReader::call(std::string body, std::optional<std::vector<std::string>> arguments) {
  spend(body.size());
  auto own = std::exchange(state_.arguments, std::move(arguments));
  locals_.emplace_back();
  ++calls_;
  read_inside(body, calls_);
  --calls_;
  for (auto& [name, value] : locals_.back()) {
    if (value) {
      set(name, std::move(*value));
    } else {
      set(name, {});
      state_.variables.erase(name);
    }
  }
  locals_.pop_back();
  state_.arguments = std::move(own);
}

std::optional<std::string> ScriptReader::printed_by(std::string_view commands) {
  if (calls_ >= kMostNested || branches_.skips()) return std::nullopt;
  const std::size_t begin = result_.words.size();
  const std::size_t chains = chains_.size();
  const auto variables = state_.variables;  // which a substitution leaves as they were
  for (const auto& [name, value] : variables) spend(name.size() + value.size());
  auto branches = std::exchange(branches_, {});
  auto defaults = std::exchange(defaults_, {});
  const bool prints = std::exchange(prints_, true);
  const bool opaque = std::exchange(opaque_, false);
  call(std::string(commands), state_.arguments);
  while (chains_.size() > chains) {  // never closed
    end_branch({});
    close_chain();
  }
  branches_ = std::move(branches);
  defaults_ = std::move(defaults);
  state_.variables = variables;
  prints_ = prints;
  const bool known = !std::exchange(opaque_, opaque);
  std::string text;
  for (std::size_t i = begin; i < result_.words.size(); ++i) {
    if (result_.words[i] == kCommandEnd) continue;
    text += (text.empty() ? "" : " ") + result_.words[i];
  }
  result_.words.resize(begin);
  spend(text.size());
  if (!known) return std::nullopt;
  return text;
}

bool ScriptReader::runs_file(const std::vector<std::string>& command, std::size_t at) {
  constexpr const char* kHandlers[] = {"cat", "cp",  "mv",   "ls",    "rm",  "ln",   "tee",
                                       "scp", "sed", "head", "chmod", "vim", "rsync"};
  if (std::ranges::find(kHandlers, program_of(command)) != std::end(kHandlers)) return false;
  const std::string name = file_name(command[at]);
  if (name == file_name(file_)) return false;
  if (name == "run_train.sh" && state_.variables.contains("MODULE") &&
      state_.variables.contains("CONFIG")) {
    state_.files.try_emplace(name, kRegistered);
  }
  if (state_.files.contains(name)) return true;
  const bool of_flag = at > 0 && command[at - 1].starts_with("--");
  constexpr std::string_view kEndings[] = {".sh", ".bash", ".sbatch", ".slurm", ".pbs"};
  const bool script = std::ranges::any_of(
      kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
  if (script && !of_flag) state_.wanted.insert(command[at]);
  return false;
}

void ScriptReader::run_file(const std::vector<std::string>& command, std::size_t at) {
  const std::string name = file_name(command[at]);
  const auto behind = command.begin() + static_cast<std::ptrdiff_t>(at) + 1;
  const bool sources = command.front() == "source" || command.front() == ".";
  state_.scripts.insert(name);
  const std::string text = state_.files.find(name)->second;
  if (sources && behind == command.end()) {
    call(text, state_.arguments);
  } else {
    call(text, std::vector<std::string>(behind, command.end()));
  }
}

void ScriptReader::read_inside(std::string_view text, int depth) {
  auto events = std::exchange(loop_events_, {});
  read(text, depth);
  loop_events_ = std::move(events);
}

void ScriptReader::run_function(const std::string& name, std::vector<std::string> arguments) {
  uncalled_.erase(name);
  const std::string body = state_.functions.find(name)->second;
  const std::string all =
      state_.arguments ? fmt::format("{}", fmt::join(*state_.arguments, " ")) : std::string("$@");
  if (arguments.size() == 1 && (arguments.front() == all || arguments.front() == "$*")) {
    call(body, state_.arguments);
  } else {
    call(body, std::move(arguments));
  }
}

void ScriptReader::keep_locals(const std::vector<std::string>& command) {
  if (locals_.empty() || std::ranges::find(kOwners, program_of(command)) == std::end(kOwners))
    return;
  for (const std::string& value : command) {
    const std::string name = value.substr(0, name_length(value));
    if (name.empty() || &value == &command.front()) continue;
    const auto known = state_.variables.find(name);
    locals_.back().try_emplace(
        name, known == state_.variables.end() ? std::nullopt : std::optional(known->second));
  }
}

void ScriptReader::judge_getopts(std::vector<std::string>& command) {
  const auto found = std::ranges::find(command, "getopts");
  if (!state_.arguments || command.end() - found < 3) return;
  const std::string spec = *(found + 1);
  const std::string name = *(found + 2);
  const std::vector<std::string>& all = *state_.arguments;
  const bool more = options_ < all.size() && all[options_].size() == 2 && all[options_][0] == '-';
  if (more) {
    const char letter = all[options_++][1];
    const std::size_t place = spec.find(letter);
    const bool valued = place != std::string::npos && spec.substr(place + 1, 1) == ":";
    set(name, place == std::string::npos || letter == ':' ? "?" : std::string(1, letter));
    set("OPTARG", valued && options_ < all.size() ? all[options_++] : std::string());
    set("OPTIND", std::to_string(options_ + 1));
  }
  command.erase(found, command.end());
  command.insert(command.end(), {"[", more ? "1" : "0", "-eq", "1", "]"});
}

void ScriptReader::judge_unset_switch(std::vector<std::string>& command) {
  const bool empty = command.size() == 5 && command[0] == "if" && command[2] == "-z" &&
                     (command[1] == "[" || command[1] == "[[");
  const bool argument = empty && command[3].size() == 2 && command[3][0] == '$' &&
                        std::isdigit(static_cast<unsigned char>(command[3][1])) != 0;
  if (argument && !state_.arguments) {
    assume(fmt::format("{} is not given: --args \"…\" gives the script's arguments", command[3]));
    command.erase(command.begin() + 2, command.begin() + 4);
    command.insert(command.begin() + 2, {"1", "-eq", "1"});
    return;
  }
  constexpr std::string_view kWords[] = {"true", "false", "True", "False", "yes", "no"};
  const bool test = command.size() == 6 && command[0] == "if" &&
                    (command[1] == "[" || command[1] == "[[") && command[3] == "!=";
  if (!test || !command[2].starts_with('$')) return;
  std::string name = command[2].substr(1);
  if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
  const bool word = std::ranges::find(kWords, command[4]) != std::end(kWords);
  if (!word || !is_variable_name(name)) return;
  if (state_.variables.contains(name)) return;
  assume(fmt::format("{} is not {}: nothing sets it; --env {}=VALUE does", name, command[4], name));
  command.erase(command.begin() + 2, command.begin() + 5);
  command.insert(command.begin() + 2, {"1", "-eq", "1"});
}

void ScriptReader::shift(const std::vector<std::string>& command) {
  if (!state_.arguments) return;
  const auto count = command.size() > 1 ? parse_integer(command[1]) : std::optional(1LL);
  const auto held = static_cast<long long>(state_.arguments->size());
  const long long dropped = std::clamp(count.value_or(1), 0LL, held);
  state_.arguments->erase(state_.arguments->begin(),
                          state_.arguments->begin() + static_cast<std::ptrdiff_t>(dropped));
}

void ScriptReader::repeat(const std::vector<std::string>& repetition) {
  const bool open = std::ranges::any_of(repetition, [](const std::string& value) {
    return value.find_first_of("$`*?{") != std::string::npos;
  });
  if (open || repetition.size() < 2 || !is_variable_name(repetition.front())) return;
  if (repetition.size() > 2) {
    assume(fmt::format("{0}={1}: the last value of a loop ({0} in {2})", repetition.front(),
                       printable(with_blanks(repetition.back())),
                       printable(with_blanks(fmt::format(
                           "{}", fmt::join(repetition.begin() + 1, repetition.end(), ", "))))));
  }
  set(repetition.front(), with_blanks(repetition.back()));
}

std::size_t ScriptReader::next(std::vector<Loop>& loops, std::size_t begin, std::size_t behind) {
  using Kind = ShellBranches::Event::Kind;
  std::size_t at = behind;
  for (const ShellBranches::Event& event : std::exchange(loop_events_, {})) {
    if (event.kind == Kind::opened) {
      loops.push_back({begin, false});
    } else if (event.kind == Kind::ended && !loops.empty()) {
      loops.back().runs = event.ran == ShellBranches::Truth::yes;
    } else if (!loops.empty()) {
      const Loop loop = loops.back();
      loops.pop_back();
      if (!loop.runs || rounds_ == kMostRounds) continue;
      ++rounds_;
      spend(behind - std::min(loop.begin, behind));
      at = loop.begin;
    }
  }
  return at;
}

void ScriptReader::follow(const ShellBranches::Event& event) {
  using Kind = ShellBranches::Event::Kind;
  if (event.loop) loop_events_.push_back(event);
  if (event.kind == Kind::opened) {
    if (chains_.size() >= kMostChains) throw InputError(file_ + ": too many branches in branches");
    Chain& chain = chains_.emplace_back();
    chain.number = chain_count_++;
    begin_branch();
  } else if (chains_.empty()) {
    return;
  } else if (event.kind == Kind::ended) {
    end_branch(event);
    begin_branch();
  } else {
    close_chain();
  }
}

void ScriptReader::begin_branch() {
  Chain& chain = chains_.back();
  chain.before.clear();
  chain.words = result_.words.size();
  chain.here_documents = result_.here_documents.size();
  chain.leaves = false;
}

void ScriptReader::end_branch(const ShellBranches::Event& event) {
  Chain& chain = chains_.back();
  if (event.ran != ShellBranches::Truth::unknown) {
    if (chains_.size() < 2) return;
    Chain& outer = chains_[chains_.size() - 2];
    outer.before.merge(chain.before);
    outer.leaves = outer.leaves || chain.leaves;
    return;
  }
  if (chain.subject.empty()) chain.subject = event.subject;
  Alternative& branch = chain.alternatives.emplace_back();
  branch.value = event.value;
  branch.otherwise = event.otherwise;
  branch.leaves = chain.leaves;
  for (const auto& [name, value] : chain.before) {
    const auto now = state_.variables.find(name);
    if (now == state_.variables.end()) continue;  // a function's own
    branch.sets.emplace(name, std::exchange(now->second, value.value_or("")));
    if (!value) state_.variables.erase(now);
  }
  put_aside(result_.words, chain.words, branch.words);
  put_aside(result_.here_documents, chain.here_documents, branch.here_documents);
}

void ScriptReader::close_chain() {
  Chain chain = std::move(chains_.back());
  chains_.pop_back();
  std::vector<Alternative>& alternatives = chain.alternatives;
  const bool complete = std::ranges::any_of(alternatives, &Alternative::otherwise);
  std::erase_if(alternatives, [](const Alternative& one) { return one.leaves; });
  if (alternatives.empty()) return;
  const auto otherwise = std::ranges::find_if(alternatives, &Alternative::otherwise);
  auto taken = static_cast<std::size_t>(
      otherwise == alternatives.end() ? 0 : otherwise - alternatives.begin());
  const auto choice = choices_.find(chain.number);
  if (choice != choices_.end()) taken = std::min(choice->second, alternatives.size() - 1);
  const bool matters = std::ranges::any_of(
      alternatives, [](const Alternative& one) { return !one.sets.empty() || !one.words.empty(); });
  if (alternatives.size() > 1 && matters) tell(chain, taken);
  Alternative& branch = alternatives[taken];
  for (auto& [name, value] : branch.sets) {
    assign(name, std::move(value), !complete && choice == choices_.end());
  }
  std::ranges::move(branch.words, std::back_inserter(result_.words));
  std::ranges::move(branch.here_documents, std::back_inserter(result_.here_documents));
}

void ScriptReader::tell(const Chain& chain, std::size_t taken) {
  if (result_.open.size() == kMostChains) return;
  OpenChain& open = result_.open.emplace_back();
  open.subject = chain.subject;
  open.number = chain.number;
  open.taken = taken;
  for (const Alternative& one : chain.alternatives) open.values.push_back(one.value);
}

}  // namespace prequel
