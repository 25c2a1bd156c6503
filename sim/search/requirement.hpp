#pragma once

/// Requirements that a user sets on plans: "dp % 4 == 0", "mem_gib < 70 && recompute == 'full'".
///
///     any        = all { "||" all }
///     all        = compare { "&&" compare }
///     compare    = sum [ ("==" | "!=" | "<=" | ">=" | "<" | ">") sum ]
///     sum        = product { ("+" | "-") product }
///     product    = unary { ("*" | "/" | "%") unary }
///     unary      = ("-" | "!") unary | number | NAME | 'TEXT' | "(" any ")"
///
/// Names are the plan's axes, `gpus`, `microbatches`, `layers`, `hidden`, `heads` and `mem_gib`;
/// text stands in quotes and is compared with == and != only.

#include <string>
#include <vector>

#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {

/// The facts that a requirement speaks of.
struct PlanFacts {
  const Plan& plan;
  const Transformer& model;
  double mem_gib{};  ///< printed peak of the fullest device
};

class Requirement {
 public:
  /// Throws InputError that begins with `--require`, names the place and what would do.
  static Requirement parse(const std::string& text);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Tests whether it can be judged only when the memory is known.
  [[nodiscard]] bool needs_memory() const { return needs_memory_; }
  /// Tests whether it speaks of an axis that tells the variants of a plan apart.
  [[nodiscard]] bool needs_variant() const { return needs_variant_; }
  /// Throws InputError where it divides by zero.
  [[nodiscard]] bool holds(const PlanFacts& facts) const;

 private:
  friend class RequirementParser;

  /// One step in postfix order; numbers on a stack, texts as positions in `texts_`.
  struct Step {
    enum class Kind : unsigned char { number, name, text, apply } kind{};
    int which{};  ///< the name, the text or the operator
    double number{};
  };

  std::string text_;
  std::vector<std::string> texts_;
  std::vector<Step> steps_;
  bool needs_memory_{};
  bool needs_variant_{};
};

}  // namespace prequel
