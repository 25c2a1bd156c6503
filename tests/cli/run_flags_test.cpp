#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

ProgramResult asked(const std::string& arguments) {
  return run_prequel("predict bloom-176b-jean-zay " + arguments);
}

std::string refused(const std::string& arguments) {
  const ProgramResult result = asked(arguments);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  return result.err;
}

TEST_CASE("a batch that ramps up gets its curve, where the pipeline fills and when to switch") {
  const Json ramp = Json::parse(asked("--gbs-ramp 16:2048:16 --json").out).at("ramp");
  CHECK(ramp.at("points").size() == 128);
  CHECK(ramp.at("points").at(0).at("gbs") == 16);
  CHECK(ramp.at("points").at(0).at("planned") == nullptr);
  CHECK(ramp.at("points").at(0).at("fastest").at("mbs") == 1);
  CHECK(ramp.at("points").at(127).at("planned").at("micro_batches") == 64);
  CHECK(ramp.at("first_full_gbs") == 192);
  CHECK(ramp.at("mbs_switches").size() >= 2);
}

TEST_CASE("the end of the ramp is the global batch size, where no other is said") {
  const Json answer = Json::parse(
      run_prequel("predict --model bloom-176b --cluster jean-zay-a100 --nodes 48 --tp 8 --pp 12 "
                  "--mbs 2 --gbs-ramp 16:1024:16 --json")
          .out);
  CHECK(answer.at("plan").at("gbs") == 1024);
}

TEST_CASE("the curve for people tells notable sizes alone") {
  const std::string text = asked("--gbs-ramp 16:2048:16").out;
  CHECK(text.find("Batch size ramp-up, 128 sizes\n") != std::string::npos);
  CHECK(text.find("  the pipeline is full from gbs 192 on\n") != std::string::npos);
  CHECK(text.find("  64 sizes are no multiple of dp 8 x mbs 4 = 32\n") != std::string::npos);
  CHECK(text.find("\n  2048") != std::string::npos);
  CHECK(text.find("\n  2032") == std::string::npos);
}

TEST_CASE("a whole run is told in days, GPU-hours and checkpoints") {
  const Json answer =
      Json::parse(asked("--tokens 366e9 --gbs-ramp 192:2048:32 --ramp-samples 9765625 --mtbf 5d "
                        "--checkpoint-bandwidth '40 GB/s' --restart 30m --eval-interval 1000 "
                        "--eval-iters 1 --json")
                      .out);
  const Json& run = answer.at("run");
  // The run took 3.5 months and about 1.1 million GPU-hours with its interruptions.
  CHECK(run.at("days").get<double>() > 90);
  CHECK(run.at("days").get<double>() < 140);
  CHECK(run.at("gpu_hours").get<double>() ==
        doctest::Approx(run.at("days").get<double>() * 24 * 384));
  CHECK(run.at("evaluation_s").get<double>() > 0);
  const Json& checkpoints = answer.at("checkpoints");
  CHECK(checkpoints.at("save_s").get<double>() ==
        doctest::Approx(checkpoints.at("size_bytes").get<double>() / 40e9));
  CHECK(checkpoints.at("interval_s") == checkpoints.at("daly_interval_s"));
  CHECK(checkpoints.at("lost_share").get<double>() < 0.05);
}

TEST_CASE("with slow nodes, a whole run is told with their iterations") {
  const Json usual = Json::parse(asked("--tokens 1e9 --json").out);
  const std::string slow = "--tokens 1e9 --slow-node 7:0.5";
  const Json answer = Json::parse(asked(slow + " --json").out);
  const Json& run = answer.at("run");
  CHECK(run.at("sec_per_iter") == answer.at("what_if_sec_per_iter").at("mean"));
  CHECK(run.at("training_s").get<double>() ==
        doctest::Approx(run.at("sec_per_iter").get<double>() * run.at("iterations").get<double>()));
  CHECK(usual.at("run").at("sec_per_iter") == usual.at("sec_per_iter"));
  CHECK(asked(slow).out.find("each of them, what if  203.68 s\n") != std::string::npos);
  CHECK(asked("--tokens 1e9").out.find("what if") == std::string::npos);
}

TEST_CASE("nothing about a whole run is told unless it is asked for") {
  const Json answer = Json::parse(asked("--json").out);
  for (const char* part : {"ramp", "run", "checkpoints"}) CHECK_FALSE(answer.contains(part));
}

TEST_CASE("with half of the nodes the job fits on, at twice the time") {
  const Json whole = Json::parse(asked("--json").out);
  const Json half = Json::parse(asked("--nodes 24 --dp 4 --json").out);
  CHECK(half.at("memory").at("fits") == true);
  CHECK(half.at("memory").at("peak_gib") > whole.at("memory").at("peak_gib"));
  const double ratio =
      half.at("sec_per_iter").get<double>() / whole.at("sec_per_iter").get<double>();
  CHECK(ratio > 1.8);
  CHECK(ratio < 2.1);
}

TEST_CASE("questions about a whole run that cannot be read are refused") {
  CHECK(refused("--gbs-ramp 16:2048") ==
        "prequel: --gbs-ramp 16:2048: expected FIRST:LAST:INCREMENT, such as 16:2048:16\n");
  CHECK(refused("--gbs-ramp 16:2048:0") ==
        "prequel: --gbs-ramp 16:2048:0: expected FIRST:LAST:INCREMENT, such as 16:2048:16\n");
  CHECK(refused("--gbs-ramp 16:2048:33") ==
        "prequel: --gbs-ramp 16:2048:33: from FIRST to LAST must be a whole number of increments, "
        "at most 65536\n");
  CHECK(refused("--checkpoint-bandwidth fast") ==
        "prequel: --checkpoint-bandwidth fast: expected a positive amount such as \"40 GB/s\"\n");
  CHECK(refused("--checkpoint-bandwidth 40") ==
        "prequel: --checkpoint-bandwidth 40: expected a positive amount such as \"40 GB/s\"\n");
  CHECK(refused("--tokens 1e300").find("--tokens 1e+300: over 1e+12 iterations") !=
        std::string::npos);
  CHECK(refused("--checkpoint-bandwidth 1GB/s --mtbf never") ==
        "prequel: --mtbf never: expected a positive amount such as 5d\n");
  CHECK(refused("--gbs-ramp 16:1024:16 --gbs 2048") ==
        "prequel: --gbs-ramp: ends at 1024, but the global batch size is 2048; an end there would "
        "do, or gbs 1024\n");
  CHECK(refused("--mtbf 5d").find("--checkpoint-bandwidth") != std::string::npos);
}

}  // namespace
}  // namespace prequel
