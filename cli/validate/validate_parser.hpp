#pragma once

#include <functional>

#include "cli/validate/validate_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds the command `validate`; `action` runs where it was chosen.
void add_validate(CLI::App& app, ValidateOptions& options, const std::function<void()>& action);

}  // namespace prequel
