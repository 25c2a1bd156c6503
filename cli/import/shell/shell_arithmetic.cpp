#include "cli/import/shell/shell_text.hpp"

#include <cctype>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

using Number = std::optional<long long>;

constexpr int kMostNested = 32;

struct Operator {
  std::string_view sign;
  int rank;  ///< binds the tighter the higher
};
/// Longer ones come first among signs that begin alike.
constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 4}, {"!=", 4}, {"<<", 6}, {">>", 6},
                                   {"<=", 5}, {">=", 5}, {"**", 9}, {"<", 5},  {">", 5},  {"+", 7},
                                   {"-", 7},  {"*", 8},  {"/", 8},  {"%", 8}};

Number power(long long base, long long exponent) {
  if (exponent < 0) return std::nullopt;
  long long result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    if (result == 0 || result == 1) break;
    if (result == -1) return exponent % 2 == 1 ? -1 : 1;
  }
  return result;
}

Number combined(std::string_view sign, long long a, long long b) {
  long long result = 0;
  if (sign == "||") return a != 0 || b != 0 ? 1 : 0;
  if (sign == "&&") return a != 0 && b != 0 ? 1 : 0;
  if (sign == "==") return a == b ? 1 : 0;
  if (sign == "!=") return a != b ? 1 : 0;
  if (sign == "<=") return a <= b ? 1 : 0;
  if (sign == ">=") return a >= b ? 1 : 0;
  if (sign == "<") return a < b ? 1 : 0;
  if (sign == ">") return a > b ? 1 : 0;
  if (sign == "**") return power(a, b);
  if (sign == "<<" || sign == ">>") {
    if (a < 0 || b < 0 || b > 31 || a >= (1LL << 31)) return std::nullopt;
    return sign == "<<" ? a << b : a >> b;
  }
  bool overflow = false;
  if (sign == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (sign == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (sign == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (sign == "/" || sign == "%") {
    if (b == 0 || b == -1) return b == 0 || sign == "/" ? std::nullopt : Number(0);
    result = sign == "/" ? a / b : a % b;
  }
  return overflow ? std::nullopt : Number(result);
}

class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}

  Number value() {
    const Number result = choice(0);
    return peek() == '\0' ? result : std::nullopt;
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char sign) {
    if (peek() != sign) return false;
    ++at_;
    return true;
  }
  /// Ends the reading with an error.
  Number fail() {
    at_ = text_.size();
    return std::nullopt;
  }

  /// `a ? b : c`, or what stands without a choice.
  Number choice(int depth) {
    if (depth > kMostNested) return fail();
    const Number condition = operation(depth, 0);
    if (!take('?')) return condition;
    const Number yes = choice(depth + 1);
    if (!take(':')) return fail();
    const Number no = choice(depth + 1);
    if (!condition) return condition;
    return *condition != 0 ? yes : no;
  }

  const Operator* next_operator() {
    (void)peek();
    for (const Operator& one : kOperators) {
      if (text_.substr(at_).starts_with(one.sign)) return &one;
    }
    return nullptr;
  }

  /// Operators that bind at least as tightly as `rank`.
  Number operation(int depth, int rank) {
    Number left = operand(depth);
    for (const Operator* op = next_operator(); op != nullptr && op->rank >= rank;
         op = next_operator()) {
      at_ += op->sign.size();
      const Number right = operation(depth + 1, op->sign == "**" ? op->rank : op->rank + 1);
      left = left && right ? combined(op->sign, *left, *right) : std::nullopt;
    }
    return left;
  }

  Number operand(int depth) {
    if (depth > kMostNested) return fail();
    if (take('-')) {
      const Number value = operand(depth + 1);
      return value ? combined("-", 0, *value) : value;
    }
    if (take('+')) return operand(depth + 1);
    if (take('!')) {
      const Number value = operand(depth + 1);
      return value ? Number(*value == 0 ? 1 : 0) : value;
    }
    if (take('(')) {
      const Number inside = choice(depth + 1);
      return take(')') ? inside : fail();
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return begin == at_ ? fail() : parse_integer(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  std::size_t at_{0};
};

}  // namespace

std::optional<long long> shell_arithmetic(std::string_view text) {
  return Arithmetic(text).value();
}

std::optional<std::string> shell_number(std::string_view text) {
  const auto value = shell_arithmetic(text);
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

std::optional<ArithmeticAssignment> arithmetic_assignment(std::string_view text) {
  text = trimmed(text);
  std::size_t length = 0;
  while (length < text.size() && is_name_letter(text[length])) ++length;
  if (length == 0 || std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    return std::nullopt;
  }
  const std::string name(text.substr(0, length));
  const std::string_view rest = trimmed(text.substr(length));
  if (rest == "++" || rest == "--") {
    return ArithmeticAssignment{name, fmt::format("{} {} 1", name, rest.front())};
  }
  if (rest.starts_with('=') && !rest.starts_with("==")) {
    return ArithmeticAssignment{name, std::string(rest.substr(1))};
  }
  if (rest.size() > 2 && rest[1] == '=' &&
      std::string_view("+-*/%").find(rest[0]) != std::string_view::npos) {
    return ArithmeticAssignment{name, fmt::format("{} {} ({})", name, rest[0], rest.substr(2))};
  }
  return std::nullopt;
}

}  // namespace prequel
