#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/text/table.hpp"

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

Json decided(const std::string& arguments) {
  const ProgramResult result = run_prequel("search " + arguments + " --json");
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  return Json::parse(result.out);
}

const std::string kSmall = "--model gpt-7.5b --gbs 512 --seq-len 2048 --pp 1,2,4 --mbs 1,2,4 ";

TEST_CASE("a deadline is met by every plan, with the fewest GPUs and the least cost told") {
  const std::string arguments =
      kSmall + "--cluster selene --max-nodes 16 --tokens 2e11 --within 30d --price 2 --top 40";
  const Json answer = decided(arguments);
  REQUIRE(answer.at("plans").size() > 3);
  for (const Json& plan : answer.at("plans")) {
    CHECK(plan.at("days") <= 30.0);
    const double gpus = plan.at("plan").at("gpus");
    CHECK(plan.at("days").get<double>() * 24 * gpus ==
          doctest::Approx(plan.at("gpu_hours").get<double>()));
    CHECK(plan.at("energy_mwh").get<double>() ==
          doctest::Approx(400e-6 * plan.at("gpu_hours").get<double>()));
  }
  const Json& within = answer.at("within");
  const Json cheapest = decided(kSmall +
                                "--cluster selene --max-nodes 16 --tokens 2e11 --within 30d "
                                "--price 2 --objective cost --top 1")
                            .at("plans")[0];
  CHECK(within.at("cheapest").at("cost") == cheapest.at("cost"));
  const Json fewest =
      decided(kSmall + "--cluster selene --max-nodes 16 --tokens 2e11 --within 30d --fewest-gpus")
          .at("plans")[0];
  CHECK(within.at("fewest_gpus").at("plan") == fewest.at("plan"));
  // One node less is not in time.
  const std::int64_t nodes = fewest.at("plan").at("nodes");
  REQUIRE(nodes > 1);
  const ProgramResult less =
      run_prequel("search " + kSmall + "--cluster selene --tokens 2e11 --within 30d --max-nodes " +
                  std::to_string(nodes - 1));
  CHECK(less.status == 1);
  CHECK(less.out.find("is in time") != std::string::npos);
  CHECK(less.out.find("without --within") != std::string::npos);
  // The plan to take is in time with the stated error to spare, on the fewest GPUs that are.
  const Json& sure = within.at("surely_in_time");
  const double error = answer.at("error").at("sec_per_iter");
  CHECK(sure.at("days").get<double>() * (1 + error) <= 30.0);
  CHECK(sure.at("gpus") >= within.at("fewest_gpus").at("gpus"));
  for (const Json& plan : answer.at("plans")) {
    if (plan.at("plan").at("gpus") >= sure.at("gpus")) continue;
    CHECK(plan.at("days").get<double>() * (1 + error) > 30.0);
  }
  const Json& what = answer.at("recommendation");
  CHECK(what.at("plan") == sure.at("plan"));
  CHECK(what.at("text").get<std::string>().starts_with(
      "Take " + std::to_string(sure.at("gpus").get<int>()) + " GPUs, "));
}

TEST_CASE("a ranking alone has the same plans, without odds, front and bottlenecks") {
  const std::string arguments = kSmall + "--cluster selene --max-nodes 4 --top 3 ";
  const Json whole = decided(arguments);
  const Json alone = decided(arguments + "--try 0");
  REQUIRE(alone.at("plans").size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& plan = alone.at("plans")[i];
    CHECK(plan.at("plan") == whole.at("plans")[i].at("plan"));
    CHECK(plan.at("fits_probability") == whole.at("plans")[i].at("fits_probability"));
    CHECK_FALSE(plan.contains("odds_best"));
    CHECK_FALSE(plan.contains("next_bottleneck"));
  }
  CHECK(alone.at("try").at("ranks").empty());
  CHECK(alone.at("pareto").empty());
  CHECK(alone.at("fitting") == whole.at("fitting"));
}

TEST_CASE("the fewest GPUs are the same whether few nodes are looked at first or all") {
  const std::string arguments = kSmall + "--cluster selene --max-nodes 16 --fewest-gpus --top 5";
  const Json all = decided(arguments);
  const std::string text = run_prequel("search " + arguments).out;  // looks at few first
  for (const Json& plan : all.at("plans")) {
    const std::string seconds = fmt::format(" {:.2f} ", plan.at("sec_per_iter").get<double>());
    CAPTURE(seconds);
    CHECK(text.find(seconds) != std::string::npos);
  }
}

TEST_CASE("the fewest GPUs come first, the fastest plan of them before the others") {
  const Json plans =
      decided(kSmall + "--cluster selene --max-nodes 4 --fewest-gpus --top 20").at("plans");
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const auto key = [](const Json& plan) {
      return std::pair(plan.at("plan").at("gpus").get<int>(),
                       plan.at("sec_per_iter").get<double>());
    };
    CHECK(key(plans[i - 1]) <= key(plans[i]));
  }
}

TEST_CASE("with a risk only plans are told that fit with that probability") {
  const std::string arguments = "--model bloom-176b --cluster jean-zay-a100 --gbs 2048 --nodes 48 ";
  const Json all = decided(arguments + "--risk 0 --unfold --top 10");
  const Json safe = decided(arguments + "--risk 0.9 --unfold --top 10");
  for (const Json& plan : safe.at("plans")) CHECK(plan.at("fits_probability") >= 0.9);
  // The first plan of all that is safe is the first of the safe ones.
  for (const Json& plan : all.at("plans")) {
    if (plan.at("fits_probability") < 0.9) continue;
    CHECK(plan.at("plan") == safe.at("plans")[0].at("plan"));
    break;
  }
  CHECK(run_prequel("search " + arguments + "--risk 1.5").status == 2);
}

const std::string kLlamaSearch =
    "--model llama-3-70b --cluster dgx-h100 --nodes 16 --gbs 512 --seq-len 8192 ";

TEST_CASE("plans that surely fit are ranked, one of each family, and what risk gains is told") {
  const Json answer = decided(kLlamaSearch);
  const Json all = decided(kLlamaSearch + "--risk 0 --unfold --top 30");
  std::set<int> families;
  for (const Json& plan : answer.at("plans")) {
    CHECK(plan.at("fits_probability") >= 0.95);
    CHECK(families.insert(plan.at("family").get<int>()).second);
  }
  const Json& risky = answer.at("risky");
  CHECK(risky.at("plan") == all.at("plans")[0].at("plan"));
  CHECK(risky.at("fits_probability") < 0.95);
  const double best = answer.at("plans")[0].at("sec_per_iter");
  CHECK(risky.at("gain").get<double>() ==
        doctest::Approx(1 - all.at("plans")[0].at("sec_per_iter").get<double>() / best));
  // No plan of the first rows of all is as fast and as sure.
  for (const Json& plan : all.at("plans")) {
    if (plan.at("sec_per_iter") < best) CHECK(plan.at("fits_probability") < 0.95);
  }
}

TEST_CASE("a search ends with what to take, what if memory runs out, and what to measure") {
  const Json answer = decided(kLlamaSearch);
  const Json& what = answer.at("recommendation");
  const Json& plans = answer.at("plans");
  CHECK(what.at("plan") == plans[0].at("plan"));
  const auto fallback = std::find_if(plans.begin(), plans.end(), [&](const Json& plan) {
    return plan.at("plan") == what.at("fallback");
  });
  REQUIRE(fallback != plans.end());
  CHECK(fallback->at("memory").at("peak_gib") < plans[0].at("memory").at("peak_gib"));
  for (const Json& rank : what.at("measure")) CHECK(rank <= plans.size());
  CHECK(what.at("text").get<std::string>().starts_with("Take rank 1, 16 nodes"));
}

TEST_CASE("columns that are the same in all rows stand above the table, which fits the terminal") {
  const std::string text = run_prequel("search " + kLlamaSearch).out;
  CHECK(text.find("  in all rows: nodes 16, ") != std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 120);
  CHECK(text.find("\nTake rank 1, 16 nodes") != std::string::npos);
  CHECK(text.find("riskier: ") != std::string::npos);
}

TEST_CASE("another kind of plan has a row where it is within reach") {
  std::set<std::tuple<bool, int, int>> kinds;
  const Json answer = decided(kLlamaSearch);
  for (const Json& plan : answer.at("plans")) {
    const Json& its = plan.at("plan");
    kinds.insert({its.at("zero") == 3, its.at("tp").get<int>(), its.at("pp").get<int>()});
  }
  CHECK(kinds.size() > 1);
}

TEST_CASE("several clusters are searched at once, each at its price") {
  const Json answer = decided(kSmall +
                              "--cluster selene,dgx-a100 --max-nodes 4 --tokens 1e11 --price-of "
                              "selene=2 --price-of dgx-a100=1.5 --objective cost --top 6");
  REQUIRE(answer.at("clusters").size() == 2);
  std::int64_t fitting = 0;
  for (const Json& cluster : answer.at("clusters")) fitting += cluster.at("fitting").get<int>();
  CHECK(answer.at("fitting") == fitting);
  double before = 0;
  for (const Json& plan : answer.at("plans")) {
    CHECK(plan.at("cost") >= before);
    before = plan.at("cost");
    const double price = plan.at("cluster") == "selene" ? 2 : 1.5;
    CHECK(before == doctest::Approx(price * plan.at("gpu_hours").get<double>()));
  }
  const ProgramResult text =
      run_prequel("search " + kSmall + "--cluster selene,dgx-a100 --max-nodes 2");
  CHECK(text.status == 0);
  CHECK(text.out.find("gpt-7.5b on 2 clusters") != std::string::npos);
}

TEST_CASE("prices, times and clusters that say nothing are refused") {
  const auto refusal = [](const std::string& arguments) {
    const ProgramResult result = run_prequel("search " + kSmall + arguments);
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(refusal("--cluster selene,,dgx-a100").find("a name between two commas is missing") !=
        std::string::npos);
  CHECK(refusal("--cluster selene,dgx-a100 --tokens 1e9 --price-of other=2")
            .find("--price-of other is none of them") != std::string::npos);
  CHECK(refusal("--cluster selene --tokens 1e9 --price-of dgx-a100=2")
            .find("the cluster is selene") != std::string::npos);
  CHECK(refusal("--cluster selene --tokens 1e9 --within 30").find("such as 30d, 12h or 90m") !=
        std::string::npos);
  CHECK(refusal("--cluster selene --tokens 1e9 --price-of selene")
            .find("expected a cluster and a number above 0") != std::string::npos);
  CHECK(refusal("--cluster selene,dgx-a100 --pareto").find("speak of one cluster") !=
        std::string::npos);
}

TEST_CASE("values asked for that no plan takes are named, with the rule in their way") {
  const ProgramResult result = run_prequel(
      "search --model gpt-18b --cluster selene --gbs 256 --nodes 8 --tp 1,2,3 --pp 4 --mbs 1");
  CHECK(result.status == 0);
  CHECK(result.err.find("warning: --tp 3: no legal plan has it") != std::string::npos);
  CHECK(result.err.find("--tp 2") == std::string::npos);
}

TEST_CASE("a tensor group that a model's heads cannot have is told with what would do") {
  const std::string asked = "--model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 ";
  CHECK(
      decided(asked + "--seq-len 4096 --tp 5,8").at("warnings")[0] ==
      "--tp 5: no legal plan has it; plan: tp 5: heads 32 is not a multiple of it; tp 4 would do");
  const ProgramResult none = run_prequel("search " + asked + "--seq-len 4096 --tp 3");
  CHECK(none.status == 1);
  CHECK(none.out.find("No plan is legal. The nearest:\n  tp 3 gbs 64\n    plan: tp 3: heads 32 is "
                      "not a multiple of it; tp 2 would do\n") != std::string::npos);
}

TEST_CASE("one recipe goes with those of several precisions that it is of") {
  const Json answer = decided(
      "--model llama-3-8b --cluster dgx-b200 --nodes 1 --gbs 64 --seq-len 4096 --precision "
      "bf16,fp8 --fp8-recipe mxfp8");
  CHECK(answer.at("warnings")[0] ==
        "--precision bf16: no legal plan has it; plan: fp8_recipe mxfp8: precision is bf16; fp8 "
        "would do");
  for (const Json& plan : answer.at("plans")) CHECK(plan.at("plan").at("fp8_recipe") == "mxfp8");
}

TEST_CASE("what a search is asked in vain is told, as it is of one plan") {
  const std::string asked =
      "--model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --seq-len 4096 ";
  const auto warnings = [&](const std::string& more) {
    return decided(asked + more).at("warnings");
  };
  CHECK(warnings("").empty());
  CHECK(warnings("--dispatcher deepep") ==
        Json::array({"dispatcher deepep: no effect without experts"}));
  CHECK(warnings("--router-balance natural") ==
        Json::array({"router_balance natural: no effect without experts"}));
  CHECK(warnings("--set cluster.network.transport=tcp") ==
        Json::array({"cluster.network.transport=tcp: changes nothing in this search"}));
  CHECK(warnings("--set device.clock_ghz=1.2").empty());
  CHECK(warnings("--set device.clock_ghz=1.2 --set cluster.network.transport=tcp").size() == 1);
}

TEST_CASE("where several clusters have no plan, each says what came nearest") {
  const ProgramResult none = run_prequel(
      "search --model llama-3-405b --cluster dgx-h100,dgx-a100 --nodes 2 --gbs 64 --seq-len 4096");
  CHECK(none.status == 1);
  for (const char* cluster : {"dgx-h100", "dgx-a100"}) {
    const std::size_t at = none.out.find(std::string("\n") + cluster + ": None of ");
    REQUIRE(at != std::string::npos);
    CHECK(none.out.find("The nearest:\n", at) != std::string::npos);
    CHECK(none.out.find("  --nodes ", at) != std::string::npos);
  }
  CHECK(none.out.find("rank") == std::string::npos);
}

TEST_CASE("plans of several clusters say whether they fit") {
  const std::string text = run_prequel(
                               "search --model llama-3-8b --cluster dgx-h100,dgx-a100 --nodes 2 "
                               "--gbs 64 --seq-len 4096 --top 4")
                               .out;
  CHECK(text.find("MFU %   GiB") != std::string::npos);
  CHECK(text.find("fits") != std::string::npos);
}

TEST_CASE("where nothing is in time, it is said how long the training would take") {
  const ProgramResult none = run_prequel(
      "search --model llama-3-8b --cluster dgx-h100 --nodes 2 --gbs 64 --seq-len 4096 --tokens "
      "1e12 --within 5d");
  CHECK(none.status == 1);
  CHECK(none.out.find(" plans that fit is in time, within 5 days.\n") != std::string::npos);
  const std::size_t without = none.out.find("  without --within: ");
  REQUIRE(without != std::string::npos);
  CHECK(none.out.substr(without, none.out.find('\n', without) - without).ends_with(" days"));
}

TEST_CASE("tokens that short samples compute are counted against the time, not whole rows") {
  const std::string asked =
      "search --model llama-3-8b --cluster dgx-h100 --software hf-trainer-fsdp-2025 --nodes 1 "
      "--gbs 64 --seq-len 2048 --lengths alpaca-en --pp 1 --tokens 1e10 --within ";
  CHECK(run_prequel(asked + "30h").status == 1);  // whole rows would take a third of it
  const ProgramResult enough = run_prequel(asked + "60h --json");
  REQUIRE(enough.status == 0);
  const Json best = Json::parse(enough.out).at("plans").at(0);
  CHECK(best.at("gpu_hours") <= 60.0 * 8);
}

TEST_CASE("a search takes its own table back as plans, and finds the same again") {
  const TemporaryFolder folder;
  const std::string asked =
      "search --model deepseek-v2-lite --cluster nvidia-dgx-h100 --csv --top 8 ";
  const std::string found =
      run_prequel(asked + "--nodes 2 --gbs 128 --seq-len 4096 --tokens 1e11 --price 2").out;
  const ProgramResult again =
      run_prequel(asked + "--tokens 1e11 --price 2 --plans " + folder.with("plans.csv", found));
  CHECK(again.status == 0);
  CHECK(again.out == found);
  CHECK(again.err.find("answers are found again, those of the table are not read: rank, gpus, "
                       "sec_per_iter, tokens_per_sec_per_gpu, mfu, mem_gib, verdict, gpu_hours, "
                       "cost\n") != std::string::npos);
}

TEST_CASE("a value that is listed twice is searched once") {
  const auto considered = [](const std::string& axes) {
    return decided("--model llama-3-8b --cluster dgx-h100 --nodes 1 --gbs 64 --seq-len 4096 " +
                   axes)
        .at("considered");
  };
  CHECK(considered("--tp 2,2 --sequence-parallel on,on --recompute none,none --overlap tp/tp") ==
        considered("--tp 2 --sequence-parallel on --recompute none --overlap tp"));
}

TEST_CASE("a switch says what rows of a table of plans leave out") {
  const TemporaryFolder folder;
  const std::string asked =
      "--model llama-3-8b --cluster dgx-h100 --gbs 128 --seq-len 4096 --plans " +
      folder.with("plans.csv", "nodes,tp,pp\n1,2,2\n");
  const auto splits = [&](const std::string& flag) {
    return decided(asked + flag).at("plans")[0].at("plan").at("sequence_parallel");
  };
  CHECK(splits(" --sequence-parallel on") == true);
  CHECK(splits(" --sequence-parallel off") == false);
}

TEST_CASE("utilisation says of which peak it is, where plans differ in precision") {
  const std::string text =
      run_prequel(
          "search --model qwen3-30b-a3b --cluster dgx-h100 --nodes 4 --gbs 512 "
          "--seq-len 4096 --precision bf16,fp8 --top 40")
          .out;
  CHECK(text.find("MFU of a peak of ") != std::string::npos);
  CHECK(text.find("989 TFLOP/s (bf16)") != std::string::npos);
  CHECK(text.find("1979 TFLOP/s (fp8)") != std::string::npos);
}

TEST_CASE("chunks that are asked for bring their schedule, as in a single plan") {
  const std::string plan =
      "--model gpt-39b --cluster dgx-a100 --nodes 8 --gbs 128 --tp 2 --pp 2 --vpp 2 --mbs 1 "
      "--recompute full ";
  const Json one = Json::parse(run_prequel("predict " + plan + "--json").out);
  CHECK(one.at("plan").at("schedule") == "interleaved-1f1b");
  const Json best = decided(plan).at("plans")[0];
  CHECK(best.at("plan").at("schedule") == "interleaved-1f1b");
  CHECK(best.at("sec_per_iter").get<double>() <= one.at("sec_per_iter").get<double>());
}

TEST_CASE("tensor groups of several nodes are searched where nothing else fits") {
  const ProgramResult fugaku =
      run_prequel("search --model gpt-30b --cluster fugaku --nodes 384 --gbs 96 --json");
  CHECK(fugaku.status == 0);
  CHECK(Json::parse(fugaku.out).at("plans")[0].at("plan").at("tp") >= 4);
}

TEST_CASE("what would deal 126 layers to 64 chunks is named") {
  const ProgramResult result = run_prequel(
      "search --model llama-3-405b --cluster dgx-h100 --software megatron-core-2024 --nodes 128 "
      "--gbs 1024 --tp 8 --pp 8 --vpp 8");
  CHECK(result.status == 1);
  CHECK(result.out.find("--stage-split embedding-as-layer") != std::string::npos);
  CHECK(result.out.find("--layout auto") != std::string::npos);
}

TEST_CASE("a model with experts is searched over the axes of experts by default") {
  const Json answer = decided(
      "--model qwen3-30b-a3b --cluster nvidia-dgx-h100 --nodes 2 --gbs 256 --seq-len 4096 --top 3");
  const Json& plan = answer.at("plans")[0].at("plan");
  CHECK(plan.at("ep") > 1);
  CHECK(answer.at("plans")[0].contains("detailed_sec_per_iter"));
}

}  // namespace
}  // namespace prequel
