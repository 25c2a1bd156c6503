#include "cli/import/launch_script.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "cli/import/shell_arithmetic.hpp"
#include "cli/import/shell_branches.hpp"
#include "cli/import/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostExpanded = 4u << 20;
constexpr int kMostNested = 8;
constexpr std::size_t kMostChains = 64;     // open at once, and told
constexpr std::size_t kMostReadings = 128;  // of a script, with other branches
constexpr std::size_t kLongestTold = 60;    // of a value, in reports
constexpr int kMostRounds = 256;            // of all loops
constexpr std::size_t kLongestTest = 1024;  // words

/// Slurm's options in brief, and the variables that it sets from the long ones.
constexpr std::pair<const char*, const char*> kSlurmBriefs[] = {
    {"-N", "--nodes"}, {"-n", "--ntasks"}, {"-G", "--gpus"}};
constexpr std::pair<const char*, const char*> kSlurmVariables[] = {
    {"--nodes", "SLURM_NNODES"},
    {"--nodes", "SLURM_JOB_NUM_NODES"},
    {"--ntasks", "SLURM_NTASKS"},
    {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
    {"--gpus", "SLURM_GPUS"},
    {"--gpus-per-node", "SLURM_GPUS_PER_NODE"},
    {"--gpus-per-node", "SLURM_GPUS_ON_NODE"},
    {"--gres", "SLURM_GPUS_ON_NODE"}};

/// Launchers whose options in brief are those of `#SBATCH` lines, or MPI's.
constexpr const char* kSlurmCommands[] = {"srun", "sbatch", "salloc"};
constexpr const char* kMpiCommands[] = {"mpirun", "mpiexec"};
constexpr std::pair<const char*, const char*> kMpiBriefs[] = {
    {"-n", "-np"}, {"-N", "--ntasks-per-node"}, {"-npernode", "--ntasks-per-node"}};

constexpr std::string_view kHereString = "<<<";

/// Commands that read what to do from a here-document, and those that name a function's own.
constexpr const char* kReadCommands[] = {"bash", "sh", "sbatch", "srun", "ssh"};
constexpr const char* kOwners[] = {"local", "declare", "typeset"};
constexpr const char* kSetters[] = {"export", "local", "declare", "typeset", "readonly", "env"};
/// Commands whose words start nothing.
constexpr const char* kSilent[] = {":", "echo", "printf"};

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
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

/// `$MODEL_SIZE` and `${MODEL_SIZE}` as what a user can say of it.
std::string how_to_say(const OpenChain& chain) {
  std::string name = chain.subject;
  std::erase_if(name, [](char c) { return !is_name(c); });
  const std::string value = chain.values.front().substr(0, chain.values.front().find('|'));
  if (name.empty()) return {};
  if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    return fmt::format("; --args \"…\" gives the script's arguments, of which it is number {}",
                       name);
  }
  return fmt::format("; --env {}={} says it", name, printable(value));
}

/// Whether a value holds nothing but what is not known: `$2`, `$(nproc)`.
bool is_unknown(std::string_view value) {
  if (value.starts_with("$(") || value.starts_with('`')) return true;
  return value.starts_with('$') && value.find(' ') == std::string_view::npos;
}

/// Commands read while a chain of branches is open: what an alternative sets and starts is put
/// aside when it ends, and one alternative is chosen when the chain is closed.
struct Alternative {
  std::string value;  ///< with which it runs
  bool otherwise{};   ///< it runs where none before does
  bool leaves{};      ///< it ends the script
  std::map<std::string, std::string> sets;
  std::vector<std::string> words, here_documents;
};
struct Chain {
  std::size_t number{};
  std::string subject;
  std::vector<Alternative> alternatives;
  // Of the branch that is read: what was there before it.
  std::map<std::string, std::optional<std::string>> before;
  std::size_t words{}, here_documents{};
  bool leaves{};
};

/// A here-document that a command announced.
struct Announced {
  std::string delimiter;
  bool runs{};       ///< the command reads it as a script
  std::string name;  ///< of the variable that `read` keeps it in
};

/// A `while`: where it begins.
struct Loop {
  std::size_t begin{};
  bool runs{};
};

class Reader {
 public:
  Reader(std::string file, const ShellState& before, const Choices& choices)
      : file_(std::move(file)), choices_(choices), state_(before) {}

  void read(std::string_view text, int depth) {
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
        slurm_line(text.substr(at, end - at));
        commented = !command.empty();
        at = end;
      } else if (starts_arithmetic(text, at, command)) {
        at = arithmetic_command(text, at, command);
      } else if (c == '<' && text.substr(at, 2) == "<<" && text.substr(at, 3) != "<<<") {
        at += text.substr(at, 3) == "<<-" ? 3 : 2;
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
        std::string delimiter = word(text, at).first;
        if (delimiter.empty()) continue;
        const bool kept = !command.empty() && command.front() == "read" && is_plain(command.back());
        documents.push_back({std::move(delimiter), is_one_of(command, kReadCommands),
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
      } else if (is_blank(c)) {
        ++at;
      } else if (is_sign(c) && in_double_brackets(command)) {
        const std::size_t length = text.substr(at, 2) == "&&" || text.substr(at, 2) == "||" ? 2 : 1;
        command.emplace_back(text.substr(at, length));
        at += length;
      } else if (c == ';' || is_sign(c)) {
        ++at;
        if (c == '<' || c == '>') continue;
        finish(command, depth, c);
        at = next(loops, begin, at);
      } else if (!(definitions && command.empty() && define(text, at, definitions))) {
        auto [value, quoted] = word(text, at);
        if (value.ends_with('=') && at < text.size() && text[at] == '(') array(text, ++at, value);
        const std::size_t length = name_length(value);
        const bool assigns =
            length > 0 && (value.substr(length, 1) == "=" || value.substr(length, 2) == "+=" ||
                           is_element(value, length));
        if (quoted || assigns) {
          command.push_back(std::move(value));
        } else {
          split(value, command);
        }
      }
    }
    finish(command, depth, '\n');
    (void)next(loops, begin, at);
  }

  LaunchScript finished() {
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
    result_.state = std::move(state_);
    return std::move(result_);
  }

 private:
  void spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > kMostExpanded) throw InputError(file_ + ": its variables expand to over 4 MiB");
  }

  static bool is_sign(char c) {
    return std::string_view("|&<>()").find(c) != std::string_view::npos;
  }

  template <class Names>
  static bool is_one_of(const std::vector<std::string>& command, const Names& names) {
    if (command.empty()) return false;
    const std::string& path = command.front();
    const std::string program = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    return std::find(std::begin(names), std::end(names), program) != std::end(names);
  }

  /// Inside `[[ … ]]` signs are words.
  static bool in_double_brackets(const std::vector<std::string>& command) {
    if (command.size() > kLongestTest) return false;
    const auto open = std::ranges::find(command, "[[");
    return open != command.end() && std::find(open, command.end(), "]]") == command.end();
  }

  /// `((…))` where a command could begin.
  static bool starts_arithmetic(std::string_view text, std::size_t at,
                                const std::vector<std::string>& command) {
    constexpr const char* kBefore[] = {"if",   "elif", "while", "until", "then",
                                       "else", "do",   "!",     "for",   "{"};
    return text.substr(at, 2) == "((" && std::ranges::all_of(command, [&](const std::string& one) {
             return std::ranges::find(kBefore, one) != std::end(kBefore);
           });
  }

  /// As a test of its value, or as an assignment; what a `for` counts by is passed over.
  std::size_t arithmetic_command(std::string_view text, std::size_t at,
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

  /// `A = B * 2` as `A=8`.
  std::optional<std::string> assigned_number(std::string_view text) {
    const auto found = arithmetic_assignment(text);
    if (!found) return std::nullopt;
    return found->name + "=" + number_of(found->value);
  }

  /// The value of arithmetic; what is not known keeps its `$`.
  std::string number_of(std::string_view text) {
    const std::string numbers = with_numbers(text);
    if (const auto value = shell_arithmetic(numbers)) return std::to_string(*value);
    std::string open = fmt::format("$(({}))", text);
    std::erase_if(open, is_blank);
    return open;
  }

  /// Remembers the function that is defined here. False where none is, for good (`more`) if one
  /// has no end.
  bool define(std::string_view text, std::size_t& at, bool& more) {
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

  /// What starts with a dash behind a command that a comment ended is no part of it, though it
  /// looks like one. Says whether the next command may be of that kind.
  bool drop_cut(std::vector<std::string>& command, bool cut, bool commented) {
    const bool flag = command.front().starts_with("--");
    if (!cut || !flag) return commented && !flag;
    assume(fmt::format("{} is not passed on: a comment ends the command before it",
                       printable(fmt::format("{}", fmt::join(command, " ")))));
    command.clear();
    return true;
  }

  /// Functions may be called in ways that are not seen here, where all else starts nothing.
  void read_uncalled() {
    const auto is_flag = [](const std::string& word) { return word.starts_with("--"); };
    if (std::ranges::any_of(result_.words, is_flag)) return;
    for (const std::string& name : std::set(uncalled_)) {
      const auto found = state_.functions.find(name);
      if (found == state_.functions.end() || found->second.find("--") == std::string::npos)
        continue;
      assume(fmt::format("{} runs, though nothing calls it by name", printable(name)));
      call(found->second, std::nullopt);
    }
  }

  /// A function's commands, as a call with these arguments runs them.
  void call(std::string body, std::optional<std::vector<std::string>> arguments) {
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

  /// Another text before the rest of this one.
  void read_inside(std::string_view text, int depth) {
    auto events = std::exchange(loop_events_, {});
    read(text, depth);
    loop_events_ = std::move(events);
  }

  static void split(std::string_view text, std::vector<std::string>& words) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      while (at < text.size() && !is_blank(text[at])) ++at;
      if (at > begin) words.emplace_back(text.substr(begin, at - begin));
      while (at < text.size() && is_blank(text[at])) ++at;
    }
  }

  /// Slurm's options count as words of a command, and its variables follow from them.
  void slurm_line(std::string_view line) {
    if (!line.starts_with("#SBATCH")) return;
    std::vector<std::string> options;
    // A here-document that submits a script fills in what the script then says.
    split(expanded(line.substr(7, line.find(" #", 7) - 7)), options);
    for (std::size_t i = 0; i < options.size(); ++i) {
      for (const auto& [brief, full] : kSlurmBriefs) {
        if (options[i] == brief) options[i] = full;
      }
      const std::size_t equals = options[i].find('=');
      const std::string name = options[i].substr(0, equals);
      std::string value;
      if (equals != std::string::npos) value = options[i].substr(equals + 1);
      if (value.empty() && i + 1 < options.size()) value = options[i + 1];
      for (const auto& [option, variable] : kSlurmVariables) {
        if (name == option) set(variable, value.substr(value.rfind(':') + 1));
      }
    }
    result_.words.insert(result_.words.end(), options.begin(), options.end());
    end_words();
  }

  void here_document(std::string_view text, std::size_t& at, const Announced& one, int depth) {
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
    spend(body.size());
    if (branches_.skips()) return;
    if (!one.name.empty()) return set(one.name, std::move(body));
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

  void array(std::string_view text, std::size_t& at, std::string& value) {
    while (at < text.size() && text[at] != ')') {
      if (text[at] == '#') {
        at = std::min(text.find('\n', at), text.size());
      } else if (is_blank(text[at]) ||
                 (text[at] == '\\' && at + 1 < text.size() && is_blank(text[at + 1]))) {
        at += text[at] == '\\' ? 2 : 1;
      } else {
        const std::size_t before = at;
        value += word(text, at).first + " ";
        if (at == before) ++at;
      }
    }
    if (at < text.size()) ++at;
  }

  /// One word with its expansions, and whether a part of it was quoted.
  std::pair<std::string, bool> word(std::string_view text, std::size_t& at) {
    std::string value;
    bool quoted = false;
    char quote = '\0';
    while (at < text.size()) {
      const char c = text[at];
      if (quote == '\0' &&
          (is_blank(c) || std::string_view(";|&<>()").find(c) != std::string_view::npos)) {
        break;
      }
      if (c == quote || (quote == '\0' && (c == '"' || c == '\''))) {
        quote = c == quote ? '\0' : c;
        quoted = true;
        ++at;
      } else if (c == '\\' && quote != '\'') {
        if (at + 1 < text.size() && text[at + 1] != '\n') value += text[at + 1];
        at += std::min<std::size_t>(2, text.size() - at);
      } else if (c == '$' && quote != '\'') {
        value += expansion(text, at);
      } else if (c == '`' && quote != '\'') {
        value += backticks(text, at);
      } else {
        value += c;
        ++at;
      }
    }
    spend(value.size());
    return {value, quoted};
  }

  /// What a command prints, as far as that is known.
  std::optional<std::string> substitution(std::string_view inside) {
    constexpr std::string_view kExpr = "expr ";
    constexpr std::string_view kEcho = "echo ";
    inside = trimmed(inside);
    if (braces_ >= kMostNested) return std::nullopt;
    if (inside.starts_with("cat ") || inside.starts_with("cat<")) return printed_document(inside);
    const bool expr = inside.starts_with(kExpr);
    if (!expr && !inside.starts_with(kEcho)) return std::nullopt;
    std::string_view rest = trimmed(inside.substr(kExpr.size()));
    const std::size_t pipe = rest.find('|');
    const bool calculates =
        expr || (pipe != std::string_view::npos && trimmed(rest.substr(pipe + 1)) == "bc");
    if (!expr && calculates) rest = rest.substr(0, pipe);
    if (!calculates &&
        (rest.find_first_of("|;&<>") != std::string_view::npos || rest.starts_with('-'))) {
      return std::nullopt;
    }
    std::string text = expanded(rest);
    if (calculates) {
      std::erase(text, '\\');
      const auto value = shell_arithmetic(text);
      return value ? std::optional(std::to_string(*value)) : std::nullopt;
    }
    if (text.find_first_of("$`\\") != std::string::npos) return std::nullopt;
    return text;
  }

  /// The old way to write a substitution.
  std::string backticks(std::string_view text, std::size_t& at) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) return std::string(text.substr(at++, 1));
    const std::string_view inside = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (const auto value = substitution(inside)) return *value;
    return in_one_word(fmt::format("`{}`", inside), '`');
  }

  /// What a command prints that is not known: its name stands for it, whose words are none of the
  /// script's.
  static std::string in_one_word(std::string_view text, char end) {
    const std::size_t blank = text.find_first_of(" \t\n");
    if (blank == std::string_view::npos) return std::string(text);
    return fmt::format("{}...{}", text.substr(0, blank), end);
  }

  /// `cat <<END … END`: the text, with what its `$…` stand for.
  std::optional<std::string> printed_document(std::string_view inside) {
    const std::size_t sign = inside.find("<<");
    const std::size_t line = inside.find('\n');
    if (sign == std::string_view::npos || line == std::string_view::npos || sign > line) {
      return std::nullopt;
    }
    std::string delimiter(trimmed(inside.substr(sign + 2, line - sign - 2)));
    std::erase_if(delimiter, [](char c) { return !is_name(c); });
    const std::size_t end = inside.rfind("\n" + delimiter);
    if (delimiter.empty() || end == std::string_view::npos || end < line) return std::nullopt;
    return expanded(inside.substr(line + 1, end - line));
  }

  /// A text with what its `$…` stand for, and without quotes.
  std::string expanded(std::string_view text) {
    if (braces_ >= kMostNested) return std::string(text);
    ++braces_;
    std::string value;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '$') {
        value += expansion(text, at);
      } else {
        if (text[at] != '"' && text[at] != '\'') value += text[at];
        ++at;
      }
    }
    --braces_;
    spend(value.size());
    return value;
  }

  /// What stands for the `$…` at `at`; the text itself where nothing is known.
  std::string expansion(std::string_view text, std::size_t& at) {
    const std::size_t begin = at++;
    if (text.substr(at, 2) == "((") {
      const std::size_t end = end_of_arithmetic(text, at);
      if (end == std::string_view::npos) return "$";
      const std::string inside = with_numbers(text.substr(at + 2, end - at - 4));
      at = end;
      if (const auto value = shell_arithmetic(inside)) return std::to_string(*value);
    } else if (at < text.size() && text[at] == '[') {
      const std::size_t end = text.find(']', at);
      if (end == std::string_view::npos) return "$";
      const std::string inside = with_numbers(text.substr(at + 1, end - at - 1));
      at = end + 1;
      if (const auto value = shell_arithmetic(inside)) return std::to_string(*value);
    } else if (at < text.size() && text[at] == '(') {
      std::size_t end = end_of_brackets(text, at);
      if (end == std::string_view::npos) end = std::min(text.find(')', at), text.size() - 1) + 1;
      spend(end - at);
      const std::string_view inside = text.substr(at + 1, end - at - 1);
      at = end;
      if (const auto value = substitution(inside.substr(0, inside.rfind(')')))) return *value;
      return in_one_word(text.substr(begin, at - begin), ')');
    } else if (at < text.size() && text[at] == '{') {
      const std::size_t end = closing_brace(text, at);
      if (end == std::string_view::npos) return "$";
      const std::string_view inside = text.substr(at + 1, end - at - 1);
      at = end + 1;
      if (const auto value = of_braces(inside)) return *value;
    } else if (at < text.size() &&
               std::string_view("#@*").find(text[at]) != std::string_view::npos) {
      const char sign = text[at++];
      if (state_.arguments && sign == '#') return std::to_string(state_.arguments->size());
      if (state_.arguments) return spent(fmt::format("{}", fmt::join(*state_.arguments, " ")));
    } else {
      const std::size_t name = at;
      while (at < text.size() && is_name(text[at])) ++at;
      if (const auto known = value_of(text.substr(name, at - name))) return spent(*known);
    }
    return std::string(text.substr(begin, at - begin));
  }

  /// Of a variable, or of an argument where those are known: empty beyond the last.
  std::optional<std::string> value_of(std::string_view name) {
    const auto number = parse_integer(std::string(name));
    if (number && *number > 0) {
      if (!state_.arguments) return std::nullopt;
      const auto at = static_cast<std::size_t>(*number) - 1;
      return at < state_.arguments->size() ? (*state_.arguments)[at] : std::string();
    }
    const auto known = state_.variables.find(name);
    if (known == state_.variables.end()) return std::nullopt;
    state_.used.insert(known->first);
    return known->second;
  }

  /// Where the `{` at `at` ends; those inside it count.
  static std::size_t closing_brace(std::string_view text, std::size_t at) {
    int open = 0;
    for (; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    return std::string_view::npos;
  }

  /// What `${NAME}`, `${NAME:-default}`, `${NAME:=default}`, `${NAME:+other}`, `${NAME[1]}`,
  /// `${#NAME}`, `${!NAME}` or `${NAME%%-*}` stands for.
  std::optional<std::string> of_braces(std::string_view inside) {
    if (inside.starts_with('!') && is_plain(inside.substr(1))) {
      const auto name = value_of(inside.substr(1));
      return name && is_plain(*name) ? value_of(*name) : std::nullopt;
    }
    if (inside.starts_with('#') && inside.size() > 1) return length_of(inside.substr(1));
    std::size_t length = 0;
    while (length < inside.size() && is_name(inside[length])) ++length;
    std::string_view rest = inside.substr(length);
    const std::string name(inside.substr(0, length));
    auto known = value_of(name);
    if (rest.starts_with('[')) {
      const std::size_t close = std::min(rest.find(']'), rest.size() - 1) + 1;
      if (known) known = changed(*known, expanded(rest.substr(0, close)));
      rest = rest.substr(close);
    }
    if (known) spend(known->size());
    const std::size_t sign = rest.starts_with(':') ? 1 : 0;
    const bool set_to_text = known && (sign == 0 || !known->empty());
    if (rest.empty()) return known;
    switch (rest.size() > sign ? rest[sign] : ' ') {
      case '-':
      case '=': {
        if (set_to_text) return known;
        std::string value = expanded(rest.substr(sign + 1));
        if (!value.empty()) defaults_.emplace(name, value);
        if (rest[sign] == '=') set(name, value);
        return value;
      }
      case '+':
        if (!known) return std::nullopt;
        return set_to_text ? expanded(rest.substr(sign + 1)) : std::string();
      case '?': return set_to_text ? known : std::nullopt;
      default: return known ? changed(*known, expanded(rest)) : std::nullopt;
    }
  }

  static bool is_plain(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, is_name);
  }

  /// `${#NAME}`: letters; `${#NAME[@]}`: words.
  std::optional<std::string> length_of(std::string_view name) {
    const bool array = name.ends_with("[@]") || name.ends_with("[*]");
    if (array) name.remove_suffix(3);
    const auto known = is_plain(name) ? value_of(name) : std::nullopt;
    if (!known || known->find('$') != std::string::npos) return std::nullopt;
    if (!array) return std::to_string(known->size());
    std::vector<std::string> words;
    split(*known, words);
    return std::to_string(words.size());
  }

  std::string spent(const std::string& value) {
    spend(value.size());
    return value;
  }

  /// Variables inside `$((…))` stand with or without their `$`.
  std::string with_numbers(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '$') {
        out += expansion(text, at);
        continue;
      }
      const std::size_t begin = at;
      while (at < text.size() && is_name(text[at])) ++at;
      const std::string_view name = text.substr(begin, at - begin);
      const bool number = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
      const auto known = number ? std::nullopt : value_of(name);
      out += known ? spent(*known) : std::string(name);
      if (at == begin && text[at++] != '"') out += text[begin];
    }
    return out;
  }

  /// Sets what a command of assignments sets, else keeps its words; quoted commands are read too.
  void finish(std::vector<std::string>& command, int depth, char end) {
    using Truth = ShellBranches::Truth;
    const auto repetition = repeated(command);
    judge_getopts(command);
    const Truth runs = branches_.take(command, end);
    for (const ShellBranches::Event& event : branches_.events()) follow(event);
    const auto defaults = std::exchange(defaults_, {});
    if (runs == Truth::no) return command.clear();
    for (const auto& [name, value] : defaults) {
      const bool argument = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
      assume(fmt::format("{}{}={}: the script's default", argument ? "$" : "", name,
                         printable(value)));
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
    if (command.front() == "let") {
      for (std::string& value : command) value = assigned_number(value).value_or(value);
    }
    if (command.front() == "read" && read_words(command)) return command.clear();
    spell_out(command);
    keep_locals(command);
    if (command.size() == 5 && command[0] == "printf" && command[1] == "-v" && command[3] == "%s") {
      assign(command[2], command[4], runs == Truth::unknown);
    }
    if (is_one_of(command, kSilent)) return command.clear();
    const bool sets = is_one_of(command, kSetters);
    bool started = false;  // a command has been named
    bool program = false;  // and that of Python, whose arguments follow
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
      } else if (holds_command(value) && depth < kMostNested) {
        read_inside(value, depth + 1);
      } else {
        started = started || value != "{";
        program = program || value.ends_with(".py") ||
                  (value == "-m" && i > 0 && command[i - 1].find("python") != std::string::npos);
        result_.words.push_back(std::move(value));
      }
    }
    end_words();
    command.clear();
  }

  /// Marks where a command's words end.
  void end_words() {
    if (!result_.words.empty() && result_.words.back() != kCommandEnd) {
      result_.words.emplace_back(kCommandEnd);
    }
  }

  /// Whether a quoted word is a command with flags, or a program of Python's with settings.
  static bool holds_command(std::string_view value) {
    return value.find(" --") != std::string_view::npos ||
           value.find(".py ") != std::string_view::npos;
  }

  /// `read -r A B <<< "1 2"`; the last name takes what is left.
  bool read_words(const std::vector<std::string>& command) {
    const auto sign = std::ranges::find(command, kHereString);
    if (sign == command.end() || sign + 1 == command.end()) return false;
    std::vector<std::string> values;
    split(*(sign + 1), values);
    std::vector<std::string> names;
    std::copy_if(command.begin() + 1, sign, std::back_inserter(names), is_plain);
    if (names.empty() || values.size() < names.size()) return false;
    for (std::size_t i = 0; i + 1 < names.size(); ++i) assign(names[i], values[i], false);
    const auto last = values.begin() + static_cast<std::ptrdiff_t>(names.size()) - 1;
    assign(names.back(), fmt::format("{}", fmt::join(last, values.end(), " ")), false);
    return true;
  }

  /// `getopts "t:p:" name` as a test of whether there is another option among the arguments that
  /// are known, which it takes.
  void judge_getopts(std::vector<std::string>& command) {
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

  static std::size_t name_length(std::string_view value) {
    std::size_t length = 0;
    while (length < value.size() && is_name(value[length])) ++length;
    return length;
  }

  void assign_word(const std::string& value, std::size_t length, bool appends, bool optional) {
    const std::string name = value.substr(0, length);
    const auto known = state_.variables.find(name);
    const bool is_known = known != state_.variables.end();
    std::string assigned = appends && is_known ? known->second : std::string();
    assigned += value.substr(length + (appends ? 2 : 1));
    spend(assigned.size());
    assign(name, std::move(assigned), optional);
  }

  /// `LAYERS[7B]=32`, which arrays keep as their words.
  static bool is_element(std::string_view value, std::size_t length) {
    return length > 0 && value.substr(length, 1) == "[" &&
           value.find("]=", length) != std::string_view::npos;
  }
  void append_element(const std::string& value, std::size_t length) {
    const std::string name = value.substr(0, length);
    const auto known = state_.variables.find(name);
    std::string all = known == state_.variables.end() ? std::string() : known->second + " ";
    all += value.substr(length);
    spend(all.size());
    set(name, std::move(all));
  }

  /// What `local` names is the function's own, and as before when that ends.
  void keep_locals(const std::vector<std::string>& command) {
    if (locals_.empty() || !is_one_of(command, kOwners)) return;
    for (const std::string& value : command) {
      const std::string name = value.substr(0, name_length(value));
      if (name.empty() || &value == &command.front()) continue;
      const auto known = state_.variables.find(name);
      locals_.back().try_emplace(
          name, known == state_.variables.end() ? std::nullopt : std::optional(known->second));
    }
  }

  /// Where all arguments are passed on, they stay as well known as they were.
  void run_function(const std::string& name, std::vector<std::string> arguments) {
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

  /// The name and the values that a `for` goes through.
  static std::vector<std::string> repeated(const std::vector<std::string>& command) {
    const auto found = std::ranges::find(command, "for");
    const bool list = command.end() - found > 2 && *(found + 2) == "in";
    if (!list || found - command.begin() > 1) return {};
    std::vector<std::string> words{*(found + 1)};
    for (auto value = found + 3; value != command.end(); ++value) split(*value, words);
    return words;
  }

  /// A loop is read once, for its last value.
  void repeat(const std::vector<std::string>& repetition) {
    const bool open = std::ranges::any_of(repetition, [](const std::string& value) {
      return value.find_first_of("$`*?{") != std::string::npos;
    });
    if (open || repetition.size() < 2 || !is_plain(repetition.front())) return;
    if (repetition.size() > 2) {
      assume(fmt::format(
          "{0}={1}: the last of what a loop goes through ({0} in {2})", repetition.front(),
          printable(repetition.back()),
          printable(fmt::format("{}", fmt::join(repetition.begin() + 1, repetition.end(), ", ")))));
    }
    set(repetition.front(), repetition.back());
  }

  void set(const std::string& name, std::string value) {
    const auto known = state_.variables.find(name);
    if (!chains_.empty()) {
      chains_.back().before.try_emplace(
          name, known == state_.variables.end() ? std::nullopt : std::optional(known->second));
    }
    state_.variables.insert_or_assign(name, std::move(value));
  }

  /// What is known outlives what is not: a value that only a run would tell, or one that is set
  /// under a condition (`optional`) of which that is so.
  void assign(const std::string& name, std::string value, bool optional) {
    const auto known = state_.variables.find(name);
    const bool keeps = known != state_.variables.end() && !known->second.empty() &&
                       !is_unknown(known->second) && known->second != value;
    if (keeps && (optional || is_unknown(value))) {
      assume(fmt::format("{} stays {}: that it becomes {} is not known here", name,
                         printable(known->second, kLongestTold), printable(value, kLongestTold)));
      return;
    }
    if (optional) {
      assume(fmt::format("{}={}: under a condition that is not known here", name,
                         printable(value, kLongestTold)));
    }
    set(name, std::move(value));
  }

  void shift(const std::vector<std::string>& command) {
    if (!state_.arguments) return;
    const auto count = command.size() > 1 ? parse_integer(command[1]) : std::optional(1LL);
    const auto held = static_cast<long long>(state_.arguments->size());
    const long long dropped = std::clamp(count.value_or(1), 0LL, held);
    state_.arguments->erase(state_.arguments->begin(), state_.arguments->begin() + dropped);
  }

  void follow(const ShellBranches::Event& event) {
    using Kind = ShellBranches::Event::Kind;
    if (event.loop) loop_events_.push_back(event);
    if (event.kind == Kind::opened) {
      if (chains_.size() >= kMostChains)
        throw InputError(file_ + ": too many branches in branches");
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

  void begin_branch() {
    Chain& chain = chains_.back();
    chain.before.clear();
    chain.words = result_.words.size();
    chain.here_documents = result_.here_documents.size();
    chain.leaves = false;
  }

  /// Puts aside what a branch did that may have run; what one did that runs stays.
  void end_branch(const ShellBranches::Event& event) {
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
      branch.sets.emplace(name, std::exchange(now->second, value.value_or("")));
      if (!value) state_.variables.erase(now);
    }
    put_aside(result_.words, chain.words, branch.words);
    put_aside(result_.here_documents, chain.here_documents, branch.here_documents);
  }

  static void put_aside(std::vector<std::string>& from, std::size_t begin,
                        std::vector<std::string>& to) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(std::min(begin, from.size()));
    to.assign(std::make_move_iterator(first), std::make_move_iterator(from.end()));
    from.erase(first, from.end());
  }

  /// Of alternatives that do not end the script: the one that was asked for, else that which runs
  /// where no other does, else the first.
  void close_chain() {
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
    const bool matters = std::ranges::any_of(alternatives, [](const Alternative& one) {
      return !one.sets.empty() || !one.words.empty();
    });
    if (alternatives.size() > 1 && matters) tell(chain, taken);
    Alternative& branch = alternatives[taken];
    for (auto& [name, value] : branch.sets) {
      assign(name, std::move(value), !complete && choice == choices_.end());
    }
    std::ranges::move(branch.words, std::back_inserter(result_.words));
    std::ranges::move(branch.here_documents, std::back_inserter(result_.here_documents));
  }

  void tell(const Chain& chain, std::size_t taken) {
    if (result_.open.size() == kMostChains) return;
    OpenChain& open = result_.open.emplace_back();
    open.subject = chain.subject;
    open.number = chain.number;
    open.taken = taken;
    for (const Alternative& one : chain.alternatives) open.values.push_back(one.value);
  }

  /// Where to read on: behind the command, or at the `while` whose round has ended.
  std::size_t next(std::vector<Loop>& loops, std::size_t begin, std::size_t behind) {
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

  void assume(std::string text) {
    if (assumed_.insert(text).second) result_.assumed.push_back(std::move(text));
  }

  /// Options in brief of launchers as the long ones; other scripts that a command reads are named.
  void spell_out(std::vector<std::string>& command) {
    if ((command.front() == "source" || command.front() == ".") && command.size() > 1) {
      const std::string name = command[1].substr(command[1].rfind('/') + 1);  // npos + 1 is 0
      if (!state_.scripts.contains(name)) {
        assume(fmt::format("nothing of {0}, which the script sources; give {0} before it",
                           printable(command[1])));
      }
    }
    if (is_one_of(command, kSlurmCommands)) spell_out(command, kSlurmBriefs);
    if (is_one_of(command, kMpiCommands)) spell_out(command, kMpiBriefs);
  }

  template <class Briefs>
  static void spell_out(std::vector<std::string>& command, const Briefs& briefs) {
    for (std::size_t i = 1; i < command.size(); ++i) {
      const bool option = command[i].starts_with('-');
      if (!option && !command[i - 1].starts_with('-')) return;  // the program that is launched
      for (const auto& [brief, full] : briefs) {
        if (command[i] == brief) {
          command[i] = full;
        } else if (std::string_view(brief).size() == 2 && command[i].starts_with(brief) &&
                   std::isdigit(static_cast<unsigned char>(command[i][2])) != 0) {
          command[i] = fmt::format("{}={}", full, command[i].substr(2));  // -N8
        }
      }
    }
  }

  std::string file_;
  LaunchScript result_;
  const Choices& choices_;
  ShellState state_;
  std::vector<Chain> chains_;  ///< open, the innermost last
  std::size_t chain_count_{0};
  std::vector<ShellBranches::Event> loop_events_;  ///< of the command that was taken last
  int rounds_{0};                                  ///< of all `while`
  std::size_t spent_{0};
  int braces_{0};  ///< how deep in defaults of defaults
  ShellBranches branches_;
  std::map<std::string, std::string> defaults_;  ///< taken from `${NAME:-…}` in this command
  std::set<std::string> assumed_;
  std::set<std::string> uncalled_;  ///< functions of this file
  std::size_t options_{0};          ///< that `getopts` has taken of the arguments
  int calls_{0};                    ///< of functions, one in another
  /// What the names that a function calls its own were before, the innermost last.
  std::vector<std::map<std::string, std::optional<std::string>>> locals_;
};

}  // namespace

namespace {

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
  Reader reader(file, before, choices);
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
