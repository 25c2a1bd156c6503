#pragma once

/// The command lines of commands that have no room of their own.

#include <functional>

#include "cli/mcp/server.hpp"
#include "cli/options.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Each adds its command; `action` runs where it was chosen.
void add_import(CLI::App& app, ImportOptions& options, const std::function<void()>& action);
void add_show(CLI::App& app, ShowOptions& options, const std::function<void()>& action);
void add_validate(CLI::App& app, ValidateOptions& options, const std::function<void()>& action);
void add_mcp(CLI::App& app, McpOptions& options, const std::function<void()>& action);

}  // namespace prequel
