#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/call/call.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/interrupted.hpp"
#include "models/job/file_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/error_text.hpp"

namespace prequel {
namespace {

using OrderedJson = nlohmann::ordered_json;

CallAnswer called(const std::string& command, const OrderedJson& arguments) {
  return answer_call(command, arguments, {{PREQUEL_SOURCE_DIR "/data"}, nullptr, nullptr, {}});
}

/// The document without the time that a search took.
std::string timeless(const std::string& document) {
  OrderedJson json = OrderedJson::parse(document);
  json.erase("seconds");
  return json.dump(2);
}

/// Returns the program's answer to the same question, with the same folder of data.
std::string program_says(const std::string& arguments, int status = 0) {
  const ProgramResult result =
      run_prequel(arguments + " --json --data-dir '" PREQUEL_SOURCE_DIR "/data'");
  CHECK(result.status == status);
  return result.out;
}

TEST_CASE("a job that was run is told with what could explain its time, others without") {
  const OrderedJson ran =
      OrderedJson::parse(called("predict", {{"job", "bloom-176b-jean-zay"}}).document);
  REQUIRE(ran.contains("causes"));
  REQUIRE_FALSE(ran["causes"].empty());
  double sum = 0.0;
  for (const OrderedJson& cause : ran["causes"]) {
    sum += cause["probability"].get<double>();
    CHECK(cause["low"].get<double>() <= cause["times"].get<double>());
    CHECK(cause["times"].get<double>() <= cause["high"].get<double>());
  }
  CHECK(sum <= 1.0 + 1e-9);
  const OrderedJson asked = OrderedJson::parse(
      called("predict",
             {{"model", "bloom-176b"}, {"cluster", "jean-zay-a100"}, {"nodes", 48}, {"gbs", 1920}})
          .document);
  CHECK_FALSE(asked.contains("causes"));
}

TEST_CASE("a call is answered with the program's document, byte for byte") {
  const std::string job = "bloom-176b-jean-zay";
  CHECK(called("predict", {{"job", job}}).document == program_says("predict " + job));
  CHECK(called("predict", {{"job", job},
                           {"mbs", 2},
                           {"sequence_parallel", false},
                           {"explain", {"mlp-in"}},
                           {"slow_node", {{"7", 0.9}}},
                           {"set", {{"software.launch", "async"}}}})
            .document == program_says("predict " + job +
                                      " --mbs 2 --no-sequence-parallel --explain "
                                      "mlp-in --slow-node 7:0.9 --set "
                                      "software.launch=async"));
  CHECK(timeless(called("search", {{"model", "bloom-176b"},
                                   {"cluster", "jean-zay-a100"},
                                   {"nodes", {24, 48}},
                                   {"tp", "4,8"},
                                   {"gbs", 2048},
                                   {"sequence_parallel", false},
                                   {"top", 3},
                                   {"require", {"dp % 4 == 0"}}})
                     .document) ==
        timeless(program_says("search --model bloom-176b --cluster jean-zay-a100 --nodes 24,48 "
                              "--tp 4,8 --gbs 2048 --sequence-parallel off --top 3 --require "
                              "'dp % 4 == 0'")));
  const std::string table = PREQUEL_SOURCE_DIR "/data/runs/deepspeed-zero-a100-40gb.csv";
  CHECK(called("validate", {{"runs", {table}}, {"by", "table"}}).document ==
        program_says("validate " + table + " --by table"));
  CHECK(called("compare", {{"a", "bloom-176b-jean-zay"}, {"b", {{"mbs", 1}, {"seq_len", 1024}}}})
            .document == program_says("compare bloom-176b-jean-zay mbs=1,seq_len=1024"));
  CHECK(called("show", {{"name", "dgx-a100"}, {"kind", "cluster"}}).document ==
        program_says("show cluster dgx-a100"));  // in any order
  CHECK(called("calibrate runs", {{"files", {table}}, {"fit", "host"}, {"folds", 2}}).document ==
        program_says("calibrate runs " + table + " --fit host --folds 2"));
  CHECK(called("show", {{"kind", "cluster"}, {"name", "dgx-a100"}}).document ==
        program_says("show cluster dgx-a100"));
}

TEST_CASE("a call says nothing of those before it, though it shares their parser") {
  const CallSession shared{{PREQUEL_SOURCE_DIR "/data"}, nullptr, nullptr, {}, make_parser_pool()};
  const OrderedJson plain{{"job", "bloom-176b-jean-zay"}};
  OrderedJson odd = plain, wrong = plain;
  odd.update({{"mbs", 1}, {"explain", {"mlp-in"}}, {"tokens", 3e11}, {"set", {{"plan.zero", 0}}}});
  wrong.update({{"mbs", 0}});
  const std::string alone = called("predict", plain).document;
  for (int repeat = 0; repeat < 2; ++repeat) {
    CHECK(answer_call("predict", plain, shared).document == alone);
    CHECK(answer_call("predict", odd, shared).document == called("predict", odd).document);
    CHECK_THROWS_AS(static_cast<void>(answer_call("predict", wrong, shared)), InputError);
  }
}

TEST_CASE("the context is the same whoever asks, and its call gives the same answer") {
  const OrderedJson arguments{{"job", "bloom-176b-jean-zay"}, {"mbs", 2}, {"zero", 1}};
  const CallAnswer answer = called("predict", arguments);
  const OrderedJson context = OrderedJson::parse(answer.document).at("context");
  CHECK(context.at("command") ==
        "prequel predict bloom-176b-jean-zay --mbs 2 --zero 1 --data-dir " PREQUEL_SOURCE_DIR
        "/data");
  CHECK(run_prequel(context.at("command").get<std::string>().substr(8) + " --json").out ==
        answer.document);
  std::set<std::string> kinds;
  for (const OrderedJson& input : context.at("inputs")) {
    kinds.insert(input.at("kind").get<std::string>());
    CHECK(input.at("sha256").get<std::string>().size() == 64);
  }
  CHECK(kinds == std::set<std::string>{"cluster", "common", "device", "job", "model", "software",
                                       "uncertainty"});
}

TEST_CASE("whole objects stand where names may") {
  const auto shown = [](const char* kind, const char* name) {
    return OrderedJson::parse(called("show", {{"kind", kind}, {"name", name}}).document);
  };
  OrderedJson plan{{"nodes", 48}, {"tp", 8}, {"pp", 12}, {"mbs", 2}, {"gbs", 2048}};
  OrderedJson names = plan, objects = plan;
  names.update({{"model", "bloom-176b"}, {"cluster", "jean-zay-a100"}});
  objects.update(
      {{"model", shown("model", "bloom-176b")}, {"cluster", shown("cluster", "jean-zay-a100")}});
  OrderedJson by_name = OrderedJson::parse(called("predict", names).document);
  OrderedJson by_object = OrderedJson::parse(called("predict", objects).document);
  CHECK(by_object.at("context").at("command").get<std::string>().find("--model model.json") !=
        std::string::npos);
  by_name.erase("context");
  by_object.erase("context");
  CHECK(by_name == by_object);
}

TEST_CASE("sides of a comparison may be whole jobs, or objects with documents in them") {
  const auto shown = [](const char* kind, const char* name) {
    return OrderedJson::parse(called("show", {{"kind", kind}, {"name", name}}).document);
  };
  const auto speed = [](const OrderedJson& a, const OrderedJson& b) {
    return OrderedJson::parse(called("compare", {{"a", a}, {"b", b}}).document).at("speed_ratio");
  };
  const OrderedJson by_name = speed("bloom-176b-jean-zay", {{"cluster", "selene"}});
  CHECK(speed(shown("job", "bloom-176b-jean-zay"), {{"cluster", shown("cluster", "selene")}}) ==
        by_name);
  CHECK(speed({{"job", "bloom-176b-jean-zay"}}, "bloom-176b-jean-zay,cluster=selene") == by_name);
}

TEST_CASE("a fit to runs hands over the files that change, and can be stopped") {
  const std::string table = PREQUEL_SOURCE_DIR "/data/runs/deepspeed-zero-a100-40gb.csv";
  const OrderedJson question{
      {"files", {table}}, {"fit", "host"}, {"folds", 1}, {"suffix", "-ours"}};
  const CallAnswer answer = called("calibrate runs", question);
  REQUIRE_FALSE(answer.files.empty());
  for (const CalibratedFile& file : answer.files) {
    CHECK(file.name.ends_with("-ours"));
    CHECK(OrderedJson::parse(file.text).at("name") == file.name);
  }
  CHECK(OrderedJson::parse(answer.document).at("files").size() == answer.files.size());
  const std::atomic<bool> stop{true};
  const CallSession stopped{{PREQUEL_SOURCE_DIR "/data"}, nullptr, &stop, {}};
  CHECK_THROWS_AS(static_cast<void>(answer_call("calibrate runs", question, stopped)), Interrupted);
  CHECK_THROWS_AS(static_cast<void>(answer_call("validate", {{"runs", {table}}}, stopped)),
                  Interrupted);
}

TEST_CASE("a Hugging Face config is a model, too, and what was made of it is told") {
  const OrderedJson config = OrderedJson::parse(
      read_file(PREQUEL_SOURCE_DIR "/tests/cli/fixtures/llama-2-7b-config.json"));
  const CallAnswer answer =
      called("predict", {{"model", config}, {"cluster", "dgx-a100"}, {"nodes", 4}, {"gbs", 256}});
  CHECK(answer.remarks.find("read: ") != std::string::npos);
}

TEST_CASE("what is no question is refused with what would do") {
  const auto refusal = [](const std::string& command, const OrderedJson& arguments) {
    return error_text([&] { static_cast<void>(called(command, arguments)); });
  };
  CHECK(refusal("predcit", OrderedJson::object()) ==
        "\"predcit\": unknown command (did you mean \"predict\"?)");
  CHECK(refusal("predict", OrderedJson::array()) == "predict: expected an object of arguments");
  CHECK(refusal("predict", {{"seq_lenn", 8}}) ==
        "predict: unknown argument \"seq_lenn\" (did you mean \"seq_len\"?)");
  CHECK(refusal("predict", {{"tensor_parallel", 8}}) ==
        "predict: unknown argument \"tensor_parallel\" (did you mean \"tp\", \"etp\"?)");
  CHECK(refusal("predict", {{"global_batch", 8}}) ==
        "predict: unknown argument \"global_batch\" (did you mean \"gbs\"?)");
  CHECK(refusal("predict", {{"kernels", "attention"}}) ==
        "predict: unknown argument \"kernels\" (did you mean \"explain\"?)");
  CHECK(refusal("predict", {{"gradient_checkpointing", true}}) ==
        "predict: unknown argument \"gradient_checkpointing\" (did you mean \"recompute full\"?)");
  CHECK(refusal("predict", {{"job", "-"}}) ==
        "predict: job: \"-\" is no file; the path of one would do");
  CHECK(refusal("predict", {{"contention", 3}}) ==
        "predict: contention: expected true or false, got 3");
  CHECK(refusal("import", {{"files", {"/dev/stdin"}}}).find("is no file") != std::string::npos);
  CHECK(refusal("predict", {{"model", "-"}}).find("is no file") != std::string::npos);
  CHECK(refusal("compare", {{"a", "-,tp=4"}, {"b", "tp=8"}}).find("is no file") !=
        std::string::npos);
  CHECK(
      refusal("calibrate runs", {{"files", {"x.csv"}}, {"suffix", "/../../x"}}).find("--suffix") !=
      std::string::npos);
  for (const char* writes : {"report", "trace", "memory_snapshot", "json", "output", "emit"}) {
    CAPTURE(writes);
    CHECK(refusal("predict", {{"job", "bloom-176b-jean-zay"}, {writes, "x"}})
              .find("unknown argument") != std::string::npos);
  }
}

TEST_CASE("arguments of any kind are answered or refused, never worse") {
  std::mt19937 random(7);
  const OrderedJson values = {nullptr,
                              true,
                              -1,
                              0,
                              1e300,
                              "x",
                              "",
                              "--json",
                              "-",
                              "\n",
                              "8:64:8",
                              OrderedJson::array(),
                              OrderedJson::object(),
                              {1, "2"},
                              {{"a", 1}},
                              "\xff\xfe",
                              3.5,
                              "=",
                              "model.json"};
  for (const std::string& command : callable_commands()) {
    const OrderedJson schema = arguments_schema(command);
    std::vector<std::string> names;
    for (const auto& [name, property] : schema.at("properties").items()) names.push_back(name);
    for (int trial = 0; trial < 60; ++trial) {
      OrderedJson arguments = OrderedJson::object();
      for (int i = 0; i < 3; ++i) {
        arguments[names[random() % names.size()]] = values[random() % values.size()];
      }
      CAPTURE(command);
      CAPTURE(trial);
      try {
        static_cast<void>(called(command, arguments));
      } catch (const InputError& error) {
        CHECK_FALSE(error.problems().empty());
      }
    }
  }
}

}  // namespace
}  // namespace prequel
