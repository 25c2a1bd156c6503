#include <doctest/doctest.h>

#include <array>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

const std::string kBloom = "--model bloom-176b --cluster jean-zay-a100 --gbs 2048 ";

Json searched(const std::string& arguments) {
  const ProgramResult result = run_prequel("search " + arguments + " --json");
  CAPTURE(result.err);
  CHECK(result.status == 0);
  return Json::parse(result.out);
}

TEST_CASE("the answer has the counts, and the plans with rank, time, memory and utilisation") {
  const Json answer = searched(kBloom + "--nodes 48 --top 5");
  CHECK(answer.at("schema") == "prequel/search/1");
  CHECK(answer.at("considered") >= answer.at("legal"));
  CHECK(answer.at("legal") >= answer.at("fitting"));
  CHECK(answer.at("seconds").is_number());
  REQUIRE(answer.at("plans").size() == 5);
  double before = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const Json& plan = answer.at("plans")[i];
    CHECK(plan.at("rank") == i + 1);
    CHECK(plan.at("sec_per_iter") >= before);
    before = plan.at("sec_per_iter");
    CHECK(plan.at("memory").at("peak_gib") <= plan.at("memory").at("capacity_gib"));
    CHECK(plan.at("plan").at("gpus") == 384);
    double sum = 0;
    for (const auto& part : plan.at("breakdown_s").items()) sum += part.value().get<double>();
    CHECK(sum == doctest::Approx(before));
  }
}

TEST_CASE("S1: 52 nodes with 4 in reserve, and what if only 18 are left") {
  const Json full = searched(kBloom + "--nodes 52 --reserve 4");
  CHECK(full.at("plans")[0].at("plan").at("nodes") == 48);
  const Json rest = searched("--model bloom-176b --cluster jean-zay-a100 --gbs 2016 --nodes 18");
  CHECK(rest.at("plans")[0].at("plan").at("nodes") == 18);
  CHECK(rest.at("plans")[0].at("sec_per_iter") > full.at("plans")[0].at("sec_per_iter"));
}

TEST_CASE("S3: more stages than blocks leave no legal plan, and the answer says what would do") {
  const ProgramResult result = run_prequel(
      "search " + kBloom + "--nodes 48 --tp 4 --pp 96 --mbs 1 --zero 1 --recompute full");
  CHECK(result.status == 1);
  CHECK(result.out.find("No plan is legal. The nearest:") != std::string::npos);
  CHECK(result.out.find("pp 96") != std::string::npos);
  CHECK(result.out.find("more pipeline stages than the model's 70 layers; at most pp 70 does") !=
        std::string::npos);
}

TEST_CASE("S5: ranked by seconds an iteration, though 40 nodes are the more efficient") {
  const std::string plans =
      "--model bigscience-194b --cluster jean-zay-a100 --tp 8 --pp 10 --mbs 1 --gbs 2048 "
      "--nodes 40,80 --set cluster.nodes=80 --set model.num_hidden_layers=80 --zero 1 "
      "--recompute full";
  const Json answer = searched(plans);
  REQUIRE(answer.at("plans").size() == 2);
  CHECK(answer.at("plans")[0].at("plan").at("nodes") == 80);
  CHECK(answer.at("plans")[0].at("mfu") < answer.at("plans")[1].at("mfu"));
}

TEST_CASE("S6: of nine measured topologies exactly four keep to the batch ramp-up") {
  const TemporaryFolder folder;
  const std::string table = folder.with(
      "plans.csv",
      "layers,dp,pp,gbs\n80,12,4,2040\n80,9,5,2043\n78,8,6,2048\n77,6,7,2046\n80,6,8,2046\n"
      "81,5,9,2045\n80,4,10,2048\n77,4,11,2048\n72,4,12,2048\n");
  const std::string plans = "--plans " + table +
                            " --model bigscience-200b --tp 8 --mbs 1 "
                            "--cluster jean-zay-a100 ";
  const Json all = searched(plans + "--require 'tp == 8'");
  CHECK(all.at("considered") == 9);
  CHECK(all.at("legal") == 9);
  const Json ramp = searched(plans + "--require 'dp%4==0' --require 'gbs%32==0'");
  CHECK(ramp.at("required") == 4);
  const auto of = [](const Json& object, const char* key) { return object.at(key).get<int>(); };
  std::set<std::array<int, 3>> left;
  for (const Json& found : ramp.at("plans")) {
    const Json& plan = found.at("plan");
    left.insert({of(plan, "dp"), of(plan, "pp"), of(found.at("model_shape"), "layers")});
  }
  CHECK(left == std::set<std::array<int, 3>>{{8, 6, 78}, {4, 10, 80}, {4, 11, 77}, {4, 12, 72}});
}

TEST_CASE("S9: pp 6 x dp 8 or pp 12 x dp 4: the order, and a tie within the model's error") {
  const TemporaryFolder folder;
  const std::string table = folder.with("plans.csv", "dp,pp\n8,6\n4,12\n");
  const Json answer = searched("--plans " + table +
                               " --model bigscience-181b --cluster jean-zay-a100 --tp 8 --mbs 4 "
                               "--gbs 2048 --set model.num_hidden_layers=72");
  REQUIRE(answer.at("plans").size() == 2);
  CHECK(answer.at("plans")[0].at("plan").at("pp") == 6);
  CHECK(answer.at("plans")[1].at("tie_with_best") == true);
}

TEST_CASE("the same search gives the same answer, but for the seconds") {
  Json first = searched(kBloom + "--nodes 24");
  Json second = searched(kBloom + "--nodes 24");
  first.erase("seconds");
  second.erase("seconds");
  CHECK(first == second);
}

TEST_CASE("with --tokens GPU-hours come out, and the cost with a price") {
  const Json answer = searched(kBloom + "--nodes 48 --top 1 --tokens 366e9 --price 2");
  const Json& plan = answer.at("plans")[0];
  const double tokens_per_hour = 3600 * 384 * plan.at("tokens_per_sec_per_gpu").get<double>();
  CHECK(plan.at("gpu_hours").get<double>() == doctest::Approx(384 * 366e9 / tokens_per_hour));
  CHECK(plan.at("cost").get<double>() == doctest::Approx(2 * plan.at("gpu_hours").get<double>()));
}

TEST_CASE("nothing that fits is the answer no, with the nearest misses") {
  const ProgramResult result = run_prequel("search " + kBloom + "--nodes 2 --tp 8");
  CHECK(result.status == 1);
  CHECK(result.out.find("fits into 80.0 GiB. The nearest:\n") != std::string::npos);
}

TEST_CASE("requirements that nothing meets are named") {
  const ProgramResult result = run_prequel("search " + kBloom + "--nodes 48 --require 'dp > 5000'");
  CHECK(result.status == 1);
  CHECK(result.out.find("meets all of --require 'dp > 5000'. Relax one of them.") !=
        std::string::npos);
}

TEST_CASE("bad lists, requirements and tables are refused") {
  const auto refusal = [](const std::string& arguments) {
    const ProgramResult result = run_prequel("search " + kBloom + arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(refusal("--tp 1,x") ==
        "prequel: --tp 1,x: expected whole numbers such as 1,2,4 or ranges such as 8:64:8\n");
  CHECK(refusal("--mbs 8:2") == "prequel: --mbs 8:2: the range ends before it begins\n");
  CHECK(refusal("--zero 4") == "prequel: --zero 4: 4 is not from 0 to 3\n");
  CHECK(
      refusal("--recompute fll") ==
      "prequel: --recompute fll: unknown value \"fll\" (did you mean \"full\"?); none, selective, "
      "full would do\n");
  CHECK(refusal("--nodes 4 --reserve 4") == "prequel: --reserve 4: leaves none of 4 nodes\n");
  CHECK(refusal("--nodes 48 --require 'pp % 0'") ==
        "prequel: --require \"pp % 0\": divides by zero for some plans; a divisor that is never 0 "
        "would do\n");
  CHECK(refusal("--max-nodes 1000000") ==
        "prequel: --max-nodes 1000000: jean-zay-a100 has 52 nodes; 52 would do\n");
  CHECK(refusal("--nodes 48 --tokens nan") ==
        "prequel: --tokens: \"nan\" is not a number above 0\n"
        "prequel --help shows how to call it\n");
  CHECK(refusal("--objective cost") ==
        "prequel: --objective cost: needs --tokens of the whole training\n");
  const TemporaryFolder folder;
  const std::string table = folder.with("plans.csv", "dp,tpp\n8,6\n");
  CHECK(refusal("--plans " + table).starts_with("prequel: " + table + ": line 2: "));
}

TEST_CASE("without a batch there is nothing to search for") {
  const ProgramResult result =
      run_prequel("search --model bloom-176b --cluster jean-zay-a100 --nodes 48");
  CHECK(result.status == 2);
  CHECK(result.err ==
        "prequel: gbs: missing; the global batch size in sequences is needed (--gbs)\n");
}

TEST_CASE("each of the best plans says which resource holds it up") {
  const ProgramResult result = run_prequel(
      "search --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048 --tp 8 --pp 6,12 "
      "--top 2 --json");
  CHECK(result.status == 0);
  const Json answer = Json::parse(result.out);
  REQUIRE(answer.at("plans").size() == 2);
  for (const Json& plan : answer.at("plans")) {
    CHECK(plan.at("next_bottleneck").at("resource") == "matrix rate");
    const double saved = plan.at("next_bottleneck").at("saved_by_10_percent_more").get<double>();
    CHECK(saved > 0);
    CHECK(saved < 1 - 1 / 1.1);
  }
}

TEST_CASE("a search refuses what-if questions, which predict answers") {
  const ProgramResult result =
      run_prequel("search bloom-176b-jean-zay --set what_if.slow_nodes.7=0.9");
  CHECK(result.status == 2);
  CHECK(result.err ==
        "prequel: bloom-176b-jean-zay: what_if: a search predicts plans on a machine as it should "
        "be; take it out and ask prequel predict about the plan found\n");
}

}  // namespace
}  // namespace prequel
