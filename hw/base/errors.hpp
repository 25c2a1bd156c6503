#pragma once

/// Errors that reach the user: one message each, with place, value and what would do.

#include <stdexcept>
#include <string>
#include <vector>

namespace prequel {

/// Bad input: exit status 2. `what()` holds all problems, one a line, ready to print.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : InputError(std::vector{message}) {}
  explicit InputError(std::vector<std::string> problems);

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

}  // namespace prequel
