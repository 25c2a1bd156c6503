#include "cli/import/shell/shell_branches.hpp"

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

using Truth = ShellBranches::Truth;

Truth truth(bool value) {
  return value ? Truth::yes : Truth::no;
}
Truth negated(Truth value) {
  if (value == Truth::unknown) return value;
  return truth(value == Truth::no);
}
Truth both(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}
Truth either(Truth a, Truth b) {
  return negated(both(negated(a), negated(b)));
}

bool is_open(const std::string& word) {
  return word.find_first_of("$`") != std::string::npos;
}
bool has_wildcard(const std::string& word) {
  return word.find_first_of("*?[") != std::string::npos;
}

/// Tests whether a known word fits a pattern, which may have no wildcard.
Truth of_pattern(const std::string& word, const std::string& pattern) {
  if (!has_wildcard(pattern)) return truth(word == pattern);
  const auto match = fits_pattern(word, pattern);
  return match ? truth(*match) : Truth::unknown;
}

/// The comparison of two known words; unknown where it is none.
Truth compared(const std::string& a, const std::string& op, const std::string& b) {
  if (op == "=" || op == "==") return of_pattern(a, b);
  if (op == "!=") return negated(of_pattern(a, b));
  const auto left = parse_integer(a);
  const auto right = parse_integer(b);
  if (!left || !right) return Truth::unknown;
  if (op == "-eq") return truth(*left == *right);
  if (op == "-ne") return truth(*left != *right);
  if (op == "-lt") return truth(*left < *right);
  if (op == "-le") return truth(*left <= *right);
  if (op == "-gt") return truth(*left > *right);
  if (op == "-ge") return truth(*left >= *right);
  return Truth::unknown;
}

/// `[ 7B = "7B" ]`, `[[ $N -gt 4 ]]`, `test -z x`, `false`, all also behind a `!`.
bool is_test(const std::vector<std::string>& words) {
  const std::size_t first = !words.empty() && words.front() == "!" ? 1 : 0;
  if (words.size() <= first) return false;
  if (words.size() == first + 1 && (words[first] == "true" || words[first] == "false")) return true;
  return words[first] == "[" || words[first] == "[[" || words[first] == "test";
}

using Words = std::vector<std::string>;

/// Returns the value of one condition where it holds no `$`. For an empty variable `[` sees no
/// word, `[[` (`whole`) an empty one.
Truth condition_value(Words words, bool whole) {
  if (!words.empty() && words.front() == "!") {
    words.erase(words.begin());
    return negated(condition_value(std::move(words), whole));
  }
  if (std::any_of(words.begin(), words.end(), is_open)) return Truth::unknown;
  if (whole && words.size() == 1 && (words[0] == "-z" || words[0] == "-n")) words.emplace_back();
  if (words.size() == 2 && (words[0] == "=" || words[0] == "==" || words[0] == "!=")) {
    if (!whole) return Truth::no;
    words.insert(words.begin(), "");
  }
  if (words.size() == 3) return compared(words[0], words[1], words[2]);
  if (words.size() == 2 && words[0] == "-z") return truth(words[1].empty());
  if (words.size() == 2 && words[0] == "-n") return truth(!words[1].empty());
  if (words.size() == 1) return truth(!words[0].empty());
  return words.empty() ? Truth::no : Truth::unknown;
}

/// Conditions that are joined by one of these signs, each judged by `part`.
template <class Part, class Join>
Truth joined(const Words& words, std::initializer_list<std::string_view> signs, Truth none,
             const Part& part, const Join& join) {
  Truth all = none;
  auto begin = words.begin();
  while (true) {
    const auto end = std::find_first_of(begin, words.end(), signs.begin(), signs.end());
    all = join(all, part(Words(begin, end)));
    if (end == words.end()) return all;
    begin = end + 1;
  }
}

/// Returns the value of a test.
Truth test_value(Words words) {
  if (words.front() == "!") {
    words.erase(words.begin());
    return negated(test_value(std::move(words)));
  }
  const std::string opening = words.front();
  if (opening == "true" || opening == "false") return truth(opening == "true");
  words.erase(words.begin());
  if (opening != "test") {
    if (words.empty() || words.back() != (opening == "[" ? "]" : "]]")) return Truth::unknown;
    words.pop_back();
  }
  if (std::ranges::any_of(words, [](const std::string& word) { return word == "("; })) {
    return Truth::unknown;
  }
  const auto one = [&](const Words& part) { return condition_value(part, opening == "[["); };
  const auto all = [&](const Words& part) {
    return joined(part, {"&&", "-a"}, Truth::yes, one, both);
  };
  return joined(words, {"||", "-o"}, Truth::no, all, either);
}

constexpr std::string_view kSigns[] = {
    "[",   "[[",  "]",  "]]", "test", "!",  "=",  "==", "!=", "-eq", "-ne", "-lt", "-le",
    "-gt", "-ge", "-n", "-z", "-a",   "-o", "&&", "||", "(",  ")",   "<",   ">",   "=~"};

/// Returns the words that a test compares: the unknown one, and the other.
std::pair<std::string, std::string> compared_words(const std::vector<std::string>& test) {
  std::string subject;
  std::string value;
  for (const std::string& word : test) {
    if (is_open(word)) {
      if (subject.empty()) subject = word;
    } else if (std::ranges::find(kSigns, word) == std::end(kSigns)) {
      value = word;
    }
  }
  return {subject, value};
}

}  // namespace

std::vector<ShellBranches::Event> ShellBranches::events() {
  return std::exchange(events_, {});
}

void ShellBranches::open(Construct construct, Truth now, Kind kind, std::string subject) {
  levels_.push_back({construct, running(), Truth::no, now, kind, false, std::move(subject), {}});
  events_.push_back({Event::Kind::opened, construct == Construct::loop, {}, {}, {}, {}});
}

void ShellBranches::close() {
  next_branch();
  events_.push_back(
      {Event::Kind::closed, levels_.back().construct == Construct::loop, {}, {}, {}, {}});
  levels_.pop_back();
}

Truth ShellBranches::running() const {
  if (levels_.empty()) return Truth::yes;
  const Level& level = levels_.back();
  return both(level.outside, both(level.now, negated(level.earlier)));
}

void ShellBranches::next_branch() {
  Level& level = levels_.back();
  events_.push_back({Event::Kind::ended, level.construct == Construct::loop,
                     both(level.now, negated(level.earlier)), level.now == Truth::yes,
                     level.subject, level.value});
  level.earlier = either(level.earlier, level.now);
  level.now = Truth::no;
  level.value.clear();
}

/// `case WORD in`; what stands behind it on the line is left.
void ShellBranches::open_case(std::vector<std::string>& command) {
  open(Construct::selection, Truth::no, Kind::pattern, command[1]);
  command.erase(command.begin(), command.begin() + 3);
}

/// Takes one keyword from the front of the command; false where there is none.
bool ShellBranches::keyword(std::vector<std::string>& command) {
  if (command.empty()) return false;
  const std::string word = command.front();
  const auto inside = [this](Construct construct) {
    return !levels_.empty() && levels_.back().construct == construct;
  };
  const bool choice = inside(Construct::choice);
  const bool loop = inside(Construct::loop);
  if (word == "if") {
    open(Construct::choice, Truth::yes, Kind::condition);
  } else if (word == "while") {
    open(Construct::loop, Truth::yes, Kind::condition);
  } else if (word == "for" || word == "until" || word == "select") {
    open(Construct::repetition, Truth::yes, Kind::body);
    if (word != "until") command.resize(1);  // what it goes through is no command
  } else if (word == "case" && command.size() > 2 && command[2] == "in") {
    open_case(command);
    return false;
  } else if (word == "esac" && inside(Construct::selection)) {
    close();
  } else if (word == "elif" && choice) {
    next_branch();
    levels_.back().now = Truth::yes;
    levels_.back().kind = Kind::condition;
    levels_.back().tested = false;
  } else if (word == "else" && choice) {
    next_branch();
    levels_.back().now = Truth::yes;
  } else if ((word == "then" && choice) || (word == "do" && loop)) {
    levels_.back().kind = Kind::body;
  } else if (word == "do" && inside(Construct::repetition)) {
    // The header was a command of its own.
  } else if ((word == "fi" && choice) ||
             (word == "done" && (loop || inside(Construct::repetition)))) {
    close();
  } else {
    return false;
  }
  command.erase(command.begin());
  return true;
}

Truth ShellBranches::take_pattern(std::vector<std::string>& command, char end) {
  Level& level = levels_.back();
  for (const std::string& pattern : command) {
    Truth fits = of_pattern(level.subject, pattern);
    if (is_open(level.subject) || is_open(pattern)) fits = Truth::unknown;
    if (pattern == "*") {
      fits = Truth::yes;
    } else {
      level.value += (level.value.empty() ? "" : "|") + pattern;
    }
    level.now = either(level.now, fits);
  }
  if (end == ')') level.kind = Kind::body;
  command.clear();
  return Truth::no;
}

/// A condition is a test, or several, or a command that runs whatever comes of it.
Truth ShellBranches::take_condition(std::vector<std::string>& command, char before) {
  Level& level = levels_.back();
  const bool reached = both(level.outside, negated(level.earlier)) != Truth::no;
  const Truth around = truth(reached);
  if (command.empty()) return around;
  const Truth value = is_test(command) ? test_value(command) : Truth::unknown;
  if (!level.tested) {
    level.now = value;
    std::tie(level.subject, level.value) = compared_words(command);
  } else {
    level.now = before == '&'   ? both(level.now, value)
                : before == '|' ? either(level.now, value)
                                : Truth::unknown;
  }
  level.tested = true;
  if (is_test(command)) command.clear();
  return around;
}

void ShellBranches::take_group(std::vector<std::string>& command, bool& gated, Truth& gate) {
  const bool inside = !levels_.empty() && levels_.back().construct == Construct::group;
  if (command.front() == "{" && (gated || inside)) {
    open(Construct::group, gate, Kind::body);
    gated = false;
    gate = Truth::yes;
  } else if (command.front() == "}" && inside) {
    gated = true;
    gate = levels_.back().now;
    close();
  } else {
    return;
  }
  command.erase(command.begin());
}

Truth ShellBranches::take(std::vector<std::string>& command, char end) {
  const char before = before_;
  before_ = end;
  if (command.empty()) {
    if (end == ';' && before == ';' && !levels_.empty() &&
        levels_.back().construct == Construct::selection) {
      next_branch();
      levels_.back().kind = Kind::pattern;
    }
    // `[ … ] && command`: the second of two marks.
    joined_ = joined_ && end == before && (end == '&' || end == '|');
    if (joined_) next_ = end == '&' ? test_ : negated(test_);
    joined_ = false;
    return skips() ? Truth::no : Truth::yes;
  }
  bool gated = next_.has_value();
  Truth gate = next_.value_or(Truth::yes);
  next_.reset();
  joined_ = false;
  take_group(command, gated, gate);
  while (keyword(command)) {
  }
  if (!levels_.empty() && levels_.back().kind == Kind::pattern) return take_pattern(command, end);
  if (!levels_.empty() && levels_.back().kind == Kind::condition) {
    return take_condition(command, before);
  }
  const bool tests = is_test(command);
  const Truth runs = skips() ? Truth::no : gate;
  if ((tests || gated) && (end == '&' || end == '|')) {
    if (gated && before == '|') {  // behind `||`: what went before may hold without it
      test_ = tests ? Truth::unknown : Truth::yes;
    } else {
      test_ = tests ? both(gate, test_value(command)) : gate;
    }
    joined_ = true;
  }
  if (tests) command.clear();
  return runs;
}

}  // namespace prequel
