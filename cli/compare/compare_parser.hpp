#pragma once

/// The command line of `prequel compare`.

#include <functional>

#include "cli/compare/compare_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds `compare`; `action` runs where it was chosen.
void add_compare(CLI::App& app, CompareOptions& options, const std::function<void()>& action);

}  // namespace prequel
