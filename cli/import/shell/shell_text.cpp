#include "cli/import/shell/shell_text.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>
#include <vector>

#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr int kDeepest = 16;                  // of substitutions in quotes in substitutions
constexpr std::size_t kLongestMatched = 256;  // of a value that a pattern is held against
constexpr std::size_t kMostValues = 256;      // of an array
constexpr std::size_t kLongestSubstitution = 1u << 14;

/// Tests whether a name may hold it, a function's included.
bool is_name(char c) {
  return is_name_letter(c) || c == '-';
}
/// Walks over a script's text, past what quotes, comments and here-documents hold.
class Walk {
 public:
  explicit Walk(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  /// Behind the bracket that closes the one here.
  std::size_t brackets(int depth) {
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '(') ++open;
      if (c == ')' && --open == 0) return at_ + 1;
      if (c == '(' || c == ')') {
        ++at_;
      } else if (!step(depth)) {
        return kNone;
      }
    }
    return kNone;
  }

  /// At the brace that closes the one here; those count that are words of their own.
  std::size_t braces() {
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool begins = at_ == 0 || is_shell_blank(text_[at_ - 1]) || text_[at_ - 1] == ';' ||
                          text_[at_ - 1] == ')' || text_[at_ - 1] == '{';
      const bool ends = at_ + 1 == text_.size() || is_shell_blank(text_[at_ + 1]) ||
                        std::string_view(";|&)").find(text_[at_ + 1]) != kNone;
      if (c == '{' && begins && ends) ++open;
      if (c == '}' && begins && ends && --open == 0) return at_;
      if (!step(0)) return kNone;
    }
    return kNone;
  }

 private:
  /// Past one letter, or one thing that letters hide in.
  bool step(int depth) {
    if (depth > kDeepest) return false;
    const char c = text_[at_];
    if (c == '\\') {
      at_ += 2;
    } else if (text_.substr(at_, 2) == "((") {
      arithmetic();
    } else if (c == '\'') {
      at_ = text_.find('\'', at_ + 1);
      if (at_ == kNone) return false;
      ++at_;
    } else if (c == '"') {
      return quoted(depth);
    } else if (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '{') {
      at_ = text_.find('}', at_);  // those inside of it come in pairs and are no words
      if (at_ == kNone) return false;
      ++at_;
    } else if (c == '#' && (at_ == 0 || is_shell_blank(text_[at_ - 1]) || text_[at_ - 1] == ';')) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_, 2) == "<<" && text_.substr(at_, 3) != "<<<") {
      announce();
    } else if (c == '\n') {
      ++at_;
      skip_documents();
    } else {
      ++at_;
    }
    return true;
  }

  /// Past `((…))`, where `<<` and `#` are operators.
  void arithmetic() {
    int open = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '(') ++open;
      if (text_[at_] == ')' && --open == 0) break;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  bool quoted(int depth) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        at_ += 2;
      } else if (text_[at_] == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '(') {
        ++at_;
        at_ = brackets(depth + 1);
        if (at_ == kNone) return false;
      } else {
        ++at_;
      }
    }
    ++at_;
    return at_ <= text_.size();
  }

  void announce() {
    at_ += text_.substr(at_, 3) == "<<-" ? 3 : 2;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    std::string delimiter;
    while (at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '"' || text_[at_] == '\'')) {
      if (is_name(text_[at_])) delimiter += text_[at_];
      ++at_;
    }
    if (!delimiter.empty()) documents_.push_back(std::move(delimiter));
  }

  void skip_documents() {
    for (const std::string& delimiter : std::exchange(documents_, {})) {
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        const bool last = trimmed(text_.substr(at_, end - at_)) == delimiter;
        at_ = std::min(end + 1, text_.size());
        if (last) break;
      }
    }
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<std::string> documents_;  ///< the words that end them
};

std::size_t behind_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_shell_blank(text[at])) ++at;
  return at;
}

/// Without the shortest or the longest begin, or end, that the pattern matches.
std::optional<std::string> trimmed_by(std::string_view value, std::string_view pattern,
                                      bool at_front, bool longest) {
  if (pattern.find_first_of("*?[\\@+!(") == kNone) {  // a word, of texts of any length
    const bool there = at_front ? value.starts_with(pattern) : value.ends_with(pattern);
    const std::size_t cut = there ? pattern.size() : 0;
    return std::string(value.substr(at_front ? cut : 0, value.size() - cut));
  }
  if (value.size() > kLongestMatched || pattern.size() > kLongestMatched) return std::nullopt;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const std::size_t length = longest ? value.size() - i : i;
    const std::string_view piece =
        at_front ? value.substr(0, length) : value.substr(value.size() - length);
    const auto match = fits_pattern(piece, pattern);
    if (!match) return std::nullopt;
    if (!*match) continue;
    return std::string(at_front ? value.substr(length) : value.substr(0, value.size() - length));
  }
  return std::string(value);
}

std::optional<std::string> replaced(std::string_view value, std::string_view change) {
  const bool all = change.starts_with("//");
  const std::string_view rest = change.substr(all ? 2 : 1);
  const std::size_t middle = rest.find('/');
  const std::string_view from = rest.substr(0, middle);
  const std::string_view to = middle == kNone ? std::string_view() : rest.substr(middle + 1);
  if (from.empty() || from.find_first_of("*?[#%\\") != kNone || value.size() > kLongestMatched) {
    return std::nullopt;
  }
  std::string result(value);
  for (std::size_t at = result.find(from); at != kNone; at = result.find(from, at)) {
    result.replace(at, from.size(), to);
    at += to.size();
    if (!all) break;
  }
  return result;
}

std::optional<std::string> piece_of(std::string_view value, std::string_view change) {
  const std::size_t middle = change.find(':', 1);
  const auto begin = parse_integer(trimmed(change.substr(1, middle - 1)));
  const auto length = middle == kNone ? std::optional(static_cast<long long>(value.size()))
                                      : parse_integer(trimmed(change.substr(middle + 1)));
  if (!begin || !length || *begin < 0 || *length < 0) return std::nullopt;
  const auto from = std::min(static_cast<std::size_t>(*begin), value.size());
  return std::string(value.substr(from, static_cast<std::size_t>(*length)));
}

/// Where the next ` [name]=` of an array begins.
std::size_t next_name(std::string_view value, std::size_t at) {
  for (at = value.find(" [", at); at != kNone; at = value.find(" [", at + 1)) {
    const std::size_t close = value.find_first_of("] ", at + 2);
    if (close != kNone && value.substr(close, 2) == "]=") return at;
  }
  return value.size();
}

/// Returns an element of an array, which is kept as its words: `[1]`, or of one with names, `[7B]`.
std::optional<std::string> element(std::string_view value, std::string_view change) {
  if (!change.ends_with(']')) return std::nullopt;
  std::string key(change.substr(1, change.size() - 2));
  std::erase_if(key, [](char c) { return c == '"' || c == '\''; });
  if (key == "@" || key == "*") return std::string(value);
  const std::string named = " [" + key + "]=";
  const std::string words = " " + std::string(value);
  if (const std::size_t at = words.rfind(named); at != kNone) {
    const std::size_t begin = at + named.size();
    return with_blanks(std::string(
        trimmed(std::string_view(words).substr(begin, next_name(words, begin) - begin))));
  }
  const auto number = parse_integer(key);
  std::istringstream each{std::string(value)};
  std::string word;
  for (std::size_t i = 0; i < kMostValues && number && each >> word; ++i) {
    if (word.starts_with('[')) return std::nullopt;
    if (static_cast<std::size_t>(*number) == i) return with_blanks(word);
  }
  return std::nullopt;
}

}  // namespace

bool is_shell_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_name_letter);
}

std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_name_letter(text[length])) ++length;
  return length;
}

std::string with_blanks(std::string text) {
  std::ranges::replace(text, kBlankInside, ' ');
  return text;
}

bool is_list(std::string_view word) {
  return word == "\"$@\"" || word == "\"${@}\"" ||
         (word.starts_with("\"${") && word.ends_with("[@]}\"") &&
          is_variable_name(word.substr(3, word.size() - 8)));
}

std::vector<std::string_view> piped_commands(std::string_view text) {
  std::vector<std::string_view> commands;
  std::size_t begin = 0;
  char quote = '\0';
  int open = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      ++at;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == ')') {
      open += c == '(' ? 1 : -1;
    } else if (c == '|' && open == 0) {
      commands.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  commands.push_back(trimmed(text.substr(std::min(begin, text.size()))));
  return commands;
}

void split_words(std::string_view text, std::vector<std::string>& words) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && !is_shell_blank(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    if (!word.empty() && word != "\\") words.emplace_back(word);  // a line that goes on
    while (at < text.size() && is_shell_blank(text[at])) ++at;
  }
}

std::size_t end_of_brackets(std::string_view text, std::size_t at) {
  return Walk(text.substr(0, at + kLongestSubstitution), at).brackets(0);
}

std::size_t end_of_arithmetic(std::string_view text, std::size_t at) {
  text = text.substr(0, at + kLongestSubstitution);
  int open = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++open;
    if (text[at] == ')' && --open == 0) break;
  }
  return at < text.size() && text[at - 1] == ')' ? at + 1 : kNone;
}

FunctionDefinition function_definition(std::string_view text, std::size_t at) {
  constexpr std::string_view kWord = "function ";
  const bool word = text.substr(at).starts_with(kWord);
  const std::size_t begin = behind_blanks(text, at + (word ? kWord.size() : 0));
  std::size_t end = begin;
  while (end < text.size() && is_name(text[end])) ++end;
  if (end == begin) return {};
  std::size_t next = behind_blanks(text, end);
  const bool brackets = next < text.size() && text[next] == '(';
  if (brackets) {
    next = behind_blanks(text, next + 1);
    if (next >= text.size() || text[next] != ')') return {};
    next = behind_blanks(text, next + 1);
  }
  if ((!brackets && !word) || next >= text.size() || text[next] != '{') return {};
  const std::size_t close = Walk(text, next).braces();
  if (close == kNone) return {std::string(text.substr(begin, end - begin)), {}, kNone};
  return {std::string(text.substr(begin, end - begin)), text.substr(next + 1, close - next - 1),
          close + 1};
}

std::optional<bool> fits_pattern(std::string_view text, std::string_view pattern) {
  if (pattern.find_first_of("[\\@+!(") != kNone || text.size() > kLongestMatched ||
      pattern.size() > kLongestMatched) {
    return std::nullopt;
  }
  std::size_t at = 0;
  std::size_t sign = 0;
  std::size_t star = kNone;  // the last one, and where what it stands for ends
  std::size_t star_end = 0;
  while (at < text.size()) {
    if (sign < pattern.size() && pattern[sign] == '*') {
      star = sign++;
      star_end = at;
    } else if (sign < pattern.size() && (pattern[sign] == '?' || pattern[sign] == text[at])) {
      ++sign;
      ++at;
    } else if (star != kNone) {
      sign = star + 1;
      at = ++star_end;
    } else {
      return false;
    }
  }
  while (sign < pattern.size() && pattern[sign] == '*') ++sign;
  return sign == pattern.size();
}

std::optional<std::string> changed(std::string_view value, std::string_view change) {
  if (change.empty()) return std::string(value);
  if (change.starts_with('[')) return element(value, change);
  if (change.starts_with('#') || change.starts_with('%')) {
    const bool longest = change.size() > 1 && change[1] == change[0];
    return trimmed_by(value, change.substr(longest ? 2 : 1), change[0] == '#', longest);
  }
  if (change.starts_with('/')) return replaced(value, change);
  if (change.starts_with(':')) return piece_of(value, change);
  std::string result(value);
  const auto turn = [&](int (*letter)(int), bool all) {
    const auto end = all || result.empty() ? result.end() : result.begin() + 1;
    std::transform(result.begin(), end, result.begin(),
                   [letter](unsigned char c) { return static_cast<char>(letter(c)); });
  };
  if (change == ",," || change == ",") {
    turn(std::tolower, change.size() == 2);
  } else if (change == "^^" || change == "^") {
    turn(std::toupper, change.size() == 2);
  } else {
    return std::nullopt;
  }
  return result;
}

}  // namespace prequel
