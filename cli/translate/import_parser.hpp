#pragma once

#include <functional>

#include "cli/translate/import_options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds the command `import`; `action` runs where it was chosen.
void add_import(CLI::App& app, ImportOptions& options, const std::function<void()>& action);

}  // namespace prequel
