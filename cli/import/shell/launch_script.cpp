#include "cli/import/shell/launch_script.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cli/import/shell/launchers.hpp"
#include "cli/import/shell/shell_expansions.hpp"
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

/// Commands that read what to do from a here-document, and those that keep it in a variable.
constexpr const char* kReadCommands[] = {"bash", "sh", "sbatch", "srun", "ssh"};
constexpr const char* kReaders[] = {"read", "mapfile", "readarray"};
constexpr const char* kSetters[] = {"export", "local", "declare", "typeset", "readonly", "env"};
constexpr const char* kOwners[] = {"local", "declare", "typeset"};
/// Commands whose words start nothing.
constexpr const char* kNoOutput[] = {"return", "exit",    "shift",    "local",  "declare",
                                     "export", "typeset", "readonly", "source", "."};
constexpr const char* kSilent[] = {":", "echo", "printf"};
/// Programs of Python that packages install, whose settings look like assignments.
constexpr const char* kCommandPrograms[] = {"tune", "litgpt", "nemo", "llamafactory-cli",
                                            "axolotl"};
/// Programs that start a module of Python, too.
constexpr const char* kLauncherNames[] = {"torchrun", "accelerate", "deepspeed"};
/// Programs that handle a script as a file.
constexpr const char* kHandlers[] = {"cat", "cp",  "mv",   "ls",    "rm",  "ln",   "tee",
                                     "scp", "sed", "head", "chmod", "vim", "rsync"};

bool is_one_of(std::string_view word, std::span<const char* const> words) {
  return std::ranges::find(words, word) != words.end();
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

/// The alternatives as words: "7B, 13B or another".
std::string told(const OpenChain& chain) {
  std::string text;
  for (std::size_t i = 0; i < chain.values.size(); ++i) {
    const std::string value = chain.values[i].empty() ? "another" : printable(chain.values[i], 40);
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 < chain.values.size() ? ", " : " or ", value);
  }
  return text;
}

/// How a user can say which: "; --env MODEL_SIZE=7B says it".
std::string how_to_say(const OpenChain& chain) {
  std::string name = chain.subject;
  std::erase_if(name, [](char c) { return !is_name_letter(c); });
  const std::string value = chain.values.front().substr(0, chain.values.front().find('|'));
  if (name.empty()) return {};
  if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    return fmt::format("; --args \"…\" gives the script's arguments, of which it is number {}",
                       name);
  }
  return fmt::format("; --env {}={} says it", name, printable(value));
}

/// One reading of a script. `#SBATCH` lines count as commands. Unknown values keep their `$`.
class ScriptReader : public ShellExpansions {
 public:
  ScriptReader(std::string file, const ShellState& before, const Choices& choices)
      : ShellExpansions(file, before, choices), file_(std::move(file)) {}

  void read(std::string_view text, int depth) {
    const int outer = std::exchange(depth_, depth);
    run(shell_commands(text, file_));
    depth_ = outer;
  }

  LaunchScript finished() {
    read_uncalled();
    for (const OpenChain& chain : env_.script.open) {
      const std::string& taken = chain.values[chain.taken];
      env_.assume(fmt::format("{} is not known: read as for {}, of {}{}", printable(chain.subject),
                              taken.empty() ? "another" : printable(taken, 40), told(chain),
                              how_to_say(chain)));
    }
    for (auto& [name, value] : state().variables) value = with_blanks(std::move(value));
    return std::move(env_.script);
  }

 private:
  using Kind = ShellCommand::Kind;
  using Sign = ShellCommand::Sign;

  // Commands of all kinds.
  /// Returns the value of the last test, or tests that signs join; none of other commands. A
  /// condition notes what its first test compares.
  Truth run(const CommandList& commands, BranchEnd* condition = nullptr, bool of_if = false) {
    Truth all;
    Truth last;           // what the command before says
    bool judged = false;  // whether it says anything: a test, or a command behind one
    for (const ShellCommand& one : commands) {
      const bool joins = one.sign == Sign::both || one.sign == Sign::either;
      const bool gated = judged && joins;
      const Truth gate = !gated ? true : one.sign == Sign::both ? last : negated(last);
      bool tests = false;
      Truth value;
      if (one.kind == Kind::simple) {
        Words words = words_of(one.words);
        judge_getopts(words);
        if (of_if && &one == &commands.front()) judge_unset_switch(words);
        if (condition != nullptr && &one == &commands.front()) {
          std::tie(condition->subject, condition->value) = compared_words(words);
        }
        tests = is_test(words);
        if (tests) value = test_value(std::exchange(words, {}));
        if (one.cut && depth_ == calls_ && !skips_) {
          env_.assume(fmt::format("{} is not passed on: a comment ends the command before it",
                                  printable(in_one_line(std::exchange(words, {})))));
        }
        run_simple(std::move(words), skips_ ? false : gate);
      } else if (gated) {
        env_.open_chain();
        const bool outer = std::exchange(skips_, skips_ || gate == false);
        run_compound(one);
        skips_ = outer;
        env_.end_branch({gate, gate == true, {}, {}});
        env_.close_chain();
      } else {
        run_compound(one);
      }
      all = !joins ? value : one.sign == Sign::both ? both(all, value) : either(all, value);
      // Behind `||` all may hold though this did not run.
      const Truth behind = tests ? Truth() : true;
      last = gated && one.sign == Sign::either ? behind : tests ? both(gate, value) : gate;
      judged = tests || gated;
    }
    return commands.empty() ? true : all;
  }

  void run_compound(const ShellCommand& command) {
    switch (command.kind) {
      case Kind::document: return here_document(command);
      case Kind::request:
        if (!skips_) ask_scheduler(command.text);
        return;
      case Kind::function:
        if (skips_) return;
        env_.spend(command.text.size());
        state().functions.insert_or_assign(command.name, command.text);
        uncalled_.insert(command.name);
        return;
      case Kind::repetition: repeat(command); [[fallthrough]];
      case Kind::group:
        run(command.branches.front().condition);
        run(command.branches.front().body);
        return;
      default:
        while (run_branches(command) && rounds_ < kMostRounds) ++rounds_;
    }
  }

  /// `if`, `case`, `while`. Returns whether a loop has another round.
  bool run_branches(const ShellCommand& command) {
    const bool outer = skips_;  // where commands do not run, their variables count as used
    Truth earlier = false;
    BranchEnd end;
    if (command.kind == Kind::selection) end.subject = value_of(command.words.front());
    tell_defaults(!skips_);
    env_.open_chain();
    for (const ShellBranch& branch : command.branches) {
      end.value.clear();
      skips_ = outer || earlier == true;
      const Truth now = command.kind == Kind::selection
                            ? pattern_value(branch, end)
                            : run(branch.condition, &end, command.kind == Kind::choice);
      end.ran = both(now, negated(earlier));
      end.otherwise = now == true;
      skips_ = outer || end.ran == false;
      run(branch.body);
      // Effects of a branch that nothing closes stay.
      if (!command.closed && &branch == &command.branches.back()) end.ran = true;
      env_.end_branch(end);
      earlier = either(earlier, now);
    }
    env_.close_chain();
    skips_ = outer;
    return command.kind == Kind::loop && command.closed && !skips_ && end.ran == true;
  }

  Truth pattern_value(const ShellBranch& branch, BranchEnd& end) {
    Truth fits = false;
    for (const std::string& pattern : words_of(branch.patterns)) {
      fits = either(fits, fits_case(end.subject, pattern));
      if (pattern != "*") end.value += (end.value.empty() ? "" : "|") + pattern;
    }
    return fits;
  }

  /// A loop is read once, for its last value.
  void repeat(const ShellCommand& command) {
    keeps_elements_ = true;
    Words values;
    for (const ShellWord& word : command.words) split_words(value_of(word), values);
    keeps_elements_ = false;
    tell_defaults(!skips_);
    if (skips_) return;
    const bool open = std::ranges::any_of(values, [](const std::string& value) {
      return value.find_first_of("$`*?{") != std::string::npos;
    });
    if (open || values.empty() || !is_variable_name(command.name)) return;
    if (values.size() > 1) {
      env_.assume(fmt::format("{0}={1}: the last value of a loop ({0} in {2})", command.name,
                              printable(with_blanks(values.back())),
                              printable(with_blanks(fmt::format("{}", fmt::join(values, ", "))))));
    }
    env_.set(command.name, with_blanks(values.back()));
  }

  /// Counts the request to a scheduler as words of a command; variables follow from it.
  void ask_scheduler(std::string_view line) {
    // A here-document that submits a script fills in what the script then says.
    Words options = scheduler_options(expanded(line));
    std::erase_if(options, [&](const std::string& option) {
      return submitted_.contains(option.substr(0, option.find('=')));
    });
    submit(options);
    std::ranges::move(options, std::back_inserter(env_.script.words));
    env_.end_words();
  }

  void submit(const Words& options) {
    for (auto& [name, value] : scheduler_variables(options)) {
      counts_tasks_ = counts_tasks_ || name == "SLURM_NTASKS";
      env_.set(name, std::move(value));
    }
    const auto number = [&](std::string_view name) {
      const std::string* known = env_.known(name);
      return known == nullptr ? std::nullopt : parse_integer(*known);
    };
    const auto nodes = number("SLURM_NNODES");
    const auto each = number("SLURM_NTASKS_PER_NODE");
    constexpr long long kMostTasks = 1LL << 20;
    if (!counts_tasks_ && nodes && each && *nodes < kMostTasks && *each < kMostTasks) {
      env_.set("SLURM_NTASKS", std::to_string(*nodes * *each));
    }
  }

  void here_document(const ShellCommand& document) {
    std::string body = with_blanks(filled(document.text, [](std::string_view one) { return one; }));
    env_.spend(body.size());
    if (skips_) return;
    const std::string program = file_name(document.name);
    if (is_one_of(program, kReaders) && is_variable_name(document.last)) {
      return env_.set(document.last, std::move(body));
    }
    if (prints_) return split_words(body, env_.script.words);
    if ((is_one_of(program, kReadCommands) || document.text.starts_with("#!")) &&
        depth_ < kMostNested) {
      std::string script = document.text;
      env_.spend(script.size());
      for (std::size_t i = script.find("\\$"); i != std::string::npos; i = script.find("\\$", i)) {
        script.erase(i, 1);  // what this one leaves to that one
      }
      return read(script, depth_ + 1);
    }
    env_.script.here_documents.push_back(std::move(body));
  }

  // Simple commands.
  /// Tells the defaults that a command has taken, if it runs.
  void tell_defaults(bool runs) {
    const auto taken = std::exchange(defaults_, {});
    if (!runs) return;
    for (const auto& [name, value] : taken) {
      const bool argument = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
      env_.assume(fmt::format("{}{}={}: the script's default", argument ? "$" : "", name,
                              printable(value)));
    }
  }

  /// Sets what a command of assignments sets, else keeps its words; quoted commands are read too.
  void run_simple(Words command, Truth runs) {
    tell_defaults(runs != false);
    if (runs == false || command.empty()) return;
    const std::string& first = command.front();
    if (first == "exit" || first == "return") env_.leave();
    if (first == "shift" && runs == true) shift(command);
    if (first == "set" && command.size() > 2 && command[1] == "--") {
      state().arguments.emplace(command.begin() + 2, command.end());
      return;
    }
    const bool counts =
        is_one_of(program_of(command), kSetters) && std::ranges::count(command, "-i") > 0;
    if (first == "let" || counts) {  // declare -i A=B*2
      for (std::string& value : command) value = assigned_number(value).value_or(value);
    }
    if (read_words(command)) return;
    prepare(command);
    keep_locals(command);
    if (command.size() > 3 && command[0] == "printf" && command[1] == "-v") {
      auto text = printed_text(std::span(command).subspan(3));
      if (text) env_.assign(command[2], std::move(*text), !runs);
    }
    if (!is_one_of(program_of(command), kSilent)) {
      start(command, runs);
      if (!prints_) env_.end_words();
    } else if (prints_) {
      const auto text = said(command);
      opaque_ = opaque_ || !text;
      split_words(text.value_or(""), env_.script.words);
    }
  }

  void start(Words& command, Truth runs) {
    const bool sets = is_one_of(program_of(command), kSetters);
    bool started = false;  // a command has been named
    bool python = false;
    bool launcher = false;  // of Python's modules
    bool program = false;   // and that of Python, whose arguments follow
    bool shell = false;     // `bash`, and behind its `-c` what it runs
    bool behind_shell = false;
    for (std::size_t i = 0; i < command.size(); ++i) {
      std::string& value = command[i];
      const bool quoted = started && !sets && holds_command(value);  // with variables before it
      if ((assigned_length(value) > 0 && !program && !quoted) || is_element(value)) {
        assign_word(value, !runs);
      } else if (!started && state().functions.contains(value) && calls_ < kMostNested) {
        return run_function(value,
                            {command.begin() + static_cast<std::ptrdiff_t>(i) + 1, command.end()});
      } else if (runs_file(command, i) && calls_ < kMostNested) {
        return run_file(command, i);
      } else if ((holds_command(value) || behind_shell) && depth_ < kMostNested) {
        read(value, depth_ + 1);
        behind_shell = false;
      } else {
        behind_shell = shell && (value == "-c" || value == "-lc");
        shell = shell || file_name(value) == "bash" || file_name(value) == "sh";
        started = true;
        program = program || value.ends_with(".py") || (value == "-m" && (python || launcher)) ||
                  is_one_of(value, kCommandPrograms);
        launcher = launcher || is_one_of(value, kLauncherNames);
        python = value.find("python") != std::string::npos;
        const bool document = value == "cat" && command.size() == 1;
        if (prints_) {
          opaque_ = opaque_ || !(document || is_one_of(program_of(command), kNoOutput));
        } else {
          env_.script.words.push_back(std::move(value));
        }
      }
    }
  }

  /// `IFS=, read -r A B <<< "1,2"`; the last name takes what is left, that of `-a` all.
  bool read_words(const Words& command) {
    auto reader = command.begin();
    std::string between = " \t\r\n";
    if (const std::string* own = env_.known("IFS")) between = *own + "\n";
    if (reader->starts_with("IFS=")) between = (reader++)->substr(4) + "\n";
    const auto sign = std::find(reader, command.end(), kHereString);
    if (command.end() - sign < 2 || !is_one_of(program_of({reader, reader + 1}), kReaders)) {
      return false;
    }
    Words values;
    for (auto text = sign + 1; text != command.end(); ++text) split_at(*text, between, values);
    Words names;
    std::copy_if(reader + 1, sign, std::back_inserter(names), is_variable_name);
    if (names.empty()) return false;
    const bool array =
        *reader != "read" || std::any_of(reader + 1, sign, [](const std::string& one) {
          return one.starts_with('-') && one.ends_with('a');
        });
    if (array) names.erase(names.begin(), names.end() - 1);
    if (values.size() < names.size()) return false;
    for (std::size_t i = 0; i + 1 < names.size(); ++i) env_.assign(names[i], values[i], false);
    env_.assign(names.back(), in_one_line(std::span(values).subspan(names.size() - 1)), false);
    return true;
  }

  /// `A=1`, `A+=1` or `A[7b]=1`; an array is kept as its words.
  void assign_word(const std::string& value, bool optional) {
    const std::size_t length = name_length(value);
    const std::string name = value.substr(0, length);
    const bool appends = value[length] == '+';
    const bool element = value[length] == '[';
    const std::string* known = appends || element ? env_.known(name) : nullptr;
    std::string assigned = known == nullptr ? std::string() : *known + (element ? " " : "");
    assigned += value.substr(length + (appends ? 2 : element ? 0 : 1));
    env_.spend(assigned.size());
    if (element) return env_.set(name, std::move(assigned));
    env_.assign(name, std::move(assigned), optional);
  }

  /// Options in brief of launchers as the long ones; scripts that a command reads and that are not
  /// given are named.
  void prepare(Words& command) {
    if ((command.front() == "source" || command.front() == ".") && command.size() > 1) {
      const std::string name = file_name(command[1]);
      if (!state().scripts.contains(name) && !state().files.contains(name)) {
        state().wanted.insert(command[1]);
        env_.assume(fmt::format("nothing of {0}, which the script sources; give {0}, too",
                                printable(command[1])));
      }
    }
    spell_out_launcher(command);
    const std::string program = program_of(command);
    if (program != "sbatch" && program != "qsub") return;
    Words settings;
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
      if (assigned_length(one) > 0) assign_word(one, false);
    }
    submit(command);
  }

  /// Makes the names after `local` the function's own; they are as before when it ends.
  void keep_locals(const Words& command) {
    if (locals_.empty() || !is_one_of(program_of(command), kOwners)) return;
    for (const std::string& value : std::span(command).subspan(1)) {
      const std::string name = value.substr(0, name_length(value));
      if (name.empty()) continue;
      const std::string* known = env_.known(name);
      locals_.back().try_emplace(name, known == nullptr ? std::nullopt : std::optional(*known));
    }
  }

  /// `getopts "t:p:" name` as a test of whether there is another option among the arguments that
  /// are known, which it takes.
  void judge_getopts(Words& command) {
    const auto found = std::ranges::find(command, "getopts");
    if (!state().arguments || command.end() - found < 3) return;
    const std::string spec = *(found + 1);
    const std::string name = *(found + 2);
    const Words& all = *state().arguments;
    const bool more = options_ < all.size() && all[options_].size() == 2 && all[options_][0] == '-';
    if (more) {
      const char letter = all[options_++][1];
      const std::size_t place = spec.find(letter);
      const bool valued = place != std::string::npos && spec.substr(place + 1, 1) == ":";
      env_.set(name, place == std::string::npos || letter == ':' ? "?" : std::string(1, letter));
      env_.set("OPTARG", valued && options_ < all.size() ? all[options_++] : std::string());
      env_.set("OPTIND", std::to_string(options_ + 1));
    }
    command.erase(found, command.end());
    command.insert(command.end(), {"[", more ? "1" : "0", "-eq", "1", "]"});
  }

  /// `[ "$SEQ_PAR" != false ]` of a switch that nothing sets, and `[ -z $1 ]`: what a run without
  /// it does.
  void judge_unset_switch(Words& command) {
    if (command.size() < 4 || (command[0] != "[" && command[0] != "[[")) return;
    const auto holds = [&] { command = {"[", "1", "-eq", "1", "]"}; };
    const bool argument = command.size() == 4 && command[1] == "-z" && command[2].size() == 2 &&
                          command[2][0] == '$' &&
                          std::isdigit(static_cast<unsigned char>(command[2][1])) != 0;
    if (argument && !state().arguments) {
      env_.assume(
          fmt::format("{} is not given: --args \"…\" gives the script's arguments", command[2]));
      return holds();
    }
    constexpr const char* kWords[] = {"true", "false", "True", "False", "yes", "no"};
    if (command.size() != 5 || command[2] != "!=" || !command[1].starts_with('$')) return;
    std::string name = command[1].substr(1);
    if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
    if (!is_one_of(command[3], kWords) || !is_variable_name(name) || env_.known(name)) return;
    env_.assume(
        fmt::format("{} is not {}: nothing sets it; --env {}=VALUE does", name, command[3], name));
    holds();
  }

  void shift(const Words& command) {
    if (!state().arguments) return;
    const auto count = command.size() > 1 ? parse_integer(command[1]) : std::optional(1LL);
    Words& all = *state().arguments;
    const auto held = static_cast<long long>(all.size());
    all.erase(all.begin(),
              std::next(all.begin(), std::ptrdiff_t(std::clamp(count.value_or(1), 0LL, held))));
  }

  // Commands in commands.
  /// Functions may be called in ways that are not seen here, where all else starts nothing.
  void read_uncalled() {
    const auto is_flag = [](const std::string& word) { return word.starts_with("--"); };
    if (std::ranges::any_of(env_.script.words, is_flag)) return;
    for (const std::string& name : std::set(uncalled_)) {
      const auto found = state().functions.find(name);
      if (found == state().functions.end() || found->second.find("--") == std::string::npos)
        continue;
      env_.assume(fmt::format("{} runs, though nothing calls it by name", printable(name)));
      call(parsed(found->second), std::nullopt);
    }
  }

  CommandList parsed(std::string_view text) {
    env_.spend(text.size());
    return shell_commands(text, file_);
  }

  /// A function's commands, as a call with these arguments runs them.
  void call(const CommandList& body, Arguments arguments) {
    auto own = std::exchange(state().arguments, std::move(arguments));
    const int outer = std::exchange(depth_, ++calls_);
    locals_.emplace_back();
    run(body);
    --calls_;
    depth_ = outer;
    for (auto& [name, value] : locals_.back()) env_.set(name, std::move(value));
    locals_.pop_back();
    state().arguments = std::move(own);
  }

  /// Where all arguments are passed on, they stay as well known as they were.
  void run_function(const std::string& name, Words arguments) {
    uncalled_.erase(name);
    const CommandList body = parsed(state().functions.find(name)->second);
    const std::string all = state().arguments ? in_one_line(*state().arguments) : std::string("$@");
    const bool passes =
        arguments.size() == 1 && (arguments.front() == all || arguments.front() == "$*");
    call(body, passes ? state().arguments : Arguments(std::move(arguments)));
  }

  /// Tests whether a command runs or sources another of the given scripts; notes those that are not
  /// given.
  [[nodiscard]] bool runs_file(const Words& command, std::size_t at) {
    if (is_one_of(program_of(command), kHandlers)) return false;
    const std::string name = file_name(command[at]);
    if (name == file_name(file_)) return false;
    if (name == "run_train.sh" && env_.known("MODULE") && env_.known("CONFIG")) {
      state().files.try_emplace(name, kRegistered);
    }
    if (state().files.contains(name)) return true;
    const bool of_flag = at > 0 && command[at - 1].starts_with("--");
    constexpr std::string_view kEndings[] = {".sh", ".bash", ".sbatch", ".slurm", ".pbs"};
    const bool script = std::ranges::any_of(
        kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
    if (script && !of_flag) state().wanted.insert(command[at]);
    return false;
  }

  void run_file(const Words& command, std::size_t at) {
    const std::string name = file_name(command[at]);
    const auto behind = command.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const bool sources = command.front() == "source" || command.front() == ".";
    state().scripts.insert(name);
    const CommandList body = parsed(state().files.find(name)->second);
    call(body, sources && behind == command.end() ? state().arguments
                                                  : Arguments(Words(behind, command.end())));
  }

  std::optional<std::string> printed_by(const CommandList& commands) override {
    if (calls_ >= kMostNested || skips_) return std::nullopt;
    std::vector<std::string>& words = env_.script.words;
    const std::size_t begin = words.size();
    const auto variables = state().variables;  // which a substitution leaves as they were
    for (const auto& [name, value] : variables) env_.spend(name.size() + value.size());
    auto defaults = std::exchange(defaults_, {});
    const bool prints = std::exchange(prints_, true);
    const bool opaque = std::exchange(opaque_, false);
    call(commands, state().arguments);
    state().variables = variables;
    defaults_ = std::move(defaults);
    prints_ = prints;
    const bool known = !std::exchange(opaque_, opaque);
    const std::string text = in_one_line(std::span(words).subspan(std::min(begin, words.size())));
    words.resize(begin);
    env_.spend(text.size());
    return known ? std::optional(text) : std::nullopt;
  }

  std::string file_;
  int depth_{0};                     ///< how deep in texts that commands read
  int calls_{0};                     ///< of functions, one in another
  int rounds_{0};                    ///< of all loops
  bool skips_{};                     ///< what is read is known not to run
  bool prints_{};                    ///< words are those that a function prints
  bool opaque_{};                    ///< and those of programs, which are not known
  std::set<std::string> uncalled_;   ///< functions of this file
  std::set<std::string> submitted_;  ///< options of `sbatch`, which go over those of the script
  bool counts_tasks_{};              ///< an option says how many tasks there are
  std::size_t options_{0};           ///< that `getopts` has taken of the arguments
  /// Values of the names that a function calls its own, before it was called; the innermost last.
  std::vector<std::map<std::string, std::optional<std::string>>> locals_;
};

constexpr std::size_t kMostReadings = 128;  // of a script, with other branches

/// The value of a flag as it comes last; empty where it is not said or not known.
std::string last_value(const std::vector<std::string>& words, std::string_view flag) {
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == flag && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(flag) && words[i].substr(flag.size(), 1) == "=") {
      value = words[i].substr(flag.size() + 1);
    }
  }
  return parse_integer(value) ? value : std::string();
}

}  // namespace

ShellState shell_state(const ScriptInputs& inputs) {
  ShellState state;
  if (inputs.arguments) {
    std::istringstream words(*inputs.arguments);
    state.arguments.emplace(std::istream_iterator<std::string>(words),
                            std::istream_iterator<std::string>());
  }
  for (const std::string& setting : inputs.environment) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError("--env " + printable(setting) + ": expected NAME=VALUE");
    }
    state.variables[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return state;
}

LaunchScript read_launch_script(const std::string& file, std::string_view text,
                                const ShellState& before, const Choices& choices) {
  ScriptReader reader(file, before, choices);
  reader.read(text, 0);
  return reader.finished();
}

void refuse_open_sizes(const std::string& file, std::string_view text, const ShellState& before,
                       const LaunchScript& script) {
  std::size_t readings = 0;
  for (const OpenChain& chain : script.open) {
    for (const char* flag : {"--num-layers", "--hidden-size"}) {
      std::set<std::string> sizes;
      for (std::size_t i = 0; i < chain.values.size() && readings < kMostReadings;
           ++i, ++readings) {
        const LaunchScript other = read_launch_script(file, text, before, {{chain.number, i}});
        if (const std::string size = last_value(other.words, flag); !size.empty()) {
          sizes.insert(size);
        }
      }
      if (sizes.size() < 2) continue;
      throw InputError(fmt::format("{}: {} decides {} ({}): {}{}", file, printable(chain.subject),
                                   flag, fmt::join(sizes, ", "), told(chain), how_to_say(chain)));
    }
  }
}

}  // namespace prequel
