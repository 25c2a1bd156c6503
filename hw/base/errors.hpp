#pragma once

/// Errors that reach the user: one message each, with place, value and what would do.
///
/// A setting has one name for all callers: an axis' name, a key of Python's arguments
/// ("gbs_ramp"). Programs with other names put these in its place.

#include <stdexcept>
#include <string>
#include <vector>

namespace prequel {

/// Bad input: exit status 2. `what()` holds all problems, one a line, ready to print.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : InputError(std::vector{message}) {}
  explicit InputError(std::vector<std::string> problems);
  /// Reports what is wrong with something that the caller set: `subject` is its name, perhaps with
  /// a blank and the value ("slow_node 48"), which the message begins with. Empty: nothing that has
  /// a name.
  InputError(std::string subject, const std::string& problem);

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] const std::string& subject() const { return subject_; }

 private:
  std::string subject_;
  std::vector<std::string> problems_;
};

}  // namespace prequel
