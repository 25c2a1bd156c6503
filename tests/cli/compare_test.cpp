#include <doctest/doctest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

Json compared(const std::string& arguments, int status = 0) {
  const ProgramResult result = run_prequel("compare " + arguments + " --json");
  CAPTURE(result.err);
  REQUIRE(result.status == status);
  return Json::parse(result.out);
}

double seconds_of(const std::string& arguments) {
  return Json::parse(run_prequel("predict " + arguments + " --json").out)
      .at("sec_per_iter")
      .get<double>();
}

TEST_CASE("both sides are what predict says of them, and what differs is told") {
  const Json answer = compared("bloom-176b-jean-zay mbs=1,zero=0", 1);  // B is out of memory
  CHECK(answer.at("a").at("sec_per_iter") == seconds_of("bloom-176b-jean-zay"));
  CHECK(answer.at("b").at("sec_per_iter") == seconds_of("bloom-176b-jean-zay --mbs 1 --zero 0"));
  CHECK(answer.at("differences") == Json::parse(R"([{"path": "plan.mbs", "a": "4", "b": "1"},
                        {"path": "plan.zero", "a": "1", "b": "0"}])"));
  double a = 0, b = 0, difference = 0;
  for (const Json& work : answer.at("by_work")) {
    a += work.at("a_s").get<double>();
    b += work.at("b_s").get<double>();
    difference += work.at("difference_s").get<double>();
  }
  CHECK(a == doctest::Approx(answer.at("a").at("sec_per_iter").get<double>()));
  CHECK(b == doctest::Approx(answer.at("b").at("sec_per_iter").get<double>()));
  CHECK(difference == doctest::Approx(b - a));
}

TEST_CASE("batches of different sizes are compared by tokens, and by work for as many of them") {
  const Json answer = compared("bloom-176b-jean-zay,gbs=1024 gbs=2048");
  const Json &a = answer.at("a"), &b = answer.at("b");
  CHECK(
      answer.at("speed_ratio").get<double>() ==
      doctest::Approx(b.at("tokens_per_sec").get<double>() / a.at("tokens_per_sec").get<double>()));
  double total = 0;
  for (const Json& work : answer.at("by_work")) total += work.at("b_s").get<double>();
  CHECK(total == doctest::Approx(b.at("sec_per_iter").get<double>() / 2));
}

TEST_CASE("clusters and stacks are compared on what both share") {
  const Json clusters = compared(
      "cluster=selene cluster=dgx-h100 --model gpt-18b --nodes 8 --tp 8 --gbs 64 --mbs 1 "
      "--software megatron-core-2025");
  CHECK(clusters.at("b").at("cluster") == "dgx-h100");
  CHECK(clusters.at("speed_ratio").get<double>() > 1.5);
  CHECK(clusters.at("odds_a_faster").get<double>() < 0.01);
  const Json stacks = compared("bloom-176b-jean-zay software=megatron-core-2024");
  CHECK(stacks.at("a").at("software") == "megatron-deepspeed-2022");
  CHECK(stacks.at("interval").at("cancelled").get<double>() <
        compared("bloom-176b-jean-zay mbs=1").at("interval").at("cancelled").get<double>());
}

TEST_CASE("lists and paths may be said, and a plan that does not fit is a no") {
  const Json answer = compared("bloom-176b-jean-zay software.launch=async,overlap=grads,params", 0);
  CHECK(answer.at("b").at("plan").at("overlap") == Json({"grads", "params"}));
  CHECK(compared("bloom-176b-jean-zay mbs=16", 1).at("b").at("memory").at("verdict") == "oom");
}

TEST_CASE("the text says what the document says") {
  const ProgramResult text = run_prequel("compare bloom-176b-jean-zay mbs=1");
  CHECK(text.status == 0);
  for (const char* said : {"plan.mbs", "tokens/s a GPU", "B trains ", "interval", "cancel"}) {
    CAPTURE(said);
    CHECK(text.out.find(said) != std::string::npos);
  }
}

TEST_CASE("what a side says of files is told as different, though no constant shows it") {
  const Json answer = compared("bloom-176b-jean-zay model.num_hidden_layers=60");
  CHECK(answer.at("differences") == Json::parse(R"([{"path": "model.num_hidden_layers",
                                                     "a": "as in its file", "b": "60"}])"));
  const Json modules = compared(
      "recompute=none recompute=selective,recompute_modules=mla_up_proj+moe_act --model "
      "deepseek-v2-lite --cluster nvidia-dgx-h100 --nodes 4 --ep 8 --gbs 128 --seq-len 4096");
  CHECK(modules.at("differences") == Json::parse(R"([
    {"path": "plan.recompute", "a": "none", "b": "selective"},
    {"path": "plan.recompute_modules", "a": "none", "b": "mla_up_proj moe_act"}])"));
}

TEST_CASE("a side's setting that changes nothing of it is told") {
  const Json answer = compared("bloom-176b-jean-zay device.memory_bound.rope.launch_s=1");
  CHECK(answer.at("b").at("warnings").back() ==
        "device.memory_bound.rope.launch_s=1: changes nothing in this prediction");
}

TEST_CASE("the faster side that does not fit is said not to run, and no source of 0 % is told") {
  const std::string text =
      run_prequel(
          "compare tp=2 tp=1 --model llama-3-8b --cluster nvidia-dgx-h100 --nodes 4 --gbs 128")
          .out;
  std::string line = text;
  for (std::size_t at; (at = line.find("\n  ")) != std::string::npos;) line.replace(at, 3, " ");
  CHECK(line.find("GiB: it is out of memory.") != std::string::npos);
  CHECK(line.find(" But B needs") != std::string::npos);
  CHECK(line.find(" But A needs") == std::string::npos);
  CHECK(line.find(" 0 %") == std::string::npos);
}

TEST_CASE("sides that say nothing are refused with what would do") {
  const auto refusal = [](const std::string& sides) {
    const ProgramResult result = run_prequel("compare " + sides);
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(refusal("bloom-176b-jean-zay mbz=1").find("did you mean \"mbs\"") != std::string::npos);
  CHECK(refusal("bloom-176b-jean-zay mbs=").find("expected a value") != std::string::npos);
  CHECK(refusal("bloom-176b-jean-zay =1").find("FIELD=VALUE") != std::string::npos);
  CHECK(refusal("bloom-176b-jean-zay,other mbs=1").find("no FIELD=VALUE") != std::string::npos);
  CHECK(refusal("bloom-176b-jean-zay bloom-176b-jean-zai").find("did you mean") !=
        std::string::npos);
}

}  // namespace
}  // namespace prequel
