#include "cli/import/python/python_values.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/portable_math.hpp"
#include "hw/base/text.hpp"
#include "hw/base/walk_budget.hpp"

namespace prequel {
namespace {

using PythonValues = std::map<std::string, std::string>;

constexpr std::size_t kLongestPython = 1u << 20;
constexpr std::size_t kMostElements = 1u << 18;  // with those that names stand for
constexpr std::size_t kLongestUnknown = 40;      // of what is not known
constexpr double kMostExact = 9.007199e15;       // whole numbers that a double holds

/// Words that begin statements of a program.
constexpr std::string_view kStatements[] = {"def",   "class", "if",     "for",    "while",
                                            "try",   "with",  "async",  "del",    "return",
                                            "raise", "match", "assert", "global", "print"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool opens(char c) {
  return c == '(' || c == '[' || c == '{';
}
bool closes(char c) {
  return c == ')' || c == ']' || c == '}';
}

/// A value, or the text of what only a run would tell.
struct Value {
  enum class Kind { unknown, none, boolean, number, text, list, table };
  Kind kind{Kind::unknown};
  std::string text{};  ///< of texts and of what is not known; of tables, whose constructor it is
  double number{};     ///< of booleans, too
  bool whole{};        ///< has no fraction by its type
  std::vector<Value> items{};
  std::vector<std::pair<std::string, Value>> members{};
  std::size_t size{1};  ///< with what is inside it

  [[nodiscard]] bool counts() const { return kind == Kind::number || kind == Kind::boolean; }
};

Value number_of(double value, bool whole) {
  Value made;
  if (!std::isfinite(value) || std::abs(value) > kMostExact) return made;
  made.kind = Value::Kind::number;
  made.number = value;
  made.whole = whole;
  return made;
}
Value text_of(std::string text) {
  Value made;
  made.kind = Value::Kind::text;
  made.text = std::move(text);
  return made;
}

/// Whole powers are exact as far as a double is.
double power(double base, double exponent) {
  constexpr double kMostFactors = 1024;
  if (!(exponent >= 0 && exponent <= kMostFactors) || exponent != std::floor(exponent)) {
    return portable::pow(base, exponent);
  }
  double product = 1;
  for (double i = 0; i < exponent; ++i) product *= base;
  return product;
}

/// `[0] * 3` and `[0] + [1]` of numbers.
Value combined_list(std::string_view sign, const Value& left, const Value& right) {
  const bool joins = sign == "+" && right.kind == Value::Kind::list;
  const double times = joins ? 1 : sign == "*" && right.whole ? right.number : -1;
  const double size = static_cast<double>(left.size) * times;
  const bool numbers = std::ranges::all_of(left.items, &Value::counts) &&
                       std::ranges::all_of(right.items, &Value::counts);
  if (!numbers || !(times >= 0) || size > static_cast<double>(kMostElements)) return {};
  Value all;
  all.kind = Value::Kind::list;
  for (double i = 0; i < times; ++i) {
    all.items.insert(all.items.end(), left.items.begin(), left.items.end());
  }
  if (joins) all.items.insert(all.items.end(), right.items.begin(), right.items.end());
  all.size = static_cast<std::size_t>(size) + (joins ? right.size : 1);
  return all;
}

Value combined(std::string_view sign, const Value& left, const Value& right) {
  const bool texts = left.kind == Value::Kind::text && right.kind == Value::Kind::text;
  if (sign == "+" && texts) return text_of(left.text + right.text);
  if (left.kind == Value::Kind::list) return combined_list(sign, left, right);
  if (!left.counts() || !right.counts()) return {};
  const double a = left.number;
  const double b = right.number;
  const bool whole = (left.whole || left.kind == Value::Kind::boolean) &&
                     (right.whole || right.kind == Value::Kind::boolean);
  if (sign == "+") return number_of(a + b, whole);
  if (sign == "-") return number_of(a - b, whole);
  if (sign == "*") return number_of(a * b, whole);
  if (sign == "**") return number_of(power(a, b), whole && b >= 0);
  if (b == 0) return {};
  if (sign == "/") return number_of(a / b, false);
  const double quotient = std::floor(a / b);
  return number_of(sign == "//" ? quotient : a - quotient * b, whole);
}

/// Returns the value of a function of numbers; nothing for functions that are not known.
std::optional<Value> called(std::string_view name, std::span<const Value> arguments) {
  constexpr std::string_view kKnown[] = {"int", "float", "round", "abs", "min", "max"};
  const auto* const known = std::ranges::find(kKnown, name);
  if (known == std::end(kKnown)) return std::nullopt;
  const bool one = known - std::begin(kKnown) < 4;
  if (arguments.empty() || (one && arguments.size() > 1)) return Value{};
  Value result = arguments.front();
  for (const Value& other : arguments) {
    if (!other.counts()) return Value{};
    const bool better = name == "min" ? other.number < result.number : other.number > result.number;
    if (!one && better) result = other;
  }
  if (name == "int") return number_of(std::trunc(result.number), true);
  if (name == "round") return number_of(std::nearbyint(result.number), true);
  if (name == "float") return number_of(result.number, false);
  if (name == "abs") return number_of(std::abs(result.number), result.whole);
  return result;
}

class Reader {
 public:
  Reader(std::string file, std::string_view text)
      : file_(std::move(file)),
        text_(text),
        budget_(file_ + ": Python",
                {.units = kMostElements, .too_many = "of more than 262,144 values"}) {}

  PythonValues read() {
    while (to_next_statement()) statement();
    PythonValues values;
    for (const auto& [name, value] : names_) {
      // A constant says nothing by itself where others are made of it.
      const bool constant =
          std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; });
      if (!constant || !used_.contains(name)) put(name, value, values);
    }
    return values;
  }

 private:
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

  bool take(std::string_view sign) {
    const bool found = rest().starts_with(sign);
    if (found) at_ += sign.size();
    return found;
  }

  /// Blanks and comments; lines, too, inside of brackets and between statements.
  void skip(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\' && (rest().starts_with("\\\n") || rest().starts_with("\\\r\n"))) {
        at_ = text_.find('\n', at_) + 1;
      } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
        ++at_;
      } else {
        return;
      }
    }
  }
  void skip() { skip(brackets_ > 0); }

  [[nodiscard]] std::string_view name_here() const {
    std::size_t end = at_;
    while (end < text_.size() && is_name_letter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  bool to_next_statement() {
    do skip(true);
    while (take(";"));
    return at_ < text_.size();
  }

  [[noreturn]] void refuse(std::size_t at) const {
    const auto before = text_.substr(0, at);
    const std::string_view line = text_.substr(at, text_.find('\n', at) - at);
    throw InputError(fmt::format(
        "{}: looks like a program in Python, which prequel does not run (line {}: {}); give its "
        "log, launch script or configuration",
        file_, 1 + std::count(before.begin(), before.end(), '\n'), printable(trimmed(line))));
  }

  void statement() {
    const std::size_t begin = at_;
    const std::size_t line = text_.substr(0, begin).rfind('\n') + 1;  // npos + 1 is 0
    const bool indented = begin > line && trimmed(text_.substr(line, begin - line)).empty();
    const std::string_view word = name_here();
    if (!indented && (word == "import" || word == "from")) return skip_to_end(false);
    if (!indented && (here() == '"' || here() == '\'')) return skip_to_end(false);  // a comment
    if (indented || std::ranges::find(kStatements, word) != std::end(kStatements)) refuse(begin);
    std::vector<std::pair<std::vector<std::string>, std::string_view>> targets;
    for (std::size_t before = at_;; before = at_) {  // `a = b = 1` sets both
      std::vector<std::string> path = target();
      const std::optional<std::string_view> sign =
          path.empty() ? std::nullopt : assignment(targets.empty());
      if (!sign) {
        at_ = before;
        break;
      }
      targets.emplace_back(std::move(path), *sign);
    }
    if (targets.empty()) refuse(begin);
    const Value value = whole_value();
    for (const auto& [path, sign] : targets) assign(path, sign, value);
  }

  /// `name`, `name.part` or `name["key"]`; empty for anything else.
  std::vector<std::string> target() {
    skip();
    std::vector<std::string> path{std::string(name_here())};
    if (path.front().empty() || is_digit(path.front().front())) return {};
    at_ += path.front().size();
    for (;;) {
      skip();
      if (take(".")) {
        path.emplace_back(name_here());
        at_ += path.back().size();
      } else if (take("[")) {
        const Value key = expression();
        if (key.kind != Value::Kind::text || !take("]")) return {};
        path.push_back(key.text);
      } else {
        return path;
      }
    }
  }

  /// The sign before the `=` of an assignment, if one stands here; the first may have a type.
  std::optional<std::string_view> assignment(bool first) {
    skip();
    if (first && take(":")) {
      while (here() != '=' && here() != '\n' && here() != '\0') ++at_;
    }
    const std::size_t length = rest().substr(0, 3).find('=');
    if (length == std::string_view::npos || rest().substr(length, 2) == "==") return std::nullopt;
    constexpr std::string_view kAssigned[] = {"", "+", "-", "*", "/", "%", "**", "//"};
    const std::string_view sign = rest().substr(0, length);
    if (std::ranges::find(kAssigned, sign) == std::end(kAssigned)) return std::nullopt;
    at_ += length + 1;
    return sign;
  }

  void assign(const std::vector<std::string>& path, std::string_view sign, Value value) {
    Value* place = &names_[path.front()];
    for (std::size_t i = 1; i < path.size(); ++i) {
      place->kind = Value::Kind::table;
      auto found =
          std::ranges::find(place->members, path[i], &std::pair<std::string, Value>::first);
      if (found == place->members.end()) {
        place->members.emplace_back(path[i], Value{});
        found = place->members.end() - 1;
      }
      place = &found->second;
    }
    *place = sign.empty() ? std::move(value) : combined(sign, *place, value);
  }

  /// Up to where a statement or, inside of brackets, one of their values ends.
  void skip_to_end(bool value) {
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        (void)literal_text("");
        continue;
      }
      if (c == '#' || c == '\\') {
        const std::size_t before = at_;
        skip(open > 0 || value);
        if (at_ == before) ++at_;
        continue;
      }
      if (open == 0 && (value ? c == ',' || closes(c) : c == '\n' || c == ';')) return;
      if (opens(c)) ++open;
      if (closes(c) && open > 0) --open;
      ++at_;
    }
  }

  /// An expression that ends where a value must; of what else stands there the text.
  Value whole_value() {
    skip();
    const std::size_t begin = at_;
    Value value = expression();
    skip();
    const char c = here();
    const bool inside = brackets_ > 0;
    const bool ends = c == '\0' || (inside ? c == ',' || closes(c) : c == '\n' || c == ';');
    if (ends && value.kind != Value::Kind::unknown) return value;
    at_ = begin;
    skip_to_end(inside);
    const std::string_view text = trimmed(text_.substr(begin, at_ - begin));
    Value unknown;
    unknown.text = "$" + printable(text.substr(0, text.find('\n')), kLongestUnknown);
    return unknown;
  }

  Value expression() {
    const auto level = budget_.deeper();
    Value left = product();
    for (;;) {
      skip();
      const std::string_view sign = rest().substr(0, 1);
      if ((sign != "+" && sign != "-") || rest().substr(1, 1) == "=") return left;
      ++at_;
      left = combined(sign, left, product());
      budget_.spend(left.size - 1);
    }
  }

  Value product() {
    Value left = power();
    for (;;) {
      skip();
      const std::string_view sign = rest().substr(0, rest().starts_with("//") ? 2 : 1);
      if (sign != "//" && sign != "*" && sign != "/" && sign != "%") return left;
      at_ += sign.size();
      left = combined(sign, left, power());
      budget_.spend(left.size - 1);
    }
  }

  /// `-2**2` is -(2**2), and `2**-1` a half.
  Value power() {
    const auto level = budget_.deeper();
    skip();
    if (take("-")) return combined("-", number_of(0, true), power());
    if (take("+")) return power();
    const Value base = with_parts(atom());
    skip();
    return take("**") ? combined("**", base, power()) : base;
  }

  /// `data["seq_len"]`, `data.seq_len`.
  Value with_parts(Value value) {
    while (value.kind == Value::Kind::table) {
      std::string name;
      if (take("[")) {
        name = expression().text;
        if (!take("]")) return {};
      } else if (take(".")) {
        name = name_here();
        at_ += name.size();
      } else {
        break;
      }
      const auto found =
          std::ranges::find(value.members, name, &std::pair<std::string, Value>::first);
      Value part = found == value.members.end() ? Value{} : found->second;
      value = std::move(part);
    }
    return value;
  }

  Value atom() {
    const char c = here();
    if (opens(c)) {
      bool comma = false;
      Value inside = in_brackets(comma);
      const bool expression = c == '(' && !comma && inside.items.size() == 1;
      return expression ? Value(std::move(inside.items.front())) : inside;
    }
    if (c == '"' || c == '\'') return literal_text("");
    if (is_digit(c) || c == '.') return literal_number();
    const std::string_view name = name_here();
    at_ += name.size();
    if (here() == '"' || here() == '\'') return literal_text(name);
    Value made;
    if (name == "True" || name == "False") {
      made.kind = Value::Kind::boolean;
      made.number = name == "True" ? 1 : 0;
      return made;
    }
    if (name == "None") {
      made.kind = Value::Kind::none;
      return made;
    }
    if (const auto known = names_.find(name); known != names_.end() && here() != '(') {
      used_.insert(known->first);
      budget_.spend(known->second.size);
      return known->second;
    }
    while (take(".")) at_ += name_here().size();
    return here() == '(' ? call(name) : made;
  }

  /// Makes a table of what is given by name to `dict` or to a constructor.
  Value call(std::string_view name) {
    bool comma = false;
    Value given = in_brackets(comma);
    if (auto known = called(name, given.items)) return *known;
    if (!given.items.empty() || (given.members.empty() && name != "dict")) return {};
    given.kind = Value::Kind::table;
    if (name != "dict") given.text = "$" + std::string(name) + "(...)";
    return given;
  }

  Value literal_number() {
    std::string digits;
    while (is_name_letter(here()) || here() == '.' ||
           ((here() == '+' || here() == '-') && !digits.empty() &&
            (digits.back() == 'e' || digits.back() == 'E'))) {
      if (here() != '_') digits += here();
      ++at_;
    }
    if (const auto whole = parse_integer(digits)) {
      return number_of(static_cast<double>(*whole), true);
    }
    if (digits.starts_with('.')) digits.insert(0, "0");
    if (digits.ends_with('.')) digits += "0";
    const auto real = parse_number(digits);
    return real ? number_of(*real, false) : Value{};
  }

  /// Texts that stand side by side are one.
  Value literal_text(std::string_view prefix) {
    std::string text;
    bool known = true;
    do {
      known = known && prefix.find_first_of("fF") == std::string_view::npos;
      prefix = {};
      const bool triple = rest().starts_with("\"\"\"") || rest().starts_with("'''");
      const std::string_view quote = rest().substr(0, triple ? 3 : 1);
      at_ += quote.size();
      while (at_ < text_.size() && !rest().starts_with(quote)) {
        if (!triple && here() == '\n') return {};
        if (here() == '\\' && at_ + 1 < text_.size()) ++at_;
        text += text_[at_++];
      }
      at_ = std::min(at_ + quote.size(), text_.size());
      skip();
    } while (here() == '"' || here() == '\'');
    return known ? text_of(std::move(text)) : Value{};
  }

  /// The values between brackets, or those with names or keys.
  Value in_brackets(bool& comma) {
    const auto level = budget_.deeper();
    ++brackets_;
    Value all;
    all.kind = here() == '{' ? Value::Kind::table : Value::Kind::list;
    ++at_;
    for (;;) {
      skip();
      if (at_ >= text_.size() || closes(here())) break;
      const std::size_t before = at_;
      entry(all);
      skip();
      if (take(",")) comma = true;
      if (at_ == before) ++at_;
      budget_.spend(1);
    }
    ++at_;
    --brackets_;
    at_ = std::min(at_, text_.size());
    for (const Value& one : all.items) all.size += one.size;
    for (const auto& [name, one] : all.members) all.size += one.size;
    return all;
  }

  /// `name=value` of a call, `"key": value` of a dict, `**other` of either, or a value alone.
  void entry(Value& all) {
    if (take("**")) {
      Value other = whole_value();
      for (auto& one : other.members) all.members.push_back(std::move(one));
      return;
    }
    const std::size_t before = at_;
    const std::string name(name_here());
    at_ += name.size();
    skip();
    if (!name.empty() && here() == '=' && rest().substr(0, 2) != "==") {
      ++at_;
      return all.members.emplace_back(name, whole_value()), void();
    }
    at_ = before;
    const Value key = all.kind == Value::Kind::table ? expression() : Value{};
    skip();
    if (key.kind == Value::Kind::text && take(":")) {
      return all.members.emplace_back(key.text, whole_value()), void();
    }
    at_ = before;
    all.items.push_back(whole_value());
  }

  void put(const std::string& path, const Value& value, PythonValues& values) const {
    switch (value.kind) {
      case Value::Kind::unknown: values[path] = value.text; break;
      case Value::Kind::none: values[path] = "None"; break;
      case Value::Kind::boolean: values[path] = value.number != 0 ? "True" : "False"; break;
      case Value::Kind::text:
        if (!value.text.empty()) values[path] = value.text;
        break;
      case Value::Kind::number:
        values[path] = value.number == std::floor(value.number)
                           ? fmt::format("{}", static_cast<std::int64_t>(value.number))
                           : fmt::format("{}", value.number);
        break;
      case Value::Kind::list: {
        std::string words;
        PythonValues inside;
        for (const Value& one : value.items) {
          if (one.kind == Value::Kind::table) {
            put(path, one, values);
          } else if (put("", one, inside); inside.contains("")) {
            words += (words.empty() ? "" : " ") + inside.at("");
            inside.clear();
          }
        }
        if (!words.empty()) values[path] = words;
        break;
      }
      case Value::Kind::table:
        if (!value.text.empty()) values[path] = value.text;
        for (const auto& [name, one] : value.members) put(path + "." + name, one, values);
        break;
    }
  }

  std::string file_;
  std::string_view text_;
  std::size_t at_{0};
  int brackets_{0};  ///< open, inside of which lines do not count
  WalkBudget budget_;
  std::map<std::string, Value, std::less<>> names_;
  std::set<std::string, std::less<>> used_;  ///< names that values were made of
};

/// `name = value` or `name = dict(`; shells have no blanks there, nor brackets with names in them.
bool assigns(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_name_letter(line[end])) ++end;
  const std::string_view behind = line.substr(end);
  return end > 0 && (behind.starts_with(" = ") || behind.starts_with("=dict(") ||
                     behind.starts_with("= dict("));
}

}  // namespace

bool looks_like_python(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("#!") && line.find("python") != std::string_view::npos) return true;
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("\"\"\"") || line.starts_with("'''")) return true;
    const bool imports =
        (line.starts_with("from ") && line.find(" import ") != std::string_view::npos) ||
        line.starts_with("import ");
    return imports || assigns(line);
  }
  return false;
}

PythonValues python_values(const std::string& file, std::string_view text) {
  if (text.size() > kLongestPython) throw InputError(file + ": Python of over 1 MiB");
  return Reader(file, text).read();
}

}  // namespace prequel
