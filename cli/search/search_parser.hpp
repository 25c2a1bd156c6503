#pragma once

/// The command line of `prequel search`.

#include <functional>

#include "cli/search/search_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds `search`; `action` runs where it was chosen.
void add_search(CLI::App& app, SearchOptions& options, const std::function<void()>& action);

}  // namespace prequel
