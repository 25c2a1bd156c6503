#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

/// A published run: what is asked, the member that tells it, and what was published.
struct PublishedRun {
  const char* name;
  const char* asked;
  const char* member;
  double published;
};

// data/reservations: nothing is fitted to them; a class of site and the prediction of the step.
constexpr PublishedRun kRuns[] = {
    {"BLOOM, days",
     "bloom-176b-jean-zay --tp 4 --pp 12 --dp 8 --mbs 2 --tokens 366e9 --checkpoint-interval 3h",
     "days", 117.5},
    {"Llama 3.1 405B, days",
     "--model llama-3.1-405b --cluster dgx-h100 --set cluster.nodes=2100 --nodes 2048 --tp 8 --pp "
     "16 "
     "--vpp 8 --gbs 2048 --seq-len 8192 --mbs 1 --tokens 15.6e12",
     "days", 78.4},
    {"Llama 3 405B, stops in 54 days",
     "--model llama-3.1-405b --cluster dgx-h100 --set cluster.nodes=2100 --nodes 2048 --tp 8 --pp "
     "16 "
     "--vpp 8 --gbs 2048 --seq-len 8192 --mbs 1 --tokens 15.6e12 --reservation 54d",
     "stops", 466},
    {"DeepSeek-V3, days",
     "--model deepseek-v3 --cluster deepseek-h800 --software hai-llm-2024 --nodes 256 --tp 1 --pp "
     "16 "
     "--ep 64 --schedule dualpipe --precision fp8 --gbs 15360 --seq-len 4096 --mbs 1 --recompute "
     "selective --tokens 14.8e12",
     "days", 54.2},
    {"OPT-175B, days",
     "--model opt-175b --cluster meta-a100-80gb --nodes 124 --tp 8 --gbs 992 --seq-len 2048 --mbs "
     "8 --tokens 300e9 --spares 4 --maturity new --checkpoint-interval 2.5h --saving sync",
     "days", 57},
    {"SmolLM3, days",
     "--model smollm3-3b --cluster mosaic-h100 --nodes 48 --tp 2 --gbs 576 --seq-len 4096 --mbs 3 "
     "--software nanotron-2025 --tokens 11.2e12",
     "days", 24},
    {"HLAT, restarts by hand, ETTR",
     "--model llama-2-70b --cluster dgx-a100 --set cluster.nodes=300 --nodes 256 --tp 8 --pp 4 "
     "--gbs "
     "1024 --seq-len 4096 --mbs 1 --tokens 1e12 --maturity new",
     "ettr", 0.778},
    {"HLAT, automatic restarts, ETTR",
     "--model llama-2-70b --cluster dgx-a100 --set cluster.nodes=300 --nodes 256 --tp 8 --pp 4 "
     "--gbs "
     "1024 --seq-len 4096 --mbs 1 --tokens 1e12 --maturity mature",
     "ettr", 0.988},
    {"MLPerf GPT-3 on 64 nodes, kWh",
     "--model gpt3-175b --cluster mlperf-h100 --software mlperf-v4.0 --nodes 64 --tp 4 --pp 8 "
     "--vpp 12 "
     "--precision fp8 --gbs 2048 --seq-len 2048 --mbs 2 --zero 1 --tokens 1.33e9 --pue 1",
     "kwh", 415.2},
};

TEST_CASE("published runs lie in the 80 % bands of their class of site") {
  int inside = 0;
  for (const PublishedRun& run : kRuns) {
    const ProgramResult result =
        run_prequel(std::string("predict ") + run.asked + " --replications 400 --json");
    REQUIRE_MESSAGE(result.status <= 1, run.name, result.err);
    const Json band = Json::parse(result.out).at("reservation").at(run.member);
    const bool is_inside =
        band[0].get<double>() <= run.published && run.published <= band[2].get<double>();
    MESSAGE(run.name << ": " << run.published << " in " << band.dump());
    inside += is_inside ? 1 : 0;
  }
  CHECK(inside >= 8);
}

}  // namespace
}  // namespace prequel
