#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

const std::string kSearch =
    "search --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048 --risk 0 --top 1 ";

/// The text below the table, from the question on.
std::string explained(const std::string& layout) {
  const ProgramResult result = run_prequel(kSearch + "--explain " + layout);
  CHECK(result.status == 0);
  return result.out.substr(std::min(result.out.find("Why not "), result.out.size()));
}

TEST_CASE("--explain says that a layout is the best, or illegal and by which rule") {
  CHECK(explained("tp=8,pp=12") ==
        "Why not tp=8,pp=12: it is the best\n"
        "  48 nodes, dp 4 tp 8 pp 12 mbs 1 zero 1 recompute none\n");
  CHECK(explained("tp=1,pp=8") ==
        "Why not tp=1,pp=8: illegal\n"
        "  nodes 48 tp 1 pp 8 mbs 1 gbs 2048\n"
        "    plan: gbs 2048: not a multiple of dp 48 x mbs 1 = 48; 2016 or 2064 would do\n");
}

TEST_CASE("--explain says how much memory is missing, and on which stage") {
  const std::string text = explained("tp=4,pp=12,recompute=none");
  CHECK(
      text.starts_with("Why not tp=4,pp=12,recompute=none: out of memory\n"
                       "  48 nodes, dp 8 tp 4 pp 12 mbs 1 zero 1 recompute none\n"));
  CHECK(text.find(" GiB on stage 0 of 12, ") != std::string::npos);
  CHECK(text.find(" GiB more than the 80.0 GiB that there are\n") != std::string::npos);
}

TEST_CASE("--explain says where a plan loses time to the best, the parts add up") {
  const ProgramResult result =
      run_prequel(kSearch + "--json --explain tp=4,pp=12 --explain tp=3 --explain recompute=none");
  CHECK(result.status == 0);
  const Json answer = Json::parse(result.out);
  REQUIRE(answer.at("explanations").size() == 3);
  const Json& slower = answer.at("explanations")[0];
  CHECK(slower.at("verdict") == "ranked");
  CHECK(slower.at("rank") > 1);
  CHECK(slower.at("of") == answer.at("fitting"));
  double lost = 0;
  for (const auto& part : slower.at("difference_s").items()) lost += part.value().get<double>();
  const double best = answer.at("plans")[0].at("sec_per_iter");
  CHECK(lost == doctest::Approx(slower.at("sec_per_iter").get<double>() - best));
  CHECK(slower.at("behind_best").get<double>() == doctest::Approx(lost / best));
  CHECK(answer.at("explanations")[1].at("verdict") == "illegal");
  CHECK(answer.at("explanations")[2].at("rank") == 1);
  const std::string text = explained("tp=4,pp=12");
  CHECK(text.find("    s              it  the best  difference\n") != std::string::npos);
  CHECK(text.find("    recompute   19.15      0.00      +19.15\n") != std::string::npos);
}

TEST_CASE("--explain without any plan found still answers") {
  const ProgramResult result = run_prequel(
      "search --model bloom-176b --cluster jean-zay-a100 --nodes 2 --gbs 2048 --tp 8 --explain "
      "tp=8,pp=2");
  CHECK(result.status == 1);
  CHECK(result.out.find("Why not tp=8,pp=2: out of memory\n") != std::string::npos);
}

TEST_CASE("--explain refuses what is no layout") {
  const auto refusal = [](const std::string& layout) {
    const ProgramResult result = run_prequel(kSearch + "--explain " + layout);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(refusal("tpp=8") ==
        "prequel: --explain: /tpp: unknown key; did you mean \"tp\"? (from tpp=8)\n");
  CHECK(refusal("tp=8,pp=x") ==
        "prequel: --explain: /pp: expected a whole number from 1 to 8192, got \"x\" (from pp=x)\n");
  CHECK(refusal("tp") == "prequel: --explain tp: expected axes with values, such as tp=8,pp=12\n");
  CHECK(refusal("tp=8,tp=4") == "prequel: --explain tp=8,tp=4: tp is said twice\n");
  CHECK(refusal("schedule=1f1c") ==
        "prequel: --explain: /schedule: expected \"gpipe\", \"1f1b\", \"interleaved-1f1b\", "
        "\"zb-h1\", \"zb-h2\", \"dualpipe\", \"dualpipe-v\", \"zb-v\", \"v-half\", \"v-min\" or "
        "\"zb-2p\", "
        "got \"1f1c\" "
        "(did you mean \"1f1b\"?) (from schedule=1f1c)\n");
}

}  // namespace
}  // namespace prequel
