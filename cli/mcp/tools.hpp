#pragma once

/// The tools that agents are offered: what each takes and answers, and the short form of an answer,
/// a few kilobytes in place of tens.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/call/call_session.hpp"

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

/// Returns the short form of a tool's document: four digits, without what is as everywhere, and of
/// plans behind the first only what differs from it.
nlohmann::ordered_json short_answer(const std::string& tool,
                                    const nlohmann::ordered_json& document);

/// Returns numbers to four significant digits, whole ones as they are.
nlohmann::ordered_json in_four_digits(nlohmann::ordered_json value);

}  // namespace prequel
