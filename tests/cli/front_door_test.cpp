#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

Json answer_of(const std::string& arguments) {
  const ProgramResult result = run_prequel(arguments + " --json");
  CAPTURE(arguments);
  CAPTURE(result.err);
  REQUIRE(result.status < 2);
  return Json::parse(result.out);
}

/// Llama-3-70B on 16 nodes of 8 H100, in a layout that nearly fills the cards.
const std::string kTight =
    "predict --model llama-3-70b --cluster dgx-h100 --nodes 16 --gbs 512 --seq-len 8192 --tp 4 "
    "--pp 4 --mbs 1";

TEST_CASE("the interval of memory goes on beyond the card, as the odds of fitting do") {
  const Json tight = answer_of(kTight);
  const double capacity = tight.at("memory").at("capacity_gib");
  const Json& interval = tight.at("interval");
  REQUIRE(tight.at("memory").at("peak_gib") < capacity);
  REQUIRE(interval.at("fits_probability") < 0.9);
  CHECK(interval.at("memory_gib").at(1) > capacity);
}

TEST_CASE("a stack that is not known is told of by search as by predict") {
  const std::string asked =
      " --model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --seq-len 8192 "
      "--software megatron-core-1999";
  const std::string told = answer_of("predict" + asked).at("warnings").at(0);
  CHECK(told.find("megatron-core-1999 is not known") != std::string::npos);
  const Json warnings = answer_of("search" + asked + " --tp 1 --pp 1").at("warnings");
  CHECK(std::find(warnings.begin(), warnings.end(), told) != warnings.end());
}

TEST_CASE("a list of stacks is refused where one is meant") {
  const ProgramResult result = run_prequel(
      "search --model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --software "
      "torchtitan-2025,megatron-core-2025");
  CHECK(result.status == 2);
  CHECK(result.err ==
        "prequel: --software: \"torchtitan-2025,megatron-core-2025\" is a list; one software would "
        "do, in a call for each\n");
}

TEST_CASE("names of clusters are the same in any case") {
  const Json one = answer_of("predict --model llama-3-8b --cluster DGX_H100 --nodes 1 --gbs 64");
  CHECK(one.at("cluster") == "dgx-h100");
}

TEST_CASE("what is asked for one card of a node is answered for one card") {
  const std::string adapters =
      " --model llama-3-8b --cluster rtx-4090-node --gpus 1 --gbs 16 --seq-len 2048 --tuning lora "
      "--lora-rank 16 --lora-targets all";
  const Json large = answer_of("predict" + adapters + " --nodes 1 --recompute none");
  CHECK(large.at("plan").at("gpus") == 1);
  REQUIRE(large.at("memory").at("verdict") == "oom");
  const std::string flags = large.at("memory").at("nearest").at("flags");
  CAPTURE(flags);
  const Json there = answer_of("predict" + adapters + " " + flags);
  CHECK(there.at("plan").at("gpus") == 1);
  CHECK(there.at("memory").at("verdict") == "fits");
  const Json found = answer_of("search" + adapters + " --base-precision nf4");
  REQUIRE(found.at("plans").size() > 0);
  for (const Json& one : found.at("plans")) CHECK(one.at("plan").at("gpus") == 1);
}

TEST_CASE("a number of GPUs says the nodes, or the dp on a part of one") {
  const std::string model = "predict --model llama-3-8b --cluster dgx-h100 --gbs 64 ";
  CHECK(answer_of(model + "--gpus 16").at("plan").at("nodes") == 2);
  const Json part = answer_of(model + "--gpus 4 --tp 2").at("plan");
  CHECK(part.at("dp") == 2);
  CHECK(part.at("gpus") == 4);
  CHECK(run_prequel(model + "--gpus 12").err ==
        "prequel: --gpus 12: dgx-h100 has 8 GPUs a node; 8 or 16 would do\n");
  const Json found =
      answer_of("search --model llama-3-8b --cluster dgx-h100 --gbs 64 --gpus 16 --tp 1 --pp 1");
  CHECK(found.at("plans").at(0).at("plan").at("nodes") == 2);
}

TEST_CASE("batches are said in tokens, lengths in thousands, trainings in trillions") {
  const std::string model = "predict --model llama-3-8b --cluster dgx-h100 --nodes 4 --tp 2 ";
  const Json plan = answer_of(model + "--gbs 4M --seq-len 8k").at("plan");
  CHECK(plan.at("gbs") == 512);
  CHECK(plan.at("seq_len") == 8192);
  CHECK(run_prequel(model + "--gbs 4M --seq-len 6000").err ==
        "prequel: --gbs 4M: 4194304 tokens are 699.051 sequences of 6000; --gbs 699 would do\n");
  const Json found = answer_of(
      "search --model llama-3-8b --cluster dgx-h100 --nodes 4 --gbs 2M,4M --seq-len 8k --tp 1 --pp "
      "1 --top 100");
  for (const Json& each : found.at("plans")) {
    const std::int64_t gbs = each.at("plan").at("gbs");
    CHECK((gbs == 256 || gbs == 512));
  }
  const Json run = answer_of(model + "--gbs 4M --seq-len 8k --tokens 15T --price 2.5").at("run");
  CHECK(run.at("iterations") == doctest::Approx(15e12 / 4194304).epsilon(1e-6));
  CHECK(run.at("cost") == doctest::Approx(2.5 * run.at("gpu_hours").get<double>()));
}

TEST_CASE("a prediction out of memory ends with a plan that fits") {
  const ProgramResult result = run_prequel(
      "predict --model llama-3-70b --cluster dgx-h100 --nodes 16 --gbs 512 --seq-len 8192");
  CHECK(result.status == 1);
  const std::string begin = "Out of memory. The nearest plan that fits: ";
  const std::size_t at = result.out.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t flags = at + begin.size();
  std::string said = result.out.substr(flags, result.out.find(';', flags) - flags);
  std::replace(said.begin(), said.end(), '\n', ' ');
  const Json again = answer_of(
      "predict --model llama-3-70b --cluster dgx-h100 --nodes 16 --gbs 512 --seq-len 8192 " + said);
  CHECK(again.at("memory").at("verdict") == "fits");
  CHECK(again.at("interval").at("fits_probability") >= 0.95);
}

}  // namespace
}  // namespace prequel
