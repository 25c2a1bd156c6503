#pragma once

/// A Model Context Protocol server: agents ask prequel by JSON-RPC 2.0, a message a line
/// (modelcontextprotocol.io, revision 2025-06-18, transport stdio).

#include <optional>
#include <string>
#include <string_view>

#include "cli/call/call.hpp"
#include "cli/flags/common_options.hpp"

namespace prequel {

struct McpOptions {
  std::string folder;  ///< where tools may save answers; empty: nowhere
  int deadline{120};   ///< seconds that a call may take
};

/// The state from which one client is answered.
struct McpSession {
  CallSession calls;
  McpOptions options;
};

/// The reply to one message, without the end of its line; nothing where none is due. Never throws
/// for what the message says.
std::optional<std::string> answer_message(std::string_view message, const McpSession& session);

/// Serves stdin to stdout until it ends; returns the exit status.
int run_mcp(const CommonOptions& common, const McpOptions& options);

}  // namespace prequel
