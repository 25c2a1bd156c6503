#include "cli/import/launch_script.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/import/shell_branches.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostExpanded = 4u << 20;
constexpr int kMostNested = 8;

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

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// `$((…))`: + - * / % and brackets over whole numbers; empty when it is not that.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}
  std::optional<long long> value() {
    const auto result = sum(0);
    return peek() == '\0' ? result : std::nullopt;
  }

 private:
  using Number = std::optional<long long>;
  char peek() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  Number sum(int depth) {
    Number left = product(depth);
    for (char op = peek(); left && (op == '+' || op == '-'); op = peek()) {
      ++at_;
      left = combine(op, *left, product(depth));
    }
    return left;
  }
  Number product(int depth) {
    Number left = atom(depth);
    for (char op = peek(); left && (op == '*' || op == '/' || op == '%'); op = peek()) {
      ++at_;
      left = combine(op, *left, atom(depth));
    }
    return left;
  }
  Number atom(int depth) {
    if (peek() == '(' && depth < kMostNested) {
      ++at_;
      const Number inside = sum(depth + 1);
      if (peek() != ')') return std::nullopt;
      ++at_;
      return inside;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return parse_integer(text_.substr(begin, at_ - begin));
  }
  static Number combine(char op, long long a, Number b) {
    long long result = 0;
    if (!b) return std::nullopt;
    bool overflow = false;
    if (op == '+') overflow = __builtin_add_overflow(a, *b, &result);
    if (op == '-') overflow = __builtin_sub_overflow(a, *b, &result);
    if (op == '*') overflow = __builtin_mul_overflow(a, *b, &result);
    if (op == '/' || op == '%') {
      if (*b <= 0) return std::nullopt;
      result = op == '/' ? a / *b : a % *b;
    }
    return overflow ? std::nullopt : Number(result);
  }
  std::string_view text_;
  std::size_t at_{0};
};

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  void read(std::string_view text, int depth) {
    std::size_t at = 0;
    std::vector<std::string> command;
    std::vector<std::string> delimiters;
    while (at < text.size()) {
      const char c = text[at];
      if (c == '\\' && at + 1 < text.size() && text[at + 1] == '\n') {
        at += 2;
      } else if (c == '#') {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        slurm_line(text.substr(at, end - at));
        at = end;
      } else if (c == '<' && text.substr(at, 2) == "<<" && text.substr(at, 3) != "<<<") {
        at += text.substr(at, 3) == "<<-" ? 3 : 2;
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
        std::string delimiter = word(text, at).first;
        if (!delimiter.empty()) delimiters.push_back(std::move(delimiter));
      } else if (c == '\n') {
        finish(command, depth, c);
        ++at;
        for (const std::string& delimiter : delimiters) here_document(text, at, delimiter);
        delimiters.clear();
      } else if (is_blank(c)) {
        ++at;
      } else if (std::string_view(";|&<>()").find(c) != std::string_view::npos) {
        if (c != '<' && c != '>') finish(command, depth, c);
        ++at;
      } else {
        auto [value, quoted] = word(text, at);
        if (value.ends_with('=') && at < text.size() && text[at] == '(') array(text, ++at, value);
        if (quoted || value.find('=') != std::string::npos) {
          command.push_back(std::move(value));
        } else {
          split(value, command);
        }
      }
    }
    finish(command, depth, '\n');
  }

  LaunchScript finished() {
    std::string possible;
    for (const auto& [name, value] : possible_) {
      possible += fmt::format("{}{}={}", possible.empty() ? "" : ", ", name, printable(value));
    }
    if (!possible.empty()) {
      result_.assumed.push_back("conditions that are not known here hold: " + possible);
    }
    result_.variables = std::move(variables_);
    return std::move(result_);
  }

 private:
  void spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > kMostExpanded) throw InputError(file_ + ": its variables expand to over 4 MiB");
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
    split(line.substr(7, line.find(" #", 7) - 7), options);
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
        if (name == option) variables_[variable] = value.substr(value.rfind(':') + 1);
      }
    }
    result_.words.insert(result_.words.end(), options.begin(), options.end());
  }

  void here_document(std::string_view text, std::size_t& at, const std::string& delimiter) {
    std::string body;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      at = std::min(end + 1, text.size());
      if (trimmed(line) == delimiter) break;
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
    if (branches_.running() == ShellBranches::Truth::no) return;
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
      } else {
        value += c;
        ++at;
      }
    }
    spend(value.size());
    return {value, quoted};
  }

  /// What stands for the `$…` at `at`; the text itself where nothing is known.
  std::string expansion(std::string_view text, std::size_t& at) {
    const std::size_t begin = at++;
    if (text.substr(at, 2) == "((") {
      const std::size_t end = text.find("))", at);
      if (end == std::string_view::npos) return "$";
      const std::string inside = with_numbers(text.substr(at + 2, end - at - 2));
      at = end + 2;
      if (const auto value = Arithmetic(inside).value()) return std::to_string(*value);
    } else if (at < text.size() && text[at] == '(') {
      at = std::min(text.find(')', at), text.size() - 1) + 1;
    } else if (at < text.size() && text[at] == '{') {
      const std::size_t end = closing_brace(text, at);
      if (end == std::string_view::npos) return "$";
      const std::string_view inside = text.substr(at + 1, end - at - 1);
      at = end + 1;
      if (const auto value = of_braces(inside)) return *value;
    } else {
      const std::size_t name = at;
      while (at < text.size() && is_name(text[at])) ++at;
      const auto known = variables_.find(text.substr(name, at - name));
      if (known != variables_.end()) return spent(known->second);
    }
    return std::string(text.substr(begin, at - begin));
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

  /// What `${NAME}`, `${NAME:-default}` or `${NAME:=default}` stands for.
  std::optional<std::string> of_braces(std::string_view inside) {
    std::size_t length = 0;
    while (length < inside.size() && is_name(inside[length])) ++length;
    if (const auto known = variables_.find(inside.substr(0, length)); known != variables_.end()) {
      return spent(known->second);
    }
    const std::string_view rest = inside.substr(length);
    const std::size_t sign = rest.starts_with(':') ? 1 : 0;
    if (rest.size() <= sign || (rest[sign] != '-' && rest[sign] != '=')) return std::nullopt;
    const std::string name(inside.substr(0, length));
    std::string value;
    if (braces_ < kMostNested) {
      ++braces_;
      const std::string_view text = rest.substr(sign + 1);
      for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '$') {
          value += expansion(text, at);
        } else {
          if (text[at] != '"' && text[at] != '\'') value += text[at];
          ++at;
        }
      }
      --braces_;
    } else {
      value = rest.substr(sign + 1);
    }
    if (!value.empty()) defaults_.emplace(name, value);
    if (rest[sign] == '=') variables_[name] = value;
    return value;
  }

  std::string spent(const std::string& value) {
    spend(value.size());
    return value;
  }

  /// Variables inside `$((…))` stand with or without their `$`.
  std::string with_numbers(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      while (at < text.size() && is_name(text[at])) ++at;
      const std::string_view name = text.substr(begin, at - begin);
      const auto known = variables_.find(name);
      out += known != variables_.end() ? spent(known->second) : std::string(name);
      if (at == begin && std::string_view("${}").find(text[at++]) == std::string_view::npos) {
        out += text[begin];
      }
    }
    return out;
  }

  /// Sets what a command of assignments sets, else keeps its words; quoted commands are read too.
  void finish(std::vector<std::string>& command, int depth, char end) {
    using Truth = ShellBranches::Truth;
    const Truth runs = branches_.take(command, end);
    const auto defaults = std::exchange(defaults_, {});
    if (runs == Truth::no) return command.clear();
    for (const auto& [name, value] : defaults) {
      const bool argument = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
      assume(fmt::format("{}{}={}: the script's default", argument ? "$" : "", name,
                         printable(value)));
    }
    if (!command.empty()) spell_out(command);
    for (std::string& value : command) {
      std::size_t length = 0;
      while (length < value.size() && is_name(value[length])) ++length;
      const std::string name = value.substr(0, length);
      const bool appends = length > 0 && value.substr(length, 2) == "+=";
      if (appends || (length > 0 && value.substr(length, 1) == "=")) {
        std::string& variable = variables_[name];
        variable = (appends ? variable : "") + value.substr(length + (appends ? 2 : 1));
        spend(variable.size());
        if (runs == Truth::unknown) possible_[name] = variable;
      } else if (value.find(" --") != std::string::npos && depth < kMostNested) {
        read(value, depth + 1);
      } else {
        result_.words.push_back(std::move(value));
      }
    }
    command.clear();
  }

  void assume(std::string text) {
    if (assumed_.insert(text).second) result_.assumed.push_back(std::move(text));
  }

  /// Options in brief of launchers as the long ones; other scripts that a command reads are named.
  void spell_out(std::vector<std::string>& command) {
    if ((command.front() == "source" || command.front() == ".") && command.size() > 1) {
      assume(fmt::format("nothing of {}, which the script sources", printable(command[1])));
    }
    const auto is_one_of = [&command](const auto& names) {
      const std::string& path = command.front();
      const std::string program = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
      return std::find(std::begin(names), std::end(names), program) != std::end(names);
    };
    if (is_one_of(kSlurmCommands)) spell_out(command, kSlurmBriefs);
    if (is_one_of(kMpiCommands)) spell_out(command, kMpiBriefs);
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
  std::map<std::string, std::string, std::less<>> variables_;
  std::size_t spent_{0};
  int braces_{0};  ///< how deep in defaults of defaults
  ShellBranches branches_;
  std::map<std::string, std::string> defaults_;  ///< taken from `${NAME:-…}` in this command
  std::map<std::string, std::string> possible_;  ///< set where that was not certain
  std::set<std::string> assumed_;
};

}  // namespace

LaunchScript read_launch_script(const std::string& file, std::string_view text) {
  Reader reader(file);
  reader.read(text, 0);
  return reader.finished();
}

}  // namespace prequel
