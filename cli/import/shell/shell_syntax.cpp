#include "cli/import/shell/shell_syntax.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <utility>

#include "cli/import/shell/launchers.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;
constexpr int kMostInside = 16;    // substitutions in substitutions
constexpr int kMostBranches = 64;  // in branches
constexpr std::size_t kLongestSubstitution = 1u << 14;
constexpr std::size_t kLongestBraces = 1u << 12;
constexpr std::size_t kLongestArithmetic = 1u << 10;
/// Letters that end a plain piece of a word; a NUL byte is passed over.
constexpr std::string_view kSpecial(" \t\r\n;|&<>()\"'\\$`\0", 17);

bool is_one_of(char c, std::string_view letters) {
  return letters.find(c) != kNowhere;
}

std::size_t end_of_expansion(std::string_view text, std::size_t at, int depth, bool& open);

/// Behind the `((…))` at `at`. npos where there is none: brackets that do not close together are of
/// a group in a group.
std::size_t end_of_arithmetic(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "((") return kNowhere;
  text = text.substr(0, at + kLongestArithmetic);
  int open = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++open;
    if (text[at] == ')' && --open == 0) break;
  }
  return at < text.size() && text[at - 1] == ')' ? at + 1 : kNowhere;
}

/// Reads commands from front to back. Inside brackets the text ends where they do.
class Parser {
 public:
  using Closers = std::initializer_list<std::string_view>;
  using Kind = ShellCommand::Kind;
  using Sign = ShellCommand::Sign;

  Parser(std::string_view text, std::string_view file, int depth)
      : text_(text), file_(file), depth_(depth) {}

  /// Commands up to one of these words, which is taken.
  CommandList list(Closers closers = {}) {
    CommandList commands;
    took_ = {};
    Sign sign = Sign::none;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        documents(commands);
      } else if (is_shell_blank(c) || is_next("\\\n")) {
        at_ += c == '\\' ? 2 : 1;
      } else if (c == '#') {
        std::string text = comment();
        const bool asks = text.find_first_of(" \t") != kNowhere && !scheduler_options(text).empty();
        if (asks) commands.push_back({.kind = Kind::request, .text = std::move(text)});
      } else if (is_next("&&") || is_next("||")) {
        sign = c == '&' ? Sign::both : Sign::either;
        at_ += 2;
      } else if (is_next(";;") && std::ranges::find(closers, ";;") != closers.end()) {
        took_ = text_.substr(at_, 2);
        at_ += std::min(text_.find_first_not_of(";&", at_), text_.size()) - at_;
        return commands;
      } else if (is_one_of(c, ";&|")) {
        sign = c == '|' ? Sign::pipe : Sign::none;
        ++at_;
      } else if (c == ')' || (c == '(' && end_of_arithmetic(text_, at_) == kNowhere)) {
        bracket(c);
      } else {
        const std::string_view word = plain_word();
        if (std::ranges::find(closers, word) != closers.end()) {
          at_ += word.size();
          took_ = word;
          return commands;
        }
        ShellCommand one = command(word);
        one.sign = std::exchange(sign, Sign::none);
        commands.push_back(std::move(one));
      }
    }
    took_ = {};
    return commands;
  }

  /// Behind the bracket that closed the text; npos where none did.
  [[nodiscard]] std::size_t end() const { return end_; }

 private:
  [[nodiscard]] bool is_next(std::string_view sign) const {
    return text_.substr(at_).starts_with(sign);
  }
  /// The letters here up to a blank or a sign.
  [[nodiscard]] std::string_view plain_word() const {
    const std::string_view rest = text_.substr(at_);
    return rest.substr(0, rest.find_first_of(" \t\r\n;|&<>()"));
  }
  /// Passes blanks, and lines too.
  void skip_blanks() {
    while (at_ < text_.size() && is_shell_blank(text_[at_])) ++at_;
  }
  void skip_in_line() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }

  std::string comment() {
    const std::size_t begin = std::exchange(at_, std::min(text_.find('\n', at_), text_.size()));
    return std::string(text_.substr(begin, at_ - begin));
  }

  void bracket(char c) {
    ++at_;
    if (c == '(') ++brackets_;
    if (c == '(' || depth_ == 0) return;
    if (brackets_-- > 0) return;
    end_ = at_;
    stop();
  }
  void stop() { text_ = text_.substr(0, at_ = std::min(at_, end_ == kNowhere ? 0 : end_ - 1)); }

  void documents(CommandList& commands) {
    for (ShellCommand& one : std::exchange(announced_, {})) {
      const std::size_t begin = at_;
      const std::string delimiter = std::exchange(one.text, {});
      std::size_t behind = at_;
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        const bool last = trimmed(text_.substr(at_, end - at_)) == delimiter;
        at_ = std::min(end + 1, text_.size());
        if (last) break;
        behind = at_;
      }
      one.text = text_.substr(begin, behind - begin);
      commands.push_back(std::move(one));
    }
  }

  ShellCommand command(std::string_view word) {
    constexpr std::string_view kOpening[] = {"if", "while", "until", "for", "select", "case"};
    if (levels_ == kMostBranches) {
      if (depth_ > 0 || std::ranges::find(kOpening, word) == std::end(kOpening)) return simple();
      throw InputError(std::string(file_) + ": too many branches in branches");
    }
    ShellCommand made;
    const std::size_t begin = at_;
    ++levels_;
    const bool compound = opened(word, made);
    --levels_;
    if (!compound) at_ = begin;
    if (!compound) return simple();
    made.closed = !took_.empty();
    took_ = {};
    return made;
  }

  /// Reads what this word opens. False for a simple command.
  bool opened(std::string_view word, ShellCommand& made) {
    const std::size_t begin = std::exchange(at_, at_ + word.size());
    const bool repeats = word == "for" || word == "select";
    if (word == "case") return selection(made);
    if (word == "if") {
      choice(made);
    } else if (word == "while" || word == "until" || repeats) {
      made.kind = word == "while" ? Kind::loop : Kind::repetition;
      if (repeats) header(made);
      loop(made);
    } else if (word == "{") {
      made.kind = Kind::group;
      made.branches.push_back({{}, {}, list({"}"})});
    } else {
      at_ = begin;
      return function(made);
    }
    return true;
  }

  void choice(ShellCommand& made) {
    made.kind = Kind::choice;
    do {
      CommandList condition = list({"then", "elif", "else", "fi"});
      CommandList body = took_ == "then" ? list({"elif", "else", "fi"}) : CommandList();
      made.branches.push_back({{}, std::move(condition), std::move(body)});
    } while (took_ == "elif");
    if (took_ == "else") made.branches.push_back({{}, {}, list({"fi"})});
  }

  void loop(ShellCommand& made) {
    CommandList condition = list({"do", "done"});
    CommandList body = took_ == "do" ? list({"done"}) : CommandList();
    made.branches.push_back({{}, std::move(condition), std::move(body)});
  }

  /// `NAME in WORD…`, or `((…))`, which says nothing.
  void header(ShellCommand& made) {
    skip_in_line();
    if (const std::size_t end = end_of_arithmetic(text_, at_); end != kNowhere) {
      at_ = end;
      return;
    }
    ShellCommand given = simple();
    if (given.words.size() < 2 || given.words[1].text() != "in") return;
    made.name = given.words[0].text();
    made.words.assign(given.words.begin() + 2, given.words.end());
  }

  /// `case WORD in PATTERN) …;; esac`; a simple command where no `in` follows. False where no word
  /// does.
  bool selection(ShellCommand& made) {
    skip_in_line();
    if (at_ >= text_.size() || is_one_of(text_[at_], "\n;|&<>()")) return false;
    made.kind = Kind::selection;
    made.words.push_back(word());
    const std::size_t behind = at_;
    skip_blanks();
    if (plain_word() != "in") {  // its substitutions are not to be read again
      at_ = behind;
      made.words.insert(made.words.begin(), ShellWord{.parts = {{false, "case"}}});
      made = simple({.words = std::move(made.words)});
      return true;
    }
    at_ += 2;
    took_ = {};
    while (at_ < text_.size() && took_ != "esac") {
      ShellBranch branch;
      patterns(branch, made);
      if (took_ == "esac") break;
      branch.body = list({";;", "esac"});
      made.branches.push_back(std::move(branch));
    }
    return true;
  }

  /// Up to the bracket behind them, or to `esac`.
  void patterns(ShellBranch& branch, ShellCommand& made) {
    took_ = {};
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        (void)comment();
      } else if (c == '\n' && !made.branches.empty()) {
        ++at_;
        documents(made.branches.back().body);
      } else if (is_shell_blank(c) || is_one_of(c, ";|&<>(")) {
        ++at_;
      } else if (c == ')') {
        ++at_;
        return;
      } else if (branch.patterns.empty() && plain_word() == "esac") {
        at_ += 4;
        took_ = "esac";
        return;
      } else {
        branch.patterns.push_back(word());
      }
    }
  }

  /// `name() {` or `function name {`, up to its `}`. One that nothing closes is no function.
  bool function(ShellCommand& made) {
    constexpr std::string_view kWord = "function ";
    const auto is_name = [](char c) { return is_name_letter(c) || c == '-'; };
    const bool said = is_next(kWord);
    if (said) at_ += kWord.size();
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    made.name = text_.substr(begin, at_ - begin);
    skip_blanks();
    const bool brackets = is_next("(");
    if (brackets) {
      ++at_;
      skip_blanks();
      if (!is_next(")")) return false;
      ++at_;
      skip_blanks();
    }
    if (made.name.empty() || !(brackets || said) || !is_next("{")) return false;
    const std::size_t body = ++at_;
    CommandList commands = list({"}"});
    made.kind = took_.empty() ? Kind::group : Kind::function;
    if (took_.empty()) {
      made.branches.push_back({{}, {}, std::move(commands)});
    } else {
      made.text = text_.substr(body, at_ - 1 - body);
    }
    return true;
  }

  /// Reads a command behind the words that are known of it.
  ShellCommand simple(ShellCommand made = {}) {
    bool tests = false;  // in `[[ … ]]`, where signs are words
    bool commented = false;
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_];
      const bool sign = is_one_of(c, "|&<>()");
      if (is_shell_blank(c) || is_next("\\\n")) {
        at_ += c == '\\' ? 2 : 1;
      } else if (c == '#') {
        (void)comment();
        commented = true;
      } else if (sign && (tests || is_next("<<<"))) {
        const std::size_t length = is_next("<<<") ? 3 : is_next("&&") || is_next("||") ? 2 : 1;
        made.words.push_back({.parts = {{false, std::string(text_.substr(at_, length))}}});
        at_ += length;
      } else if (is_next("<<")) {
        announce(made);
      } else if (c == '>' || is_next("&>")) {
        redirect(made);
      } else if (c == '<') {
        ++at_;
      } else if (const std::size_t end = end_of_arithmetic(text_, at_);
                 end != kNowhere && std::ranges::all_of(made.words, [](const ShellWord& one) {
                   return one.text() == "!";
                 })) {
        const std::string_view inside = text_.substr(at_ + 2, end - at_ - 4);
        made.words.push_back({.arithmetic = true, .parts = {{false, std::string(inside)}}});
        at_ = end;
      } else if (sign || c == ';') {
        break;
      } else {
        const std::string_view text = plain_word();
        tests = text == "[[" || (tests && text != "]]");
        made.words.push_back(word());
        if (is_next("(") && made.words.back().text().ends_with('=')) elements(made.words.back());
      }
    }
    if (made.words.empty() || (at_ < text_.size() && text_[at_] != '\n')) return made;
    const bool flag = made.words.front().text().starts_with("--");
    made.cut = cut_ && flag;
    cut_ = made.cut || (commented && !flag);
    return made;
  }

  void announce(ShellCommand& made) {
    at_ += is_next("<<-") ? 3 : 2;
    skip_in_line();
    if (at_ >= text_.size() || is_one_of(text_[at_], "\r\n;|&<>()")) return;
    ShellCommand document{.kind = Kind::document};
    document.text = word().text();
    if (!made.words.empty()) {
      document.name = made.words.front().text();
      document.last = made.words.back().text();
    }
    announced_.push_back(std::move(document));
  }

  void redirect(ShellCommand& made) {
    const bool numbered = at_ > 0 && std::isdigit(static_cast<unsigned char>(text_[at_ - 1])) != 0;
    if (numbered && !made.words.empty() && made.words.back().text().size() == 1) {
      made.words.pop_back();  // 2>
    }
    at_ = std::min(text_.find_first_not_of("&>|", at_), text_.size());
    skip_in_line();
    if (at_ >= text_.size() || is_one_of(text_[at_], "-\r\n;|&<>()")) return;  // `<PATH> --fp16`
    (void)word();
  }

  /// `(a "b c")` behind `NAME=`.
  void elements(ShellWord& made) {
    ++at_;
    made.whole = true;
    while (at_ < text_.size() && text_[at_] != ')') {
      if (text_[at_] == '#') {
        (void)comment();
      } else if (is_shell_blank(text_[at_]) || is_one_of(text_[at_], ";|&<>(")) {
        ++at_;
      } else {
        ShellWord one = word();
        if (!one.parts.empty() || one.whole) made.elements.push_back(std::move(one));
      }
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  ShellWord word() {
    ShellWord made;
    const std::size_t begin = at_;
    char quote = '\0';
    const auto add = [&](bool expands, std::string_view text) {
      if (made.parts.empty() || expands || made.parts.back().expands) {
        made.parts.push_back({expands, {}});
      }
      made.parts.back().text += text;
    };
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (quote == '\0' && (is_shell_blank(c) || is_one_of(c, ";|&<>()"))) break;
      if (c == quote || (quote == '\0' && (c == '"' || c == '\''))) {
        quote = c == quote ? '\0' : c;
        made.whole = true;
        ++at_;
      } else if (c == '\\' && quote != '\'') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') add(false, text_.substr(at_ + 1, 1));
        at_ += std::min<std::size_t>(2, text_.size() - at_);
      } else if ((c == '$' || c == '`') && quote != '\'') {
        bool open = false;
        const std::size_t end = end_of_expansion(text_, at_, depth_, open);
        if (open && depth_ > 0) {  // as are the brackets around it
          stop();
          break;
        }
        add(true, text_.substr(at_, end - at_));
        at_ = end;
      } else {
        const std::string_view ends = quote == '\'' ? "'" : quote == '"' ? "\"\\$`" : kSpecial;
        const std::size_t end = std::min(text_.find_first_of(ends, at_ + 1), text_.size());
        add(false, text_.substr(at_, end - at_));
        at_ = end;
      }
    }
    if (quote != '\0' && depth_ > 0) stop();
    if (is_list(text_.substr(std::min(begin, text_.size()), at_ - begin))) made.whole = false;
    return made;
  }

  std::string_view text_;
  std::string_view file_;
  int depth_;  ///< how many brackets the text is inside of
  std::size_t at_{0};
  std::size_t end_{kNowhere};
  int brackets_{0};
  int levels_{0};
  bool cut_{};             ///< the command before ended in a comment
  std::string_view took_;  ///< the word that ended a list; empty where its text ended
  CommandList announced_;  ///< here-documents, which begin with the next line
};

std::size_t end_of_brackets(std::string_view text, std::size_t at, int depth) {
  if (depth > kMostInside) return kNowhere;
  Parser parser(text.substr(at + 1, kLongestSubstitution), {}, depth);
  (void)parser.list();
  return parser.end() == kNowhere ? kNowhere : at + 1 + parser.end();
}

/// Where the `{` at `at` ends; those inside it count.
std::size_t end_of_braces(std::string_view text, std::size_t at) {
  text = text.substr(0, at + kLongestBraces);
  int open = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{') ++open;
    if (text[at] == '}' && --open == 0) return at + 1;
  }
  return kNowhere;
}

/// Behind the expansion at `at`; behind its sign, and `open`, where nothing closes it.
std::size_t end_of_expansion(std::string_view text, std::size_t at, int depth, bool& open) {
  const std::size_t begin = at + 1;
  const char next = begin < text.size() ? text[begin] : '\0';
  std::size_t end = begin;
  if (text[at] == '`' || next == '[') {
    end = text.find(next == '[' && text[at] == '$' ? ']' : '`', begin);
    end = end == kNowhere ? end : end + 1;
  } else if (next == '(') {
    end = end_of_arithmetic(text, begin);
    if (end != kNowhere) return end;
    end = end_of_brackets(text, begin, depth + 1);
    open = end == kNowhere;
    return open ? std::min(text.find(')', begin), text.size() - 1) + 1 : end;
  } else if (next == '{') {
    end = end_of_braces(text, begin);
  } else if (next != '\0' && is_one_of(next, "#@*")) {
    return begin + 1;
  } else {
    return begin + name_length(text.substr(begin));
  }
  return end == kNowhere ? begin : end;
}

}  // namespace

std::string ShellWord::text() const {
  std::string all;
  for (const WordPart& part : parts) all += part.text;
  return all;
}

CommandList shell_commands(std::string_view text, const std::string& file) {
  return Parser(text, file, 0).list();
}

std::size_t end_of_expansion(std::string_view text, std::size_t at) {
  bool open = false;
  return end_of_expansion(text, at, 0, open);
}

}  // namespace prequel
