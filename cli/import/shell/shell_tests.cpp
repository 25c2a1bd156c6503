#include "cli/import/shell/shell_tests.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

using Words = std::vector<std::string>;

bool is_open(const std::string& word) {
  return word.find_first_of("$`") != std::string::npos;
}

/// Tests whether a known word fits a pattern, which may have no wildcard.
Truth of_pattern(const std::string& word, const std::string& pattern) {
  const bool wild = pattern.find_first_of("*?[") != std::string::npos;
  return wild ? fits_pattern(word, pattern) : word == pattern;
}

/// The comparison of two known words; unknown where it is none.
Truth compared(const std::string& a, const std::string& op, const std::string& b) {
  if (op == "=" || op == "==") return of_pattern(a, b);
  if (op == "!=") return negated(of_pattern(a, b));
  const auto left = parse_integer(a);
  const auto right = parse_integer(b);
  if (!left || !right) return std::nullopt;
  if (op == "-eq") return *left == *right;
  if (op == "-ne") return *left != *right;
  if (op == "-lt") return *left < *right;
  if (op == "-le") return *left <= *right;
  if (op == "-gt") return *left > *right;
  if (op == "-ge") return *left >= *right;
  return std::nullopt;
}

/// Takes the `!` in front of words. Returns whether they turn the value.
bool take_negations(Words& words) {
  const auto end = std::ranges::find_if(words, [](const std::string& one) { return one != "!"; });
  const bool odd = (end - words.begin()) % 2 == 1;
  words.erase(words.begin(), end);
  return odd;
}

/// Returns the value of one condition where it holds no `$`. For an empty variable `[` sees no
/// word, `[[` (`whole`) an empty one.
Truth condition_value(Words words, bool whole) {
  if (take_negations(words)) return negated(condition_value(std::move(words), whole));
  if (std::ranges::any_of(words, is_open)) return std::nullopt;
  if (whole && words.size() == 1 && (words[0] == "-z" || words[0] == "-n")) words.emplace_back();
  if (words.size() == 2 && (words[0] == "=" || words[0] == "==" || words[0] == "!=")) {
    if (!whole) return false;
    words.insert(words.begin(), "");
  }
  if (words.size() == 3) return compared(words[0], words[1], words[2]);
  if (words.size() == 2 && words[0] == "-z") return words[1].empty();
  if (words.size() == 2 && words[0] == "-n") return !words[1].empty();
  if (words.size() == 1) return !words[0].empty();
  return words.empty() ? Truth(false) : std::nullopt;
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

}  // namespace

Truth negated(Truth value) {
  return value ? Truth(!*value) : value;
}
Truth both(Truth a, Truth b) {
  if (a == false || b == false) return false;
  return a && b ? Truth(true) : std::nullopt;
}
Truth either(Truth a, Truth b) {
  return negated(both(negated(a), negated(b)));
}

bool is_test(const Words& words) {
  const std::size_t first = !words.empty() && words.front() == "!" ? 1 : 0;
  if (words.size() <= first) return false;
  if (words.size() == first + 1 && (words[first] == "true" || words[first] == "false")) return true;
  return words[first] == "[" || words[first] == "[[" || words[first] == "test";
}

Truth test_value(Words words) {
  if (take_negations(words)) return negated(test_value(std::move(words)));
  const std::string opening = words.front();
  if (opening == "true" || opening == "false") return opening == "true";
  words.erase(words.begin());
  if (opening != "test") {
    if (words.empty() || words.back() != (opening == "[" ? "]" : "]]")) return std::nullopt;
    words.pop_back();
  }
  if (std::ranges::find(words, "(") != words.end()) return std::nullopt;
  const auto one = [&](const Words& part) { return condition_value(part, opening == "[["); };
  const auto all = [&](const Words& part) { return joined(part, {"&&", "-a"}, true, one, both); };
  return joined(words, {"||", "-o"}, false, all, either);
}

std::pair<std::string, std::string> compared_words(const Words& test) {
  constexpr std::string_view kSigns[] = {
      "[",   "[[",  "]",  "]]", "test", "!",  "=",  "==", "!=", "-eq", "-ne", "-lt", "-le",
      "-gt", "-ge", "-n", "-z", "-a",   "-o", "&&", "||", "(",  ")",   "<",   ">",   "=~"};
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

Truth fits_case(const std::string& word, const std::string& pattern) {
  if (pattern == "*") return true;
  return is_open(word) || is_open(pattern) ? std::nullopt : of_pattern(word, pattern);
}

}  // namespace prequel
