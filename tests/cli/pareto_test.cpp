#include <doctest/doctest.h>

#include <set>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

const std::string kParetoSearch =
    "search --model bloom-176b --cluster jean-zay-a100 --nodes 24,36,48 --gbs 2048 --risk 0 "
    "--unfold ";

struct Cost {
  double seconds{}, memory{};
  int nodes{};

  [[nodiscard]] bool no_more_than(const Cost& other) const {
    return seconds <= other.seconds && memory <= other.memory && nodes <= other.nodes;
  }
};

Cost cost_of(const Json& plan) {
  return {plan.at("sec_per_iter"), plan.at("memory").at("peak_gib"), plan.at("plan").at("nodes")};
}

TEST_CASE("the Pareto front is of all plans, though only the best are listed") {
  const Json all = Json::parse(run_prequel(kParetoSearch + "--top 100000 --json").out);
  const Json few = Json::parse(run_prequel(kParetoSearch + "--top 1 --json").out);
  REQUIRE(few.at("plans").size() == 1);
  CHECK(few.at("pareto") == all.at("pareto"));
  std::set<int> front;
  for (const Json& plan : few.at("pareto")) front.insert(plan.at("rank").get<int>());
  CHECK(front.contains(1));
  CHECK(front.size() > 5);
  for (const Json& plan : all.at("plans")) {
    bool beaten = false;
    for (const Json& other : all.at("plans")) {
      if (other.at("rank") == plan.at("rank")) continue;
      const bool equal = cost_of(plan).no_more_than(cost_of(other));
      beaten |= cost_of(other).no_more_than(cost_of(plan)) &&
                (!equal || other.at("rank") < plan.at("rank"));
    }
    CAPTURE(plan.at("rank").get<int>());
    CHECK(front.contains(plan.at("rank").get<int>()) == !beaten);
  }
}

TEST_CASE("--pareto shows it below the best") {
  const std::string text = run_prequel(kParetoSearch + "--pareto --top 1").out;
  CHECK(text.find(" plans that no other beats in time, memory and nodes at once\n"
                  "  in all rows: vpp 1, gbs 2048, sequence parallel off, schedule 1f1b\n\n"
                  "  rank  nodes  dp  tp  pp  mbs  zero  recompute  sec/it   GiB\n"
                  "  1        48   4   8  12    1     1       none   97.90  75.8\n") !=
        std::string::npos);
}

}  // namespace
}  // namespace prequel
