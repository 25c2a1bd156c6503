#pragma once

/// The tools that agents are offered: what each takes and answers.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/mcp/mcp_session.hpp"

namespace prequel {

/// All tools, as `tools/list` describes them; those that may save answers say so.
nlohmann::ordered_json list_tools(const McpSession& session);

/// Why a call of `tool` with these arguments is none at all (an unknown tool or argument); empty
/// where it is one.
std::string misuse(const std::string& tool, const nlohmann::ordered_json& arguments,
                   const McpSession& session);

/// The result of a call: content for people and machines, or, with `isError`, what is wrong and
/// what would do.
nlohmann::ordered_json call_tool(const std::string& tool, nlohmann::ordered_json arguments,
                                 const McpSession& session);

}  // namespace prequel
