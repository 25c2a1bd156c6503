#include <doctest/doctest.h>

#include <set>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

const std::string kBloomShapes =
    "search --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048 ";

TEST_CASE("shapes are searched at a constant number of parameters, and the answer says which") {
  const ProgramResult result = run_prequel(
      kBloomShapes + "--layers 60:84 --hidden 13312,13824,14336 --tp 4,8 --top 1000 --json");
  CHECK(result.status == 0);
  const Json answer = Json::parse(result.out);
  CHECK(answer.at("shapes").at("combinations") == 75);
  CHECK(answer.at("shapes").at("tolerance") == 0.05);
  const double parameters = answer.at("shapes").at("parameters").get<double>();
  CHECK(parameters == 176247271424);  // as bloom-176b has
  std::set<std::int64_t> widths;
  for (const Json& plan : answer.at("plans")) {
    const Json& shape = plan.at("model_shape");
    CHECK(shape.at("parameters").get<double>() == doctest::Approx(parameters).epsilon(0.05));
    CHECK(shape.at("hidden").get<int>() == 128 * shape.at("heads").get<int>());
    widths.insert(shape.at("hidden").get<std::int64_t>());
  }
  CHECK(widths == std::set<std::int64_t>{13312, 13824, 14336});
}

TEST_CASE("layers, hidden and heads are columns where they are free, and names in --require") {
  const ProgramResult result =
      run_prequel(kBloomShapes + "--layers 68:72 --tp 8 --pp 12 --require 'layers % pp == 0'");
  CHECK(result.status == 0);
  CHECK(result.out.find("5 of 5 shapes searched: those of 176.2e9 parameters, give or take 5 %") !=
        std::string::npos);
  CHECK(result.out.find("in all rows: layers 72, hidden 14336, heads 112, nodes 48, ") !=
        std::string::npos);
  const ProgramResult free = run_prequel(kBloomShapes + "--layers 68:72 --tp 8 --pp 6,12 --risk 0");
  CHECK(free.out.find("  rank  layers  ") != std::string::npos);
}

TEST_CASE("a shape that the model cannot have is illegal, with what would do") {
  const ProgramResult result = run_prequel(kBloomShapes + "--heads 60");
  CHECK(result.status == 1);
  CHECK(result.out.find("No plan is legal. The nearest:\n"
                        "  70 layers of 14336, 60 heads: nodes 48 gbs 2048\n"
                        "    model: heads 60: do not divide an attention that is 14336 wide; 56 "
                        "or 64 would do\n") != std::string::npos);
}

TEST_CASE("a layout that is explained says of which shape its best plan is") {
  const ProgramResult result =
      run_prequel(kBloomShapes + "--layers 69:72 --tp 8 --pp 6,12 --top 1 --explain pp=6");
  CHECK(result.status == 0);
  CHECK(result.out.find(" behind the best\n  69 layers of 14336, 112 heads: 48 nodes, dp 8 tp 8 pp "
                        "6 ") != std::string::npos);
}

TEST_CASE("plans of a table that are not legal are told beside those that are, and why") {
  const TemporaryFolder folder;
  const std::string plans = "search --plans " + folder.with("plans.csv", "dp,pp\n4,11\n8,6\n") +
                            " --model bloom-176b --cluster jean-zay-a100 --gbs 2048 --tp 8 ";
  const ProgramResult text = run_prequel(plans);
  CHECK(text.status == 0);
  const std::string told =
      "warning: 1 of 2 plans: not legal\n  dp 4 tp 8 pp 11 gbs 2048: plan: layers 70: dealt 7";
  CHECK(text.err.starts_with(told));
  CHECK(run_prequel(plans + "--csv").err == text.err);
  CHECK(
      text.out.find("\nNot legal:\n"
                    "  dp 4 tp 8 pp 11 gbs 2048\n"
                    "    plan: layers 70: dealt 7 to each of 11 pipeline stages, stage 10 is left "
                    "without a layer; ") != std::string::npos);
  const Json answer = Json::parse(run_prequel(plans + "--json").out);
  CHECK(answer.at("legal") == 1);
  CHECK(answer.at("plans").size() == 1);
  CHECK(answer.at("refused").size() == 1);
}

TEST_CASE("flags that every row of a table overrules are told, and so are rows that are left out") {
  const TemporaryFolder folder;
  const std::string table = folder.with("plans.csv", "tp,pp,recompute\n8,6,full\n4,12,none\n");
  const ProgramResult result = run_prequel(kBloomShapes + "--plans " + table +
                                           " --tp 2 --set plan.pp=3 --require 'pp > 6' --csv");
  CHECK(result.status == 1);
  CHECK(result.err == "warning: --tp 2: every row of " + table +
                          " says its own tp\nwarning: --set plan.pp=3: every row of " + table +
                          " says its own pp\nwarning: 1 of 2 plans: legal, but not what is "
                          "required\nwarning: 1 of 2 plans: out of memory\n");
  for (const std::string flag : {"--max-nodes 4", "--reserve 1", "--everything"}) {
    CAPTURE(flag);
    const ProgramResult refused =
        run_prequel("search --model bloom-176b --cluster jean-zay-a100 --gbs 2048 --plans " +
                    table + " " + flag);
    CHECK(refused.status == 2);
    CHECK(refused.err == "prequel: " + flag.substr(0, flag.find(' ')) +
                             " excludes --plans\nprequel --help shows how to call it\n");
  }
}

TEST_CASE("shapes that miss the number of parameters are named, and how far they miss it") {
  const auto refusal = [](const std::string& arguments) {
    const ProgramResult result = run_prequel(kBloomShapes + arguments);
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(refusal("--layers 60") ==
        "prequel: none of 1 shapes has 176.2e9 parameters, give or take 5 %; 60 layers of 14336 "
        "come nearest with 151.6e9: other --layers or --hidden, --parameters or a larger "
        "--parameters-tolerance would do\n");
  CHECK(refusal("--parameters 1e9") ==
        "prequel: --parameters: needs --layers, --hidden or --heads\n");
  CHECK(refusal("--parameters-tolerance 0.1") ==
        "prequel: --parameters-tolerance: needs --layers, --hidden or --heads\n");
  CHECK(refusal("--layers 1:2000 --heads 1:2000") ==
        "prequel: --layers, --hidden, --heads: 4000000 shapes; at most 10000 would do\n");
}

TEST_CASE("a table of plans has a shape a row, what it leaves out is said once for all") {
  const TemporaryFolder folder;
  const std::string table =
      folder.with("plans.csv", "layers,hidden,heads,pp\n84,13824,64,12\n,14336,112,6\n,,,12\n");
  const std::string plans = "search --plans " + table +
                            " --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048 "
                            "--tp 8 --mbs 2 --recompute full ";
  const ProgramResult result = run_prequel(plans + "--layers 72 --heads 56 --csv");
  CHECK(result.err.empty());
  CHECK(result.status == 0);
  CHECK(result.out.find(",84,13824,64,48,") != std::string::npos);
  CHECK(result.out.find(",72,14336,112,48,") != std::string::npos);
  CHECK(result.out.find(",72,14336,56,48,") != std::string::npos);
  CHECK(run_prequel(plans + "--layers 70,72").err ==
        "prequel: --layers 70,72: with --plans one value is needed, for rows that leave it out\n");
  CHECK(run_prequel(plans + "--layers 70 --parameters 1e9").err ==
        "prequel: --parameters excludes --plans\nprequel --help shows how to call it\n");
}

}  // namespace
}  // namespace prequel
