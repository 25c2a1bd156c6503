#include "cli/mcp/server.hpp"

#include <chrono>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/api/prequel.hpp"
#include "cli/call/call.hpp"
#include "cli/flags/parsers.hpp"
#include "cli/json/json.hpp"
#include "cli/mcp/call_queue.hpp"
#include "cli/text/exit_status.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_parse.hpp"
#include "hw/base/text.hpp"
#include "models/job/file_cache.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

/// Codes of JSON-RPC 2.0, section 5.1.
enum class RpcError : int {
  no_json = -32700,
  no_request = -32600,
  no_method = -32601,
  no_params = -32602,
  internal = -32603
};

constexpr const char* kRevision = "2025-06-18";
constexpr std::size_t kLongestMessage = 16u << 20;
constexpr const char* kInstructions =
    "prequel predicts time and memory of distributed LLM training without a GPU. Begin with show "
    "to learn names; predict one plan, search the best one, explain what binds. Errors say what "
    "would do. memory.verdict: fits, tight (may thrash) or oom.";

std::string reply(const Json& id, const char* member, const Json& value) {
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {member, value}}.dump(-1, ' ', false,
                                                                    Json::error_handler_t::replace);
}

std::string refusal(const Json& id, RpcError code, const std::string& why) {
  return reply(id, "error", {{"code", static_cast<int>(code)}, {"message", why}});
}

std::string initialized(const Json& id, const Json& params) {
  const bool asked = params.is_object() && params.contains("protocolVersion") &&
                     params["protocolVersion"].is_string();
  return reply(id, "result",
               {{"protocolVersion", asked ? params["protocolVersion"] : Json(kRevision)},
                {"capabilities", {{"tools", Json::object()}}},
                {"serverInfo", {{"name", "prequel"}, {"version", version_number()}}},
                {"instructions", kInstructions}});
}

std::string called(const Json& id, const Json& params, const McpSession& session) {
  if (!params.is_object() || !params.contains("name") || !params["name"].is_string()) {
    return refusal(id, RpcError::no_params, "tools/call: expected the name of a tool");
  }
  const std::string tool = params["name"];
  const Json arguments = params.value("arguments", Json::object());
  const std::string why = misuse(tool, arguments, session);
  if (!why.empty()) {  // what a model asked in vain, it can ask better: a result, not an error
    return reply(
        id, "result",
        {{"content", Json::array({{{"type", "text"}, {"text", why}}})}, {"isError", true}});
  }
  return reply(id, "result", call_tool(tool, arguments, session));
}

std::optional<std::string> answered(const Json& message, const McpSession& session) {
  if (!message.is_object()) {
    return refusal(nullptr, RpcError::no_request, "expected one JSON-RPC request");
  }
  const bool due = message.contains("id");
  const Json id = due ? message["id"] : Json();
  if (due && !id.is_string() && !id.is_number_integer()) {
    return refusal(nullptr, RpcError::no_request, "id: expected text or a whole number");
  }
  if (message.value("jsonrpc", Json()) != "2.0") {
    return refusal(id, RpcError::no_request, "jsonrpc: expected \"2.0\"");
  }
  if (!message.contains("method") || !message["method"].is_string()) {
    const bool is_response = message.contains("result") || message.contains("error");
    if (is_response) return std::nullopt;  // to nothing that was asked
    return refusal(id, RpcError::no_request, "method: expected text");
  }
  if (!due) return std::nullopt;  // a notification
  const std::string method = message["method"];
  const Json params = message.value("params", Json::object());
  if (method == "initialize") return initialized(id, params);
  if (method == "ping") return reply(id, "result", Json::object());
  if (method == "tools/list") return reply(id, "result", {{"tools", list_tools(session)}});
  if (method == "tools/call") return called(id, params, session);
  return refusal(id, RpcError::no_method, "unknown method " + in_quotes(method));
}

/// The next line of stdin; nothing at its end. A line that is too long is cut, and so no JSON.
std::optional<std::string> next_line(std::istream& in) {
  std::string line;
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return line;
    if (line.size() < kLongestMessage) line += static_cast<char>(c);
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

}  // namespace

std::optional<std::string> answer_message(std::string_view message, const McpSession& session) {
  Json parsed;
  try {
    parsed = parse_json("message", message);
  } catch (const InputError& error) {
    return refusal(nullptr, RpcError::no_json, error.what());
  }
  try {
    return answered(parsed, session);
  } catch (const std::exception& error) {
    return refusal(nullptr, RpcError::internal, error.what());
  }
}

namespace {

/// The parts of a message that the loop itself heeds; the rest is for `answer_message`.
struct Heard {
  std::string id, method;  ///< the id as JSON
  std::string cancelled;   ///< of the call that need not be answered any more
};

Heard heard_of(const std::string& line) {
  Heard heard;
  try {
    const Json message = parse_json("message", line);
    if (!message.is_object()) return heard;
    heard.id = message.value("id", Json()).dump();
    if (const auto method = message.find("method"); method != message.end()) {
      if (method->is_string()) heard.method = *method;
    }
    const Json params = message.value("params", Json::object());
    if (heard.method == "notifications/cancelled" && params.is_object()) {
      heard.cancelled = params.value("requestId", Json()).dump();
    }
  } catch (const std::exception&) {
    return {};  // answer_message says what is wrong
  }
  return heard;
}

/// The reply to a call that took too long.
std::string late_reply(const std::string& id, int seconds) {
  const std::string why = fmt::format(
      "no answer within {} s; fewer nodes, values or rows would do, or prequel mcp --deadline",
      seconds);
  return reply(id.empty() ? Json() : Json::parse(id), "result",
               {{"content", Json::array({{{"type", "text"}, {"text", why}}})}, {"isError", true}});
}

}  // namespace

void add_mcp(CLI::App& app, McpOptions& options, const Action& action) {
  CLI::App& command = *app.add_subcommand(
      "mcp", "Answers agents: a Model Context Protocol server on stdin and stdout");
  command.footer(
      "  prequel mcp\n"
      "  prequel mcp --folder answers\n");
  command.add_option("--folder", options.folder, "where tools may save whole answers")
      ->type_name("DIR");
  command.add_option("--deadline", options.deadline, "seconds that a call may take (120)")
      ->check(CLI::Range(1, 86400));
  command.callback(action);
}

int run_mcp(const CommonOptions& common, const McpOptions& options) {
  if (!options.folder.empty() && !is_folder(options.folder)) {
    throw InputError("--folder " + printable(options.folder, 4096) + ": not a directory");
  }
  static_cast<void>(Library(common.data_directories));  // refuses folders that are none
  const McpSession session{
      {common.data_directories, std::make_shared<FileCache>(), nullptr, {}, make_parser_pool()},
      options};
  const auto print = [](const std::string& answer) {
    fmt::print("{}\n", answer);
    std::fflush(stdout);
  };
  CallQueue queue(print, std::chrono::seconds(options.deadline));
  while (const auto line = next_line(std::cin)) {
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    const Heard heard = heard_of(*line);
    if (!heard.cancelled.empty()) queue.cancel(heard.cancelled);
    if (heard.method == "ping") {
      if (const auto answer = answer_message(*line, session)) queue.print(*answer);
      continue;
    }
    const auto answer = [session, line = *line](const std::atomic<bool>& stop) {
      McpSession its = session;
      its.calls.stop = &stop;
      return answer_message(line, its);
    };
    queue.add(heard.id, answer, late_reply(heard.id, options.deadline));
  }
  if (queue.finish()) return kExitDone;
  std::fflush(stdout);
  std::_Exit(kExitDone);  // a call that heeds nothing still runs
}

}  // namespace prequel
