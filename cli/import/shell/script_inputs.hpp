#pragma once

/// Inputs that a user gives to a launch script: its arguments and its environment.

#include <optional>
#include <string>
#include <vector>

namespace prequel {

struct ScriptInputs {
  std::optional<std::string> arguments;  ///< "dsw 7B 1", as a shell splits them at blanks
  std::vector<std::string> environment;  ///< NAME=VALUE
};

}  // namespace prequel
