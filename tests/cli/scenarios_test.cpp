// Decisions that the team of a 176B model on 48 nodes of 8 A100 took after measuring
// (data/runs/bigscience-jz-a100.csv), asked of the program before.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

const std::string kBloomRuns = "--model bloom-176b --cluster jean-zay-a100 --gbs 2048 ";
const std::string kTable = "--cluster jean-zay-a100 --gbs 2048 --tp 8 ";

Json answered(const std::string& command) {
  const ProgramResult result = run_prequel(command + " --json");
  CAPTURE(result.err);
  CHECK(result.status == 0);
  return Json::parse(result.out);
}

/// The answer to a table of plans, given as text.
Json ranked(const std::string& table, const std::string& arguments) {
  const TemporaryFolder folder;
  return answered("search --plans " + folder.with("plans.csv", table) + " " + arguments);
}

bool warns(const Json& prediction, const std::string& text) {
  return std::ranges::any_of(prediction.at("warnings"), [&](const Json& warning) {
    return warning.get<std::string>().find(text) != std::string::npos;
  });
}

int whole(const Json& object, const char* key) {
  return object.at(key).get<int>();
}

double seconds(const Json& answer) {
  return answer.at("sec_per_iter").get<double>();
}

TEST_CASE("S1: 52 nodes with 4 in reserve, and what if only 18 are left") {
  const Json full = answered("search " + kBloomRuns + "--nodes 52 --reserve 4");
  CHECK(full.at("plans")[0].at("plan").at("nodes") == 48);
  const Json rest = answered("search " + kBloomRuns + "--nodes 18");
  CHECK(rest.at("plans")[0].at("plan").at("nodes") == 18);
  CHECK(seconds(rest.at("plans")[0]) > seconds(full.at("plans")[0]));
}

TEST_CASE("S3: more stages than blocks, or a stage without one, are refused with what would do") {
  const ProgramResult search = run_prequel(
      "search " + kBloomRuns + "--nodes 48 --tp 4 --pp 96 --mbs 1 --zero 1 --recompute full");
  CHECK(search.status == 1);
  CHECK(search.out.find("No plan is legal. The nearest:") != std::string::npos);
  CHECK(search.out.find("pp 96: more pipeline stages than the model's 70 layers; at most pp 70 "
                        "does, or at least 96") != std::string::npos);
  const ProgramResult predict = run_prequel("predict " + kBloomRuns + "--nodes 48 --tp 4 --pp 96");
  CHECK(predict.status == 2);
  CHECK(predict.err ==
        "prequel: plan: pp 96: more pipeline stages than the model's 70 layers; at most pp 70 "
        "does, or at least 96 layers\n");
  const ProgramResult empty = run_prequel("predict " + kBloomRuns +
                                          "--nodes 48 --tp 8 --pp 48 "
                                          "--set model.num_hidden_layers=52");
  CHECK(empty.status == 2);
  CHECK(empty.err ==
        "prequel: plan: layers 52: dealt 2 to each of 48 pipeline stages, stage 26 is left "
        "without a layer; 48 or 96 layers would do\n");
}

TEST_CASE("S5: 48 nodes are the faster, 40 the more efficient: ranked by seconds an iteration") {
  const Json answer = ranked("nodes,layers,dp,pp\n40,80,4,10\n48,78,8,6\n",
                             kTable + "--model bigscience-200b --mbs 1");
  REQUIRE(answer.at("plans").size() == 2);
  const Json& first = answer.at("plans")[0];
  const Json& second = answer.at("plans")[1];
  CHECK(first.at("plan").at("nodes") == 48);
  CHECK(seconds(first) == doctest::Approx(183.64).epsilon(0.04));
  CHECK(seconds(second) == doctest::Approx(221.21).epsilon(0.04));
  CHECK(first.at("tflops_per_gpu").at("model") < second.at("tflops_per_gpu").at("model"));
}

TEST_CASE("S6: of nine measured topologies exactly four keep to the batch ramp-up") {
  const std::string table =
      "layers,dp,pp,gbs\n80,12,4,2040\n80,9,5,2043\n78,8,6,2048\n77,6,7,2046\n80,6,8,2046\n"
      "81,5,9,2045\n80,4,10,2048\n77,4,11,2048\n72,4,12,2048\n";
  const std::string stack = kTable + "--model bigscience-200b --mbs 1 ";
  const Json all = ranked(table, stack);
  CHECK(all.at("considered") == 9);
  CHECK(all.at("legal") == 9);
  const Json ramp = ranked(table, stack + "--require 'dp%4==0' --require 'gbs%32==0'");
  CHECK(ramp.at("required") == 4);
  std::set<std::array<int, 3>> left;
  for (const Json& found : ramp.at("plans")) {
    const Json& plan = found.at("plan");
    left.insert({whole(plan, "dp"), whole(plan, "pp"), whole(found.at("model_shape"), "layers")});
  }
  CHECK(left == std::set<std::array<int, 3>>{{8, 6, 78}, {4, 10, 80}, {4, 11, 77}, {4, 12, 72}});
}

TEST_CASE("S8: 96 heads of size 150 are named as the reason for which 13824 x 64 is the faster") {
  const std::string stack = kTable + "--model bigscience-200b --nodes 40 --pp 10 --mbs 1 ";
  const Json answer = ranked("layers,hidden,heads\n80,14400,96\n80,13824,64\n", stack);
  REQUIRE(answer.at("plans").size() == 2);
  CHECK(answer.at("plans")[0].at("model_shape").at("hidden") == 13824);
  CHECK(seconds(answer.at("plans")[0]) == doctest::Approx(160.29).epsilon(0.04));
  CHECK(seconds(answer.at("plans")[1]) == doctest::Approx(221.21).epsilon(0.04));
  CHECK(warns(answered("predict " + stack),
              "head size 150 (96 heads) is not a multiple of 8: the attention products leave the "
              "tensor cores; 72 heads (size 200) or 120 heads (size 120) would be aligned"));
}

TEST_CASE("S9: pp 6 x dp 8 or pp 12 x dp 4: the order, and a tie within the model's error") {
  const Json answer = ranked("dp,pp\n8,6\n4,12\n", kTable + "--model bigscience-181b --mbs 4");
  REQUIRE(answer.at("plans").size() == 2);
  CHECK(answer.at("plans")[0].at("plan").at("pp") == 6);
  CHECK(answer.at("plans")[1].at("tie_with_best") == true);
}

TEST_CASE("S10: of five numbers of heads 64 is among the best, 256 clearly slower") {
  const Json answer = answered("search " + kTable +
                               "--model bigscience-181b --nodes 48 --pp 6 --mbs 4 --zero 1 "
                               "--recompute full --heads 16,32,64,128,256");
  REQUIRE(answer.at("plans").size() == 5);
  for (const Json& plan : answer.at("plans")) {
    const int heads = whole(plan.at("model_shape"), "heads");
    const bool among_the_best = plan.at("rank") == 1 || plan.at("tie_with_best") == true;
    if (heads == 64) CHECK(among_the_best);
    if (heads == 256) {
      CHECK_FALSE(among_the_best);
      CHECK(plan.at("rank") == 5);
    }
  }
}

TEST_CASE("S11: 78 layers on 12 stages are eleven of 7 and one of 1, those of 7 set the speed") {
  const Json answer = answered("predict " + kTable +
                               "--model bigscience-181b --nodes 48 --pp 12 "
                               "--set model.num_hidden_layers=78");
  CHECK(warns(answer,
              "78 layers on pp 12: 11 stages of 7 layers and the last of 1; the speed is that of "
              "7"));
  const Json& stages = answer.at("memory").at("stages");
  REQUIRE(stages.size() == 12);
  CHECK(whole(stages[0], "layers") == 7);
  CHECK(whole(stages[11], "layers") == 1);
  const auto busy = [&](std::size_t stage) { return stages[stage].at("busy_s").get<double>(); };
  CHECK(busy(11) < 0.5 * busy(10));
  CHECK(seconds(answer) > busy(10));
  CHECK(seconds(answer) < 1.15 * busy(10));
}

/// The largest of a figure over the stages against its mean.
template <class Figure>
double imbalance(const Json& prediction, const Figure& figure) {
  double most = 0, sum = 0;
  const Json& stages = prediction.at("memory").at("stages");
  for (const Json& stage : stages) {
    most = std::max(most, figure(stage));
    sum += figure(stage);
  }
  return most * static_cast<double>(stages.size()) / sum;
}

TEST_CASE("S12: with a heavy embedding 70 layers on 12 stages balance better than 72") {
  const std::string job = "predict " + kTable + "--model bigscience-181b --nodes 48 --pp 12 ";
  const Json before = answered(job);
  CHECK(warns(before,
              "the embedding weighs as much as 1.5 layers, on the first stage and the last: 70 or "
              "82 layers with stage_split embedding-as-layer would balance pp 12"));
  const Json after =
      answered(job + "--set model.num_hidden_layers=70 --set plan.stage_split=embedding-as-layer");
  CHECK_FALSE(warns(after, "the embedding weighs"));
  const auto time = [](const Json& stage) {
    return stage.at("forward_s").get<double>() + stage.at("backward_s").get<double>();
  };
  const auto weights = [](const Json& stage) { return stage.at("weights_gib").get<double>(); };
  CHECK(imbalance(before, time) > 1.1);
  CHECK(imbalance(after, time) < 1.03);
  CHECK(imbalance(before, weights) > 1.15);
  CHECK(imbalance(after, weights) < 1.1);
}

}  // namespace
}  // namespace prequel
