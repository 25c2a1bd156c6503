#pragma once

#include <functional>

#include "cli/mcp/mcp_session.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// Adds the command `mcp`; `action` runs where it was chosen.
void add_mcp(CLI::App& app, McpOptions& options, const std::function<void()>& action);

}  // namespace prequel
