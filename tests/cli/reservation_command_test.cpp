#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

ProgramResult reserved(const std::string& arguments) {
  return run_prequel("predict bloom-176b-jean-zay --tokens 100e9 --replications 200 " + arguments);
}

Json reservation(const std::string& arguments) {
  return Json::parse(reserved(arguments + " --json").out).at("reservation");
}

TEST_CASE("a reservation is answered in days, tokens, stops, shares, money and energy") {
  const Json told = reservation("--reservation 30d --spares 2 --price 2.10");
  for (const char* key : {"days", "tokens_by_end", "stops", "ettr", "goodput_tokens_per_sec",
                          "utilisation", "cost", "kwh"}) {
    const Json& band = told.at(key);
    CHECK_MESSAGE(band.size() == 3, key);
    CHECK_MESSAGE(band[0].get<double>() <= band[1].get<double>(), key);
    CHECK_MESSAGE(band[1].get<double>() <= band[2].get<double>(), key);
  }
  CHECK(told.at("class") == "mature");
  // The whole reservation is paid, spares included.
  CHECK(told.at("cost")[1].get<double>() == doctest::Approx(2.10 * 50 * 8 * 30 * 24));
  CHECK(told.at("completes_probability").get<double>() <= 1);
  CHECK(told.at("best_interval_s").get<double>() > 0);
  CHECK(told.at("spares_for_99").get<int>() > 0);
  CHECK(told.at("utilisation")[1] < told.at("ettr")[1]);
  CHECK(told.at("curve").at("tokens").size() == told.at("curve").at("days").size());
}

TEST_CASE("hours lost and hours of steps that count are all there are") {
  const Json told =
      reservation("--reservation 300d --spares 6 --set cluster.reliability.rate_sigma=0");
  double lost = 0;
  for (const auto& [cause, hours] : told.at("lost_hours").items()) {
    if (cause != "fail_slow") lost += hours.get<double>();  // slow steps count
  }
  const double days = told.at("days")[1].get<double>();
  CHECK(lost / 24 ==
        doctest::Approx((1 - told.at("mean_ettr").get<double>()) * days).epsilon(0.15));
}

TEST_CASE("the same seed prints the same, another one something else") {
  const std::string asked = "--reservation 30d --seed 3 --json";
  CHECK(reserved(asked).out == reserved(asked).out);
  CHECK(reservation("--reservation 30d --seed 3") != reservation("--reservation 30d --seed 4"));
}

TEST_CASE("a new site, stops by hand and no spares take longer") {
  const auto days = [](const std::string& arguments) {
    return reservation("--reservation 90d " + arguments).at("days")[1].get<double>();
  };
  const double mature = days("--spares 4");
  CHECK(days("--spares 4 --maturity new") > mature);
  CHECK(days("--spares 0") > mature);
  CHECK(days("--spares 4 --saving async") < mature);  // the stack of 2022 stands still
  CHECK(days("--spares 4 --walltime 20h --queue 2h") > mature);
  CHECK(days("--spares 0 --without-spare shrink") < days("--spares 0"));
}

TEST_CASE("where no spares are said, a pool of the site helps and is not paid") {
  const Json told = reservation("--reservation 30d --price 1");
  CHECK(told.at("spares") == 0);
  CHECK(told.at("pool") == true);
  CHECK(told.at("cost")[1].get<double>() == doctest::Approx(48 * 8 * 30 * 24));
  CHECK(told.at("days")[1] < reservation("--reservation 30d --spares 0").at("days")[1]);
}

TEST_CASE("a site's own figures go first, and the old flags take the place of rates") {
  const Json own = reservation(
      "--reservation 30d --set cluster.reliability.node_failures=9 --set "
      "cluster.reliability.rate_sigma=0");
  CHECK(own.at("own_figures") == true);
  CHECK(own.at("mtbf_s").get<double>() == doctest::Approx(86400 / (9e-3 * 48 + 0.15)));
  const std::string same =
      "--mtbf 1d --checkpoint-bandwidth 40GB/s --restart 10m --saving sync --spares 40 --set "
      "cluster.reliability.restart_sigma=0 --set cluster.reliability.fail_slow=0 --set "
      "cluster.reliability.planned_stops=0 --set cluster.reliability.silent_corruption=0 --set "
      "cluster.storage.sync_overhead=0 --set cluster.storage.read_factor=1 --json";
  const Json answer = Json::parse(reserved(same).out);
  CHECK(answer.at("reservation").at("mean_ettr").get<double>() ==
        doctest::Approx(1 - answer.at("checkpoints").at("lost_share").get<double>()).epsilon(0.01));
}

TEST_CASE("nodes draw what MLPerf's power logs say, and 57 minutes take as many kWh") {
  // 64 nodes of 8 H100 (v4.0, GPT-3 175B in fp8): 6,848 W a node, 415.2 kWh in 56.9 min.
  const Json told =
      Json::parse(
          run_prequel(
              "predict --model gpt3-175b --cluster mlperf-h100 --software mlperf-v4.0 --nodes 64 "
              "--tp 4 --pp 8 --vpp 12 --precision fp8 --gbs 2048 --seq-len 2048 --mbs 2 --zero 1 "
              "--tokens 1.33e9 --reservation 2h --pue 1 --json")
              .out)
          .at("reservation");
  const double watts = told.at("watts_per_node").at("step").get<double>();
  CHECK(watts == doctest::Approx(6848).epsilon(0.05));
  CHECK(64 * watts * 56.9 / 60 / 1000 == doctest::Approx(415.2).epsilon(0.05));
  CHECK(told.at("kwh")[1].get<double>() == doctest::Approx(415.2).epsilon(0.05));
}

TEST_CASE("without a reservation nothing about it is told, and old answers stay") {
  const Json answer =
      Json::parse(run_prequel("predict bloom-176b-jean-zay --tokens 100e9 --mtbf 5d "
                              "--checkpoint-bandwidth 40GB/s --json")
                      .out);
  CHECK_FALSE(answer.contains("reservation"));
  CHECK(answer.at("checkpoints").at("lost_share").get<double>() < 0.05);
}

TEST_CASE("the text says what is assumed, where hours go and what would help") {
  const std::string text = reserved("--reservation 30d --spares 2 --price 2.10").out;
  for (const char* part :
       {"Reservation of 50 nodes, 2 of them spare, for 30.0 days\n", "days to 1e+11 tokens",
        "class mature: 4.5 node failures", "Hours lost", "What would help", "one more spare",
        "saving beside training", "in time with a probability of", "utilisation"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, part, "\n", text);
  }
}

TEST_CASE("tokens a second that count are told over numbers of nodes") {
  const Json rows = reservation("--over-nodes 12,24,25,48").at("over_nodes");
  CHECK(rows.size() == 4);
  CHECK(rows[2].contains("refused"));
  CHECK(rows[3].at("effective_tokens_per_sec")[1].get<double>() >
        rows[0].at("effective_tokens_per_sec")[1].get<double>());
}

TEST_CASE("questions about a reservation that cannot be are refused") {
  const auto refused = [](const std::string& arguments) {
    const ProgramResult result = run_prequel("predict bloom-176b-jean-zay " + arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(refused("--reservation 30d").find("--tokens") != std::string::npos);
  CHECK(refused("--tokens 1e9 --reservation never").find("such as 30d") != std::string::npos);
  CHECK(refused("--tokens 1e9 --maturity old").find("--maturity: unknown class of site \"old\"") !=
        std::string::npos);
  CHECK(refused("--tokens 1e9 --saving later").find("sync") != std::string::npos);
  CHECK(refused("--tokens 1e9 --reservation 1d --walltime 1m").find("a day would do") !=
        std::string::npos);
  CHECK(refused("--tokens 1e9 --reservation 1d --set cluster.reliability.node_failure=3")
            .find("node_failures") != std::string::npos);
}

}  // namespace
}  // namespace prequel
