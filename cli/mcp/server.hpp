#pragma once

/// A Model Context Protocol server: agents ask prequel by JSON-RPC 2.0, a message a line
/// (modelcontextprotocol.io, revision 2025-06-18, transport stdio).

#include <optional>
#include <string>
#include <string_view>

#include "cli/flags/common_options.hpp"
#include "cli/mcp/tools.hpp"

namespace prequel {

/// The reply to one message, without the end of its line; nothing where none is due. Never throws
/// for what the message says.
std::optional<std::string> answer_message(std::string_view message, const McpSession& session);

/// Serves stdin to stdout until it ends; returns the exit status.
int run_mcp(const CommonOptions& common, const McpOptions& options);

}  // namespace prequel
