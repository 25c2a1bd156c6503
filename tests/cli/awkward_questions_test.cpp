// Questions that once got a wrong answer, or none that helps: as they are asked, with a piece of
// what is said now.

#include <doctest/doctest.h>

#include <string>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

struct Question {
  const char* asked;
  int status;
  const char* said;
};

void check(const Question& question) {
  CAPTURE(question.asked);
  const ProgramResult result = run_prequel(question.asked);
  CHECK(result.status == question.status);
  const std::string said = result.out + result.err;
  CHECK_MESSAGE(said.find(question.said) != std::string::npos, said);
}

TEST_CASE("numbers without sense or unit are refused with what would do") {
  for (const Question& question : {
           Question{"predict bloom-176b-jean-zay --tokens 1e300", 2, "at most 4.1943e+18 would do"},
           Question{"predict bloom-176b-jean-zay --slow-node 7:1e-300", 2,
                    "expected a number from 0.01 to 1"},
           Question{"predict bloom-176b-jean-zay --slow-node 0:2", 2,
                    "expected a number from 0.01 to 1"},
           Question{
               "predict bloom-176b-jean-zay --tokens 1e9 --mtbf 1000h --checkpoint-bandwidth 40", 2,
               "expected a positive amount such as \"40 GB/s\""},
           Question{"predict bloom-176b-jean-zay --set device.memory=1", 2, "expected a unit"},
           Question{"import /dev/zero", 2, "holds a NUL byte"},
       }) {
    check(question);
  }
}

TEST_CASE("a name that no file can have is a file that is not there") {
  const std::string name(5000, 'A');
  check({("validate " + name).c_str(), 2, "cannot be read; no such file, or no permission"});
  check({("calibrate runs " + name).c_str(), 2, "cannot be read; no such file, or no permission"});
  check({("show models --data-dir " + name).c_str(), 2, "not a directory"});
}

TEST_CASE("names that are nearly right get those that are") {
  const std::string asked = "predict --model llama-3-8b --nodes 1 --gbs 64 --cluster dgx-h100 ";
  check({(asked + "--software megatron").c_str(), 2, "did you mean \"megatron-lm-2020\""});
  check({(asked + "--device h100").c_str(), 2, "did you mean \"h100-sxm\""});
}

TEST_CASE("degrees that do not fit get those that do") {
  const std::string asked = "predict --model llama-3-8b --cluster dgx-h100 --nodes 1 --gbs 64 ";
  check({(asked + "--pp 5").c_str(), 2, "pp 4, or 5 nodes would do"});
  check({(asked + "--tp 3").c_str(), 2, "heads 32 is not a multiple of it; tp 2 would do"});
}

TEST_CASE("what is priced otherwise than it was asked for is said") {
  const std::string asked = "predict --model llama-3-70b --cluster dgx-h100 --nodes 8 --tp 8 ";
  check({(asked + "--pp 2 --gbs 256 --offload optimizer").c_str(), 0,
         "megatron-core-2026 offers none; priced all the same"});
  check({(asked + "--pp 4 --gbs 256 --recompute selective").c_str(), 0,
         "frees next to nothing with flash attention"});
  check({(asked + "--pp 2 --gbs 256 --set cluster.fabric.node.interconnect.kind=host "
                  "--set 'cluster.fabric.node.interconnect.bandwidth=\"32 GB/s\"'")
             .c_str(),
         0, "interconnect carries 32 GB/s"});
  check(
      {"predict --model tests/cli/fixtures/gemma-7b-config.json --cluster dgx-a100 --nodes 8 "
       "--gbs 64 --zero 3 --recompute full",
       0, "attention of head size 256 by that of 128"});
}

TEST_CASE("searches find what predictions answer") {
  check(
      {"search --model gpt-39b --cluster dgx-a100 --nodes 8 --gbs 128 --tp 2 --pp 2 --vpp 2 "
       "--mbs 1",
       0, "interleaved-1f1b"});
  check({"search --model gpt-30b --cluster fugaku --nodes 384 --gbs 96", 0, "fit"});
}

TEST_CASE("the number of parameters is told") {
  check({"show model llama-3-8b", 0, "8030261248"});
  check({"predict --json --model llama-3-8b --cluster dgx-h100 --nodes 1 --gbs 64 --tp 8", 0,
         "\"parameters\""});
  check({"import tests/cli/fixtures/llama-2-7b-config.json", 0, "parameters: 6.738 billion"});
}

TEST_CASE("a generic cluster is priced by a generic stack") {
  const ProgramResult result =
      run_prequel("predict --model gpt2-345m --cluster dgx-a100 --nodes 1 --gbs 64");
  CHECK(result.status == 0);
  CHECK(result.out.find("megatron-core-a100-2026") != std::string::npos);
}

}  // namespace
}  // namespace prequel
