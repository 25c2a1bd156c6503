#pragma once

/// Bash's arithmetic over whole numbers that are known.

#include <optional>
#include <string>
#include <string_view>

namespace prequel {

/// The value of `$((…))`, with all operators of bash that yield a number without setting any;
/// empty for what holds a name, or is not arithmetic, or overflows.
std::optional<long long> shell_arithmetic(std::string_view text);

/// `NAME = …`, `NAME += …`, `NAME++` of `((…))` and `let`: the name, and what its value is to be.
struct ArithmeticAssignment {
  std::string name;
  std::string value;  ///< as an expression
};
std::optional<ArithmeticAssignment> arithmetic_assignment(std::string_view text);

}  // namespace prequel
