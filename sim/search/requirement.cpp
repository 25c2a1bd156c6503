#include "sim/search/requirement.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "sim/search/space.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongest = 1000;  // characters: longer ones are no one's handwriting
constexpr int kDeepest = 50;            // brackets within brackets

using Value = std::variant<double, std::string>;

struct Name {
  std::string_view text;
  std::function<Value(const PlanFacts&)> of;
  bool is_text{};
  std::vector<std::string_view> values{};  ///< of text, all that there are; empty: any
};

Value operand(std::int64_t value) {
  return static_cast<double>(value);
}
Value operand(bool value) {
  return static_cast<double>(value);
}
Value operand(double value) {
  return value;
}
Value operand(const auto& text) {
  return cell_of(text);
}

std::vector<std::string_view> texts(const auto& /*others*/) {
  return {};
}
template <Worded Enum>
std::vector<std::string_view> texts(const Domain<Enum>& domain) {
  const auto known = words(domain);
  return {known.begin(), known.end()};
}

template <auto Member>
Value shape(const PlanFacts& facts) {
  return operand(facts.model.*Member);
}

template <class Axis>
Name name_of(const Axis& axis) {
  return {axis.name,
          [box = axis.settled](const PlanFacts& facts) { return operand(facts.plan.*box); },
          !std::is_arithmetic_v<typename Axis::Value>, texts(axis.domain)};
}

const std::vector<Name>& names() {
  static const std::vector<Name> kNames = [] {
    std::vector<Name> all{
        {"gpus", [](const PlanFacts& facts) { return operand(facts.plan.gpus); }},
        {"microbatches",
         [](const PlanFacts& facts) { return operand(facts.plan.micro_batches()); }},
        {"layers", shape<&Transformer::layers>},
        {"hidden", shape<&Transformer::hidden>},
        {"heads", shape<&Transformer::heads>},
        {"mem_gib", [](const PlanFacts& facts) { return Value{facts.mem_gib}; }},
    };
    each_axis([&](const auto& axis) { all.push_back(name_of(axis)); });
    return all;
  }();
  return kNames;
}

struct Applied {
  std::string_view text;
  int operands;
  /// Nothing where it divides by zero.
  std::optional<double> (*of)(double, double);
};

// Longer spellings before their beginnings, so that the first match is the right one.
const std::array kOperators{
    Applied{"||", 2, [](double a, double b) { return std::optional(double(a != 0 || b != 0)); }},
    Applied{"&&", 2, [](double a, double b) { return std::optional(double(a != 0 && b != 0)); }},
    Applied{"==", 2, [](double a, double b) { return std::optional(double(a == b)); }},
    Applied{"!=", 2, [](double a, double b) { return std::optional(double(a != b)); }},
    Applied{"<=", 2, [](double a, double b) { return std::optional(double(a <= b)); }},
    Applied{">=", 2, [](double a, double b) { return std::optional(double(a >= b)); }},
    Applied{"<", 2, [](double a, double b) { return std::optional(double(a < b)); }},
    Applied{">", 2, [](double a, double b) { return std::optional(double(a > b)); }},
    Applied{"+", 2, [](double a, double b) { return std::optional(a + b); }},
    Applied{"-", 2, [](double a, double b) { return std::optional(a - b); }},
    Applied{"*", 2, [](double a, double b) { return std::optional(a * b); }},
    Applied{"/", 2,
            [](double a, double b) { return b == 0 ? std::nullopt : std::optional(a / b); }},
    Applied{
        "%", 2,
        [](double a, double b) { return b == 0 ? std::nullopt : std::optional(std::fmod(a, b)); }},
    Applied{"negative", 1, [](double a, double) { return std::optional(-a); }},
    Applied{"!", 1, [](double a, double) { return std::optional(double(a == 0)); }},
};

int operator_named(std::string_view text) {
  const auto* const found = std::ranges::find(kOperators, text, &Applied::text);
  return static_cast<int>(std::distance(kOperators.begin(), found));
}

bool is_equality(int which) {
  const std::string_view text = kOperators[static_cast<std::size_t>(which)].text;
  return text == "==" || text == "!=";
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

/// Recursive descent; writes the steps in postfix order.
class RequirementParser {
 public:
  explicit RequirementParser(Requirement& requirement)
      : requirement_(requirement), rest_(requirement.text_) {}

  void parse() {
    if (rest_.size() > kLongest) {
      throw InputError("require", fmt::format("{} characters are too long; at most {} would do",
                                              rest_.size(), kLongest));
    }
    if (any()) fail("a text alone is no requirement; compare it with == or !=");
    skip_blanks();
    if (rest_.empty()) return;
    if (is_word("and")) fail("expected an operator or the end; && joins two conditions");
    if (is_word("or")) fail("expected an operator or the end; || joins two conditions");
    fail("expected an operator or the end");
  }

 private:
  using Kind = Requirement::Step::Kind;

  [[noreturn]] void fail(const std::string& what) const {
    const std::size_t at = requirement_.text_.size() - rest_.size();
    throw InputError("require " + in_quotes(requirement_.text_),
                     fmt::format("at character {}: {}", at + 1, what));
  }

  /// Tests whether `word`, no prefix of a longer one, comes next.
  bool is_word(std::string_view word) const {
    return rest_.starts_with(word) &&
           (rest_.size() == word.size() ||
            !(is_letter(rest_[word.size()]) || is_digit(rest_[word.size()])));
  }

  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }

  bool take(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  /// The first of `tokens` that comes next.
  std::optional<int> take_operator(std::initializer_list<std::string_view> tokens) {
    for (const std::string_view token : tokens) {
      if (take(token)) return operator_named(token);
    }
    return std::nullopt;
  }

  void apply(int which, bool left_text, bool right_text) {
    if ((left_text || right_text) && !(left_text && right_text && is_equality(which))) {
      fail("text can only be compared with text, by == or !=");
    }
    if (left_text) check_value();
    requirement_.steps_.push_back({Kind::apply, which, 0});
  }

  /// That the two texts on top are not a name and what it never is.
  void check_value() {
    const Requirement::Step* named = &requirement_.steps_[requirement_.steps_.size() - 2];
    const Requirement::Step* said = &requirement_.steps_.back();
    if (named->kind != Kind::name) std::swap(named, said);
    if (named->kind != Kind::name || said->kind != Kind::text) return;
    const Name& of = names()[static_cast<std::size_t>(named->which)];
    const std::string& text = requirement_.texts_[static_cast<std::size_t>(said->which)];
    const std::vector<std::string> known(of.values.begin(), of.values.end());
    if (known.empty() || std::ranges::find(known, text) != known.end()) return;
    fail(fmt::format("{} is never {}{}; {} would do", of.text, in_quotes(text),
                     did_you_mean(text, known), fmt::join(known, ", ")));
  }

  // Each level returns whether its value is text.

  /// Operands of the level below, joined from left to right.
  bool joined(bool (RequirementParser::*below)(), std::initializer_list<std::string_view> tokens) {
    bool is_text = (this->*below)();
    while (const auto which = take_operator(tokens)) {
      apply(*which, is_text, (this->*below)());
      is_text = false;
    }
    return is_text;
  }

  bool any() {
    if (++depth_ > kDeepest) fail(fmt::format("more than {} brackets deep", kDeepest));
    const bool is_text = joined(&RequirementParser::all, {"||"});
    --depth_;
    return is_text;
  }
  bool all() { return joined(&RequirementParser::compare, {"&&"}); }
  bool compare() {
    bool is_text = sum();
    if (const auto which = take_operator({"==", "!=", "<=", ">=", "<", ">"})) {
      apply(*which, is_text, sum());
      is_text = false;
    }
    return is_text;
  }
  bool sum() { return joined(&RequirementParser::product, {"+", "-"}); }
  bool product() { return joined(&RequirementParser::unary, {"*", "/", "%"}); }

  bool unary() {
    if (++depth_ > kDeepest) fail(fmt::format("more than {} brackets deep", kDeepest));
    const bool is_text = unary_or_primary();
    --depth_;
    return is_text;
  }

  bool unary_or_primary() {
    if (take("-")) {
      apply(operator_named("negative"), unary(), false);
      return false;
    }
    if (take("!")) {
      apply(operator_named("!"), unary(), false);
      return false;
    }
    if (take("(")) {
      const bool is_text = any();
      if (!take(")")) fail("expected \")\"");
      return is_text;
    }
    skip_blanks();
    if (rest_.empty()) fail("expected a name, a number or \"(\"");
    if (rest_.front() == '\'' || rest_.front() == '"') return text();
    if (is_letter(rest_.front())) return name();
    return number();
  }

  bool text() {
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) fail("the quote is not closed");
    requirement_.steps_.push_back({Kind::text, static_cast<int>(requirement_.texts_.size()), 0});
    requirement_.texts_.emplace_back(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool name() {
    std::size_t length = 0;
    while (length < rest_.size() && (is_letter(rest_[length]) || is_digit(rest_[length]))) ++length;
    const std::string_view word = rest_.substr(0, length);
    const auto found = std::ranges::find(names(), word, &Name::text);
    if (found == names().end()) {
      std::vector<std::string> known;
      for (const Name& each : names()) known.emplace_back(each.text);
      fail("unknown name " + in_quotes(std::string(word)) + did_you_mean(std::string(word), known) +
           "; text stands in quotes");
    }
    rest_.remove_prefix(length);
    requirement_.needs_memory_ |= word == "mem_gib";
    requirement_.needs_variant_ |= is_of_variant(word);
    requirement_.steps_.push_back(
        {Kind::name, static_cast<int>(std::distance(names().begin(), found)), 0});
    return found->is_text;
  }

  bool number() {
    double value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) fail("expected a name, a number or \"(\"");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    requirement_.steps_.push_back({Kind::number, 0, value});
    return false;
  }

  Requirement& requirement_;
  std::string_view rest_;
  int depth_{};
};

Requirement Requirement::parse(const std::string& text) {
  Requirement requirement;
  requirement.text_ = text;
  RequirementParser(requirement).parse();
  return requirement;
}

bool Requirement::holds(const PlanFacts& facts) const {
  std::vector<Value> stack;
  const auto pop = [&stack] {
    const Value value = stack.back();
    stack.pop_back();
    return value;
  };
  for (const Step& step : steps_) {
    const auto which = static_cast<std::size_t>(step.which);
    switch (step.kind) {
      case Step::Kind::number: stack.emplace_back(step.number); break;
      case Step::Kind::name: stack.push_back(names()[which].of(facts)); break;
      case Step::Kind::text: stack.emplace_back(texts_[which]); break;
      case Step::Kind::apply: {
        const Applied& op = kOperators[which];
        const Value right = op.operands == 2 ? pop() : Value{0.0};
        const Value left = pop();
        if (std::holds_alternative<std::string>(left)) {
          stack.emplace_back(double((left == right) == (op.text == "==")));
          break;
        }
        const auto result = op.of(std::get<double>(left), std::get<double>(right));
        if (!result) {
          throw InputError("require " + in_quotes(text_),
                           "divides by zero for some plans; a divisor that is never 0 would do");
        }
        stack.emplace_back(*result);
      }
    }
  }
  return std::get<double>(stack.back()) != 0;
}

}  // namespace prequel
