#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "cli/mcp/call_queue.hpp"
#include "cli/mcp/server.hpp"
#include "models/job/file_cache.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using OrderedJson = nlohmann::ordered_json;

McpSession session(const std::string& folder = {}) {
  return {{{PREQUEL_SOURCE_DIR "/data"}, nullptr, nullptr, {}}, {folder}};
}

OrderedJson asked_session(const std::string& method, const OrderedJson& params,
                          const McpSession& of = session()) {
  const OrderedJson message{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}};
  const auto reply = answer_message(message.dump(), of);
  REQUIRE(reply);
  CHECK(reply->find('\n') == std::string::npos);
  OrderedJson json = OrderedJson::parse(*reply);
  CHECK(json.at("id") == 7);
  return json;
}

OrderedJson tool(const std::string& name, const OrderedJson& arguments,
                 const McpSession& of = session()) {
  return asked_session("tools/call", {{"name", name}, {"arguments", arguments}}, of).at("result");
}

TEST_CASE("a client says hello, lists the tools and is answered") {
  const OrderedJson hello =
      asked_session("initialize", {{"protocolVersion", "2024-11-05"},
                                   {"capabilities", OrderedJson::object()},
                                   {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  CHECK(hello.at("result").at("protocolVersion") == "2024-11-05");
  CHECK(hello.at("result").at("serverInfo").at("name") == "prequel");
  CHECK_FALSE(
      answer_message(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", session()));
  CHECK(asked_session("ping", OrderedJson::object()).at("result") == OrderedJson::object());
  std::vector<std::string> names;
  const OrderedJson listed = asked_session("tools/list", OrderedJson::object());
  for (const OrderedJson& each : listed.at("result").at("tools")) {
    names.push_back(each.at("name"));
    CHECK(each.at("inputSchema").at("type") == "object");
    CHECK(each.at("annotations").at("openWorldHint") == false);
    CHECK(each.at("annotations").at("readOnlyHint") == true);
  }
  CHECK(names == std::vector<std::string>{"predict", "search", "compare", "explain", "validate",
                                          "calibrate_runs", "import", "show"});
  CHECK(listed.dump().size() <= 15'000);
  const OrderedJson& predict =
      listed.at("result").at("tools")[0].at("inputSchema").at("properties");
  CHECK(predict.at("tp").at("type") == "integer");
  CHECK(predict.at("recompute").at("enum") == OrderedJson{"none", "selective", "full"});
  CHECK(predict.at("more").at("description").get<std::string>().find("vpp") != std::string::npos);
}

TEST_CASE("an answer costs an agent a few kilobytes, and the whole one as many as it has") {
  const OrderedJson question{{"model", "llama-3-70b"},
                             {"cluster", "dgx-h100"},
                             {"nodes", 16},
                             {"gbs", 512},
                             {"seq_len", 8192}};
  OrderedJson plan = question;
  plan["tp"] = 8;
  plan["pp"] = 4;
  plan["more"] = {{"vpp", 4}};
  const OrderedJson predicted = tool("predict", plan);
  CHECK(predicted.at("isError") == false);
  CHECK(predicted.dump().size() <= 2'500);
  CHECK(predicted.at("structuredContent").at("plan").at("vpp") == 4);
  const OrderedJson found = tool("search", question);
  CHECK(found.dump().size() <= 4'000);
  const OrderedJson& answer = found.at("structuredContent");
  CHECK(answer.at("plans").size() == 5);
  CHECK(answer.at("plans")[1].at("plan").size() < answer.at("plans")[0].at("plan").size());
  CHECK(answer.at("recommendation").at("text").get<std::string>().starts_with("Take rank 1, "));
  plan["detail"] = true;
  const OrderedJson whole = tool("predict", plan);
  CHECK(whole.at("structuredContent").at("plan").contains("dispatcher"));
  plan["more"] = {{"vppp", 4}};
  CHECK(tool("predict", plan).at("content")[0].at("text").get<std::string>().find("did you mean") !=
        std::string::npos);
}

TEST_CASE("tools answer what the program answers, in short") {
  const OrderedJson predicted = tool("predict", {{"job", "bloom-176b-jean-zay"}});
  CHECK(predicted.at("isError") == false);
  const OrderedJson& answer = predicted.at("structuredContent");
  const OrderedJson whole =
      OrderedJson::parse(run_prequel("predict bloom-176b-jean-zay --json").out);
  CHECK(answer.at("sec_per_iter").get<double>() ==
        doctest::Approx(whole.at("sec_per_iter").get<double>()).epsilon(1e-3));
  CHECK(answer.at("memory").at("verdict") == "fits");
  CHECK(predicted.at("content")[0].at("text").get<std::string>().find("s per iteration") !=
        std::string::npos);
  CHECK(answer.dump().size() < whole.dump().size());
  const OrderedJson found =
      tool("search",
           {{"model", "bloom-176b"}, {"cluster", "jean-zay-a100"}, {"nodes", 48}, {"gbs", 2048}});
  CHECK(found.at("structuredContent").at("plans").size() == 5);
  const OrderedJson beside = tool("compare", {{"a", "bloom-176b-jean-zay"}, {"b", {{"mbs", 1}}}});
  CHECK(beside.at("structuredContent").at("differences")[0].at("path") == "plan.mbs");
  const std::string table = PREQUEL_SOURCE_DIR "/data/runs/bigscience-jz-a100.csv";
  const OrderedJson rows = tool("validate", {{"runs", {table}}}).at("structuredContent").at("runs");
  CHECK(rows.size() == 10);
  CHECK(std::abs(rows[0].at("error").at("sec_per_iter").get<double>()) >=
        std::abs(rows[9].at("error").at("sec_per_iter").get<double>()));
  const OrderedJson why = tool("explain", {{"job", "bloom-176b-jean-zay"}, {"explain", "mlp-in"}});
  CHECK(why.at("structuredContent").at("kernels")[0].contains("binding"));
  CHECK(tool("show", OrderedJson::object()).at("structuredContent").contains("clusters"));
}

TEST_CASE(
    "a plan that does not fit is told with the nearest one that does, as the program tells it") {
  const OrderedJson told =
      tool("predict", {{"job", "bloom-176b-jean-zay"}, {"mbs", 8}, {"recompute", "none"}});
  const OrderedJson& near = told.at("structuredContent").at("memory").at("nearest");
  const OrderedJson whole = OrderedJson::parse(
      run_prequel("predict bloom-176b-jean-zay --mbs 8 --recompute none --json").out);
  CHECK(near.at("flags") == whole.at("memory").at("nearest").at("flags"));
  CHECK(near.at("fits_probability") >= 0.95);
  CHECK(told.at("content")[0].at("text").get<std::string>().find(
            "the nearest plan that fits: " + near.at("flags").get<std::string>()) !=
        std::string::npos);
}

TEST_CASE("what prequel refuses comes with its remedy, what the protocol refuses with a code") {
  const OrderedJson refused = tool("predict", {{"job", "bloom-176b-jean-zai"}});
  CHECK(refused.at("isError") == true);
  CHECK(refused.at("content")[0].at("text").get<std::string>().find("did you mean") !=
        std::string::npos);
  const auto code = [](const OrderedJson& reply) { return reply.at("error").at("code"); };
  for (const OrderedJson& question :
       {OrderedJson{{"name", "predcit"}},
        OrderedJson{{"name", "predict"}, {"arguments", {{"tpp", 8}}}}}) {
    const OrderedJson reply = asked_session("tools/call", question).at("result");
    CHECK(reply.at("isError") == true);
    CHECK(reply.at("content")[0].at("text").get<std::string>().find("did you mean") !=
          std::string::npos);
  }
  CHECK(code(asked_session("tools/call", OrderedJson::object())) == -32602);
  CHECK(code(asked_session("resources/list", OrderedJson::object())) == -32601);
  CHECK(code(OrderedJson::parse(*answer_message("{", session()))) == -32700);
  CHECK(code(OrderedJson::parse(*answer_message("[1]", session()))) == -32600);
  CHECK(code(OrderedJson::parse(*answer_message(R"({"id":1})", session()))) == -32600);
  CHECK(code(OrderedJson::parse(*answer_message(R"({"id":1,"method":"ping"})", session()))) ==
        -32600);
}

TEST_CASE("what a tool cannot do without is named") {
  const OrderedJson refused = tool("calibrate_runs", OrderedJson::object());
  CHECK(refused.at("isError") == true);
  CHECK(refused.at("content")[0].at("text") == "files: missing");
}

TEST_CASE("pings are answered while a call runs, and a call that is cancelled is not") {
  std::vector<std::string> printed;
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  const auto print = [&](const std::string& reply) { printed.push_back(reply); };
  CallQueue queue(print, std::chrono::hours(1));
  const auto until_stopped = [&](const std::atomic<bool>& stop) -> std::optional<std::string> {
    {
      const std::lock_guard lock(mutex);
      begun = true;
      changed.notify_all();
    }
    while (!stop) std::this_thread::yield();
    return "stopped";
  };
  queue.add("1", until_stopped, "late");
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun; });
  }
  queue.print("pong");
  queue.add(
      "2", [](const std::atomic<bool>&) { return std::optional<std::string>("two"); }, "late");
  queue.add(
      "3", [](const std::atomic<bool>&) { return std::optional<std::string>("three"); }, "late");
  queue.cancel("3");
  queue.cancel("1");
  CHECK(queue.finish());
  CHECK(printed == std::vector<std::string>{"pong", "two"});
}

TEST_CASE("a call that takes longer than it may is refused, and the next one answered") {
  std::vector<std::string> printed;
  const auto print = [&](const std::string& reply) { printed.push_back(reply); };
  CallQueue queue(print, std::chrono::milliseconds(1));
  const auto until_stopped = [](const std::atomic<bool>& stop) -> std::optional<std::string> {
    while (!stop) std::this_thread::yield();
    return "stopped";
  };
  queue.add("1", until_stopped, "late");
  CHECK(queue.finish());
  CHECK(printed == std::vector<std::string>{"late"});
}

TEST_CASE("answers are saved in the folder that was opened, and nowhere else") {
  const TemporaryFolder folder;
  const McpSession open = session(folder / ".");
  const OrderedJson question{{"job", "bloom-176b-jean-zay"}, {"save_as", "answer.json"}};
  CHECK(tool("predict", question, open).at("isError") == false);
  CHECK(OrderedJson::parse(read_file(folder / "answer.json")).contains("stages"));
  std::filesystem::create_symlink("/tmp/elsewhere", folder / "link");
  for (const char* name : {"../x", "/tmp/x", "", ".hidden", "a/b", "link", "."}) {
    CAPTURE(name);
    const OrderedJson wrong{{"job", "bloom-176b-jean-zay"}, {"save_as", name}};
    CHECK(tool("predict", wrong, open).at("isError") == true);
  }
  CHECK(tool("predict", question).at("isError") == true);
}

TEST_CASE("a fit writes a data folder that was not there into the folder that was opened") {
  const TemporaryFolder folder;
  const McpSession open = session(folder / ".");
  const std::string table = PREQUEL_SOURCE_DIR "/data/runs/deepspeed-zero-a100-40gb.csv";
  const OrderedJson question{
      {"files", {table}}, {"fit", "host"}, {"folds", 1}, {"save_data_as", "ours"}};
  const OrderedJson fitted = tool("calibrate_runs", question, open);
  CHECK(fitted.at("isError") == false);
  CHECK(fitted.at("structuredContent").at("constants").size() > 0);
  CHECK(std::filesystem::is_directory(folder / "ours/software"));
  CHECK(tool("calibrate_runs", question, open).at("isError") == true);  // it is there now
  for (const char* name : {"../x", "/tmp/x", "", ".", "a/b"}) {
    CAPTURE(name);
    OrderedJson wrong = question;
    wrong["save_data_as"] = name;
    CHECK(tool("calibrate_runs", wrong, open).at("isError") == true);
  }
  CHECK(tool("calibrate_runs", question).at("isError") == true);
}

TEST_CASE("hostile lines get errors, and the server goes on") {
  std::mt19937 random(11);
  const std::string call =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"predict","arguments":)"
      R"({"model":"gpt-18b","cluster":"selene","nodes":8,"tp":8,"gbs":64}}})";
  for (int trial = 0; trial < 300; ++trial) {
    std::string line = call;
    for (unsigned change = 0; change <= random() % 4; ++change) {
      const std::size_t place = random() % line.size();
      switch (random() % 3) {
        case 0: line[place] = static_cast<char>(random() % 256); break;
        case 1: line.erase(place, random() % 9); break;
        default: line.insert(place, line.substr(random() % line.size(), random() % 20)); break;
      }
      if (line.empty()) line = "{";
    }
    CAPTURE(line);
    const auto reply = answer_message(line, session());
    if (reply) CHECK(OrderedJson::parse(*reply).at("jsonrpc") == "2.0");
  }
  CHECK(OrderedJson::parse(*answer_message(std::string(100000, '['), session())).contains("error"));
}

TEST_CASE("the program serves a session over its stdin and stdout") {
  const TemporaryFolder folder;
  const std::string input = folder.with(
      "session",
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})"
      "\n"
      R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
      "\n\n"
      R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"show","arguments":{"kind":"jobs"}}})"
      "\nno json\n");
  const ProgramResult result = run_prequel("mcp < " + input);
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  std::istringstream lines(result.out);
  std::vector<OrderedJson> replies;
  for (std::string line; std::getline(lines, line);) replies.push_back(OrderedJson::parse(line));
  REQUIRE(replies.size() == 3);
  CHECK(replies[1].at("id") == "a");
  CHECK(replies[1].at("result").at("structuredContent").at("jobs").size() > 0);
  CHECK(replies[2].at("error").at("code") == -32700);
}

}  // namespace
}  // namespace prequel
