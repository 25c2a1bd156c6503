#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
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

TEST_CASE("the same search gives the same answer, but for the seconds") {
  Json first = searched(kBloom + "--nodes 24");
  Json second = searched(kBloom + "--nodes 24");
  first.erase("seconds");
  second.erase("seconds");
  CHECK(first == second);
}

TEST_CASE("a plan's odds are the same however many plans are printed") {
  const Json one = searched(kBloom + "--nodes 24 --top 1").at("plans")[0];
  const Json ten = searched(kBloom + "--nodes 24 --top 10").at("plans")[0];
  CHECK(one.at("odds_best") == ten.at("odds_best"));
  CHECK(one.at("expected_loss") == ten.at("expected_loss"));
  CHECK(one.at("odds_best") < 1.0);
}

TEST_CASE("a search says which sequence length it takes where none is said") {
  const std::string asked = "--model llama3.1-8b --cluster dgx-h100 --nodes 1 --gbs 8 --top 1 ";
  CHECK(searched(asked).at("warnings")[0] ==
        "seq_len: not said, the model's max_position_embeddings 131072 is taken");
  CHECK(searched(asked + "--seq-len 4096").at("warnings").empty());
}

TEST_CASE("with --tokens GPU-hours come out, and the cost with a price") {
  const Json answer = searched(kBloom + "--nodes 48 --top 1 --tokens 366e9 --price 2");
  const Json& plan = answer.at("plans")[0];
  const double tokens_per_hour = 3600 * 384 * plan.at("tokens_per_sec_per_gpu").get<double>();
  CHECK(plan.at("gpu_hours").get<double>() == doctest::Approx(384 * 366e9 / tokens_per_hour));
  CHECK(plan.at("cost").get<double>() == doctest::Approx(2 * plan.at("gpu_hours").get<double>()));
}

TEST_CASE("a row says all that predict would take otherwise, also where all rows have it") {
  const std::string asked =
      "--model qwen3-30b-a3b --cluster dgx-h100 --nodes 2 --gbs 256 --seq-len 4096 --top 1";
  const Json plan = searched(asked).at("plans")[0].at("plan");
  const std::string dispatcher = plan.at("dispatcher");
  CHECK(dispatcher != "allgather");
  const std::string text = run_prequel("search " + asked).out;
  CHECK(text.find("dispatcher") != std::string::npos);
  CHECK(text.find(dispatcher) != std::string::npos);
  CHECK(text.find(plan.at("layout").get<std::string>()) != std::string::npos);
}

TEST_CASE("a search states the error of its best plan, which is wider where nobody checked") {
  const std::string asked = "--model llama-3-70b --gbs 256 --seq-len 8192 --nodes 8 --top 1 ";
  const Json unchecked = searched(asked + "--cluster mi300x-node").at("error");
  const Json checked = searched(asked + "--cluster nvidia-dgx-h100").at("error");
  CHECK(unchecked.at("sec_per_iter") > checked.at("sec_per_iter"));
  CHECK(unchecked.at("basis") == "constants of primus-2025 were not checked on mi300x-node");
}

TEST_CASE("what plans are ranked by stands in the table, too") {
  const std::string totals = "--nodes 48 --top 1 --tokens 366e9 ";
  const std::string priced = "search " + kBloom + totals + "--price 2 --objective cost ";
  const Json plan = searched(kBloom + totals + "--price 2 --objective cost").at("plans")[0];
  const double hours = plan.at("gpu_hours").get<double>();
  const std::string csv = run_prequel(priced + "--csv").out;
  CHECK(csv.find(",verdict,gpu_hours,cost\n") != std::string::npos);
  CHECK(csv.ends_with(fmt::format(",{:.6g},{:.6g}\n", hours, 2 * hours)));
  const std::string text = run_prequel(priced).out;
  CHECK(text.find("  GPU-hours     cost  ") != std::string::npos);
  CHECK(text.find(fmt::format("{:.0f}  {:.0f}  ", hours, 2 * hours)) != std::string::npos);
  CHECK(run_prequel("search " + kBloom + totals + "--csv").out.find(",verdict,gpu_hours\n") !=
        std::string::npos);
}

/// Returns the cells of a line.
std::vector<std::string> cells_of(const std::string& line, char between) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, between);) {
    if (!cell.empty() || between == ',') cells.push_back(cell);
  }
  return cells;
}

TEST_CASE("the table and the CSV of plans say what the document's records say") {
  const std::string asked = kBloom + "--nodes 24,48 --top 5 --tokens 366e9 --price 2 ";
  const Json records = searched(asked).at("plans");
  std::istringstream csv(run_prequel("search " + asked + "--csv").out);
  std::string line;
  std::getline(csv, line);
  const std::vector<std::string> header = cells_of(line, ',');
  const std::map<std::string, std::string> elsewhere{{"mem_gib", "/memory/peak_gib"},
                                                     {"verdict", "/memory/verdict"}};
  std::istringstream text(run_prequel("search " + asked).out);
  std::string above;
  while (above.find("sec/it") == std::string::npos) REQUIRE(std::getline(text, above));
  const std::vector<std::string> names = cells_of(above, ' ');
  for (const Json& record : records) {
    REQUIRE(std::getline(csv, line));
    const std::vector<std::string> cells = cells_of(line, ',');
    REQUIRE(cells.size() == header.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      CAPTURE(header[i]);
      const auto other = elsewhere.find(header[i]);
      Json::json_pointer member("/" + header[i]);
      if (other != elsewhere.end()) member = Json::json_pointer(other->second);
      for (const char* inside : {"/plan", "/model_shape"}) {
        if (!record.contains(member)) member = Json::json_pointer(inside + ("/" + header[i]));
        if (!record.contains(member)) member = Json::json_pointer("/" + header[i]);
      }
      REQUIRE(record.contains(member));
      const Json& value = record.at(member);
      if (value.is_number_float()) {
        CHECK(std::stod(cells[i]) == doctest::Approx(value.get<double>()).epsilon(1e-5));
      } else if (value.is_string() || value.is_number()) {
        CHECK(cells[i] == (value.is_string() ? value.get<std::string>() : value.dump()));
      }
    }
    REQUIRE(std::getline(text, line));
    std::vector<std::string> shown = cells_of(line, ' ');
    if (shown[1] == "=") shown.erase(shown.begin() + 1);  // a tie
    const auto cell = [&](const char* name) {
      return shown.at(std::size_t(std::ranges::find(names, name) - names.begin()));
    };
    CHECK(cell("tp") == record.at("plan").at("tp").dump());
    CHECK(cell("sec/it") == fmt::format("{:.2f}", record.at("sec_per_iter").get<double>()));
    CHECK(cell("GPU-hours") == fmt::format("{:.0f}", record.at("gpu_hours").get<double>()));
  }
}

const std::string kSelene = "search --model gpt-18b --cluster selene --gbs 256 ";

TEST_CASE("a value asked for is never replaced by another, even where no plan can have it") {
  const ProgramResult offload = run_prequel(kSelene + "--nodes 8 --offload optimizer");
  CHECK(offload.status == 1);
  CHECK(offload.out.find("plan: offload: needs ZeRO; zero 1 would do\n") != std::string::npos);
  const ProgramResult sharded = run_prequel(kSelene + "--nodes 8 --zero 2 --pp 2");
  CHECK(sharded.status == 1);
  CHECK(sharded.out.find("plan: zero 2: gradients that are sharded do not go with pipeline "
                         "stages; zero 1 does, or pp 1\n") != std::string::npos);
  for (const char* one : {"vpp == 2 --vpp 2", "sequence_parallel --sequence-parallel on",
                          "schedule=='zb-h1' --schedule zb-h1", "zero == 2 --zero 2"}) {
    const std::string asked = one;
    const std::size_t flag = asked.find(" --");
    CAPTURE(asked);
    const auto plans = [&](const std::string& condition) {
      return Json::parse(run_prequel(kSelene + "--nodes 8 --json" + asked.substr(flag) +
                                     " --require \"" + condition + "\"")
                             .out)
          .at("required")
          .get<int>();
    };
    CHECK(plans(asked.substr(0, flag)) > 0);
    CHECK(plans("!(" + asked.substr(0, flag) + ")") == 0);
  }
}

TEST_CASE("conditions that a search would drop are refused") {
  const auto refusal = [](const std::string& arguments) {
    const ProgramResult result = run_prequel(kSelene + arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(refusal("--nodes 8 --set plan.tp=4") ==
        "prequel: --set plan.tp=4: tp is searched; --tp restricts it\n");
  CHECK(refusal("--nodes 8 --set plan.recompute=full") ==
        "prequel: --set plan.recompute=full: recompute is searched; --recompute restricts it\n");
  CHECK(refusal("--nodes 8 --set plan.sequence_parallel=true") ==
        "prequel: --set plan.sequence_parallel=true: sequence_parallel is searched; "
        "--sequence-parallel restricts it\n");
  CHECK(refusal("--set plan.nodes=8 --nodes 4") ==
        "prequel: --set plan.nodes=8: --nodes says it, too; one of them would do\n");
  CHECK(refusal("--set plan.nodes=8 --max-nodes 4") ==
        "prequel: --set plan.nodes=8: --max-nodes says it, too; one of them would do\n");
  CHECK(refusal("--nodes 8 --price 2") ==
        "prequel: --price requires --tokens\nprequel --help shows how to call it\n");
  const ProgramResult plan = run_prequel(kSelene + "--set plan.nodes=8 --recompute-layers 1");
  CHECK(plan.status == 0);
  CHECK(plan.out.find("in all rows: nodes 8, ") != std::string::npos);
}

TEST_CASE("what no plan of a search may be is refused as it is of one plan") {
  const auto refusal = [](const std::string& arguments) {
    const ProgramResult result = run_prequel(arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  for (const char* flag : {"--cp 2", "--ep 2", "--precision fp8", "--seq-len 4096"}) {
    CAPTURE(flag);
    const std::string one =
        refusal("predict --model gpt-18b --cluster selene --gbs 256 -q " + std::string(flag));
    CHECK(refusal(kSelene + "--nodes 8 " + flag) == one);
  }
  CHECK(refusal(kSelene + "--nodes 8,600") ==
        "prequel: --nodes 600: selene has 560 nodes; 560 would do, or --set "
        "cluster.nodes=600 if there are more\n");
  CHECK(refusal(kSelene + "--set plan.nodes=600") ==
        "prequel: plan.nodes 600: selene has 560 nodes; 560 would do, or --set "
        "cluster.nodes=600 if there are more\n");
}

TEST_CASE("nothing that fits is the answer no, with the nearest misses") {
  const ProgramResult result = run_prequel("search " + kBloom + "--nodes 2 --tp 8");
  CHECK(result.status == 1);
  CHECK(result.out.find("fits into 80.0 GiB. The nearest:\n") != std::string::npos);
  CHECK(result.out.find("What to relax, each alone:\n  --nodes 7: 1 plan would fit; 7 nodes, ") !=
        std::string::npos);
}

TEST_CASE("requirements that nothing meets are named") {
  const ProgramResult result = run_prequel("search " + kBloom + "--nodes 48 --require 'dp > 5000'");
  CHECK(result.status == 1);
  CHECK(result.out.find("meets all of --require 'dp > 5000'. Relax one of them.\n"
                        "What to relax, each alone:\n"
                        "  without --require 'dp > 5000': 44 plans would fit; 48 nodes, ") !=
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
        "prequel: --max-nodes 1000000: jean-zay-a100 has 52 nodes; 52 would do, or --set "
        "cluster.nodes=1000000 if there are more\n");
  CHECK(refusal("--nodes 48 --tokens nan") ==
        "prequel: --tokens: \"nan\" is not a number above 0, such as 300B or 15T\n"
        "prequel --help shows how to call it\n");
  CHECK(refusal("--objective cost") ==
        "prequel: --objective cost: needs --tokens of the whole training\n");
  const TemporaryFolder folder;
  const std::string table = folder.with("plans.csv", "dp,tpp\n8,6\n");
  CHECK(refusal("--plans " + table).starts_with("prequel: " + table + ": line 2: "));
}

TEST_CASE("the detailed engine confirms the seconds of the best plans") {
  const ProgramResult text = run_prequel("search " + kBloom + "--nodes 48 --top 12");
  CHECK(text.out.find("  seconds confirmed by the event queue: 10 of 10\n") != std::string::npos);
  CHECK(text.err.empty());
  const Json answer = searched(kBloom + "--nodes 48 --top 12");
  for (std::size_t i = 0; i < 10; ++i) {
    const Json& plan = answer.at("plans")[i];
    CHECK(plan.at("detailed_sec_per_iter").get<double>() ==
          doctest::Approx(plan.at("sec_per_iter").get<double>()).epsilon(1e-9));
  }
  CHECK_FALSE(answer.at("plans")[10].contains("detailed_sec_per_iter"));
}

TEST_CASE("where only the best are printed they are those of the whole ranking") {
  const std::string space = kBloom + "--nodes 48 --everything --top 10 ";
  const ProgramResult few = run_prequel("search " + space + "--csv");
  const Json all = searched(space);
  for (const Json& plan : all.at("plans")) {
    CHECK(few.out.find(fmt::format(",{:.6g},", plan.at("sec_per_iter").get<double>())) !=
          std::string::npos);
  }
  CHECK(std::ranges::count(few.out, '\n') == 11);
}

TEST_CASE("without a batch there is nothing to search for") {
  const ProgramResult result =
      run_prequel("search --model bloom-176b --cluster jean-zay-a100 --nodes 48");
  CHECK(result.status == 2);
  CHECK(result.err ==
        "prequel: gbs: missing; the global batch size is needed, in sequences (512) or tokens "
        "(4M)\n");
}

TEST_CASE("each of the best plans says which resource holds it up") {
  const ProgramResult result = run_prequel(
      "search --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048 --tp 8 --pp 6,12 "
      "--risk 0 --top 2 --json");
  CHECK(result.status == 0);
  const Json answer = Json::parse(result.out);
  REQUIRE(answer.at("plans").size() == 2);
  for (const Json& plan : answer.at("plans")) {
    // More memory lets another plan fit, which may save more than a faster card would.
    const std::string resource = plan.at("next_bottleneck").at("resource");
    CHECK((resource == "matrix rate" || resource == "memory"));
    const double saved = plan.at("next_bottleneck").at("saved_by_10_percent_more").get<double>();
    CHECK(saved > 0);
    if (resource == "matrix rate") CHECK(saved < 1 - 1 / 1.1);
    std::set<std::string> resources;
    for (const Json& gain : plan.at("gains_of_10_percent_more")) {
      resources.insert(gain.at("resource").get<std::string>());
      CHECK(gain.at("saved") <= saved);
    }
    CHECK(resources == std::set<std::string>{"matrix rate", "memory bandwidth",
                                             "links inside a node", "network between nodes",
                                             "host speed", "memory"});
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
