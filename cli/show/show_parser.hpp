#pragma once

#include <functional>

#include "cli/show/show_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds the command `show`; `action` runs where it was chosen.
void add_show(CLI::App& app, ShowOptions& options, const std::function<void()>& action);

}  // namespace prequel
