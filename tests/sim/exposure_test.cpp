#include "sim/answer/exposure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/engine/contention.hpp"
#include "sim/price/pricing.hpp"
#include "sim/step/step.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

Scenario on_h100(const char* model, std::vector<Override> plan) {
  JobRequest request;
  request.model = model;
  request.cluster = "dgx-h100";
  request.software = "megatron-core-2026";
  request.overrides = std::move(plan);
  request.overrides.push_back({"plan.seq_len", "4096"});
  return resolve(read_job(shipped_library(), request)).scenario;
}

std::string why(const Scenario& scenario, std::string_view part) {
  const auto all = exposures(scenario, predict(scenario));
  const auto found = std::ranges::find(all, part, &Exposure::part);
  return found == all.end() ? "" : found->why;
}

TEST_CASE("experts' exchange is hidden or exposed, and no second of it is lost") {
  Scenario scenario = on_h100("qwen3-30b-a3b", {{"plan.nodes", "2"},
                                                {"plan.ep", "16"},
                                                {"plan.dispatcher", "alltoall"},
                                                {"plan.gbs", "512"}});
  const Prediction inside = predict(scenario);
  CHECK(inside.hidden.ep_comm == 0);
  CHECK(why(scenario, "ep_comm") ==
        "inside the passes; overlap ep would run it beside another micro batch");
  scenario.plan.overlap.add(Overlapped::ep);
  const Prediction beside = predict(scenario);
  CHECK(beside.hidden.ep_comm > 0);
  CHECK(beside.hidden.ep_comm + beside.breakdown.ep_comm ==
        doctest::Approx(inside.breakdown.ep_comm).epsilon(1e-9));
  CHECK(why(scenario, "ep_comm").find("of the rest, what takes longer than the other") !=
        std::string::npos);
  scenario.plan.overlap.add(Overlapped::ep);
  scenario.plan.schedule = Schedule::gpipe;
  CHECK(why(scenario, "ep_comm") ==
        "inside the passes: schedule gpipe runs no forward beside a backward");
}

TEST_CASE("what overlap hides of tensor-parallel communication is what it saves") {
  Scenario scenario = on_h100("llama-3-70b", {{"plan.nodes", "4"},
                                              {"plan.tp", "8"},
                                              {"plan.pp", "4"},
                                              {"plan.gbs", "64"},
                                              {"plan.sequence_parallel", "true"}});
  scenario.plan.overlap = {};
  scenario.software.kernels.transformer_engine = false;
  scenario.software.communication.exposed_tensor = 0.25;
  scenario.software.communication.exposed_tensor_fixed = {};
  const Prediction exposed = predict(scenario);
  CHECK(exposed.hidden.tp_comm == 0);
  CHECK(why(scenario, "tp_comm") ==
        "between the products that need it; overlap tp would run it beside them");
  scenario.plan.overlap.add(Overlapped::tp);
  const Prediction beside = predict(scenario);
  CHECK(beside.breakdown.tp_comm + beside.hidden.tp_comm ==
        doctest::Approx(exposed.breakdown.tp_comm).epsilon(1e-9));
  CHECK(why(scenario, "tp_comm") ==
        "both lose 25 % of the time beside products; and what takes longer than products beside "
        "it");
  // Where links are fast, products last longer than all that runs beside them.
  scenario.cluster = with_device_links(scenario.cluster, 4.0);
  const auto backward = [&] { return price_layers(scenario)[Part::first_block].backward; };
  const PassCost alone = backward();
  CHECK(alone.hidden_tp_comm == doctest::Approx(3 * alone.tp_comm).epsilon(1e-9));
  // Repeats of half of the layers are hidden in these alone.
  scenario.plan.recompute = Recompute::full;
  scenario.plan.recomputed = 0.5;
  const PassCost half = backward();
  CHECK(half.hidden_tp_comm > alone.hidden_tp_comm);
  CHECK(half.hidden_tp_comm == doctest::Approx(3 * half.tp_comm).epsilon(1e-9));
}

TEST_CASE("a fixed loss takes as much from what each collective hides, until nothing is hidden") {
  Scenario scenario = on_h100("llama-3-70b", {{"plan.nodes", "1"},
                                              {"plan.tp", "4"},
                                              {"plan.gbs", "8"},
                                              {"plan.sequence_parallel", "true"}});
  scenario.plan.overlap = {};
  scenario.plan.overlap.add(Overlapped::tp);
  scenario.software.communication.exposed_tensor = 0.25;
  const auto forward = [&](double fixed) {
    scenario.software.communication.exposed_tensor_fixed = Seconds{fixed};
    return price_layers(scenario)[Part::first_block].forward;
  };
  const PassCost none = forward(0), some = forward(1e-5), all = forward(1.0);
  constexpr double kCollectives = 4;  // of a layer: gather and sum of attention, and of the MLP
  CHECK(some.tp_comm - none.tp_comm == doctest::Approx(kCollectives * 1e-5).epsilon(1e-6));
  CHECK(all.hidden_tp_comm == 0);
  CHECK(all.tp_comm == doctest::Approx(none.tp_comm + none.hidden_tp_comm).epsilon(1e-9));
}

double kernel_seconds(const KernelCosts& kernels) {
  double all = 0;
  for (const KernelCost& kernel : kernels) all += kernel.seconds;
  return all;
}

/// Seconds of a pass as the engine plays it with contention: kernels on one stream, transfers on
/// another. `alone` has whole transfers; those that `beside` hides start with their product.
double played(const Operators& operators, const KernelCosts& alone, const KernelCosts& beside,
              double loss) {
  std::vector<double> durations, losses{loss};
  std::ranges::transform(alone, std::back_inserter(durations), &KernelCost::seconds);
  const auto product_of = [&](std::size_t transfer) {  // a gather's follows, a sum's went before
    const auto& collective = std::get<GroupCollective>(operators[transfer].what);
    const bool follows = collective.op == CollectiveOp::all_gather && !collective.beside_dgrad;
    std::size_t at = transfer;
    do at = (at + (follows ? 1 : alone.size() - 1)) % alone.size();
    while (alone[at].kind != WorkKind::product ||
           (collective.beside_dgrad && alone[at].weight_gradient));
    return at;
  };
  std::map<std::size_t, std::vector<std::size_t>> transfers;  // by product
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (beside[i].hidden > 0) transfers[product_of(i)].push_back(i);
  }
  GraphBuilder builder(2);
  const auto task = [](std::size_t i) { return static_cast<PriceId>(i); };
  GraphBuilder::Token kernels, sent;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (beside[i].hidden > 0) continue;
    const GraphBuilder::Token before = kernels, sent_before = sent;
    kernels = builder.run(0, task(i), {}, sent_before);
    for (const std::size_t transfer : transfers[i]) {
      sent = builder.run(1, task(transfer), {}, before, sent_before);
    }
  }
  const std::vector<StreamPlace> places{{0, StreamUse::computes}, {0, StreamUse::communicates}};
  Machine machine;
  machine.streams = places;
  machine.overlap_loss = losses;
  return run_contended(builder.build(), durations, machine).end();
}

TEST_CASE("transfers beside products of a layer take as long as the engine plays them") {
  Scenario scenario = on_h100("llama-3-70b", {{"plan.nodes", "4"},
                                              {"plan.tp", "8"},
                                              {"plan.pp", "4"},
                                              {"plan.gbs", "64"},
                                              {"plan.sequence_parallel", "true"}});
  scenario.software.kernels.transformer_engine = false;
  scenario.plan.overlap.add(Overlapped::tp);
  const auto priced = [&] {
    return price_kernels(layer_question(scenario.plan, scenario.cluster),
                         scenario)[Part::first_block];
  };
  const LayerSetting setting = layer_question(scenario.plan, scenario.cluster).mean();
  const Layer layer = tell_part(Part::first_block, scenario.model, setting, scenario.software);
  scenario.software.communication.exposed_tensor_fixed = {};
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    const double loss = std::uniform_real_distribution(0.0, 0.99)(random);
    const double links = std::exp2(std::uniform_real_distribution(-6.0, 3.0)(random));
    CAPTURE(loss);
    CAPTURE(links);
    const Cluster fast = scenario.cluster;
    scenario.cluster = with_device_links(fast, links);
    scenario.software.communication.exposed_tensor = 1;
    const PartKernels alone = priced();
    scenario.software.communication.exposed_tensor = loss;
    const PartKernels beside = priced();
    const auto check = [&](const Operators& operators, const KernelCosts& apart,
                           const KernelCosts& together) {
      CHECK(kernel_seconds(together) < kernel_seconds(apart));
      CHECK(played(operators, apart, together, loss) ==
            doctest::Approx(kernel_seconds(together)).epsilon(1e-9));
    };
    check(forward_operators(layer, scenario.software), alone.forward, beside.forward);
    check(backward_operators(layer, scenario.software), alone.backward, beside.backward);
    scenario.cluster = fast;
  }
}

TEST_CASE("no kernel hides two transfers at once") {
  Scenario scenario = on_h100("deepseek-v2-lite", {{"plan.nodes", "2"},
                                                   {"plan.tp", "4"},
                                                   {"plan.ep", "8"},
                                                   {"plan.dispatcher", "alltoall"},
                                                   {"plan.gbs", "64"},
                                                   {"plan.sequence_parallel", "true"},
                                                   {"plan.overlap", "tp,shared-experts"}});
  scenario.software.communication.exposed_tensor = 0.01;
  for (const double rate : {1.0, 0.1, 0.001}) {
    CAPTURE(rate);
    Scenario slower = scenario;
    slower.cluster = with_device_links(scenario.cluster, rate);
    each_part([&](Part part) {
      const PartCost cost = price_layers(slower)[part];
      for (const PassCost& pass : {cost.forward, cost.backward}) {
        const double kernels = pass.compute + pass.recompute - pass.stream;
        CHECK(pass.hidden_tp_comm + pass.hidden_ep_comm <= kernels * (1 + 1e-9));
      }
    });
  }
}

TEST_CASE("where the host decides, both ends of its launches are told") {
  Scenario scenario = on_h100(
      "qwen3-30b-a3b",
      {{"plan.nodes", "2"}, {"plan.ep", "16"}, {"plan.precision", "fp8"}, {"plan.gbs", "256"}});
  REQUIRE(scenario.software.host.launch_range);
  const auto told = [&] {
    const auto warnings = predict(scenario).warnings;
    const auto found = std::ranges::find_if(warnings, [](const std::string& warning) {
      return warning.starts_with("the host decides: ");
    });
    return found == warnings.end() ? "" : *found;
  };
  const std::string said = told();
  for (const Seconds launch :
       {scenario.software.host.launch_range->tuned, scenario.software.host.launch_range->untuned}) {
    Scenario end = scenario;
    end.software.host.one_launch = launch;
    const auto seconds = fmt::format("{:.4g} s", iteration_time(end, price_layers(end)).value);
    CHECK(said.find(seconds) != std::string::npos);
  }
  scenario.software.host.launch_range.reset();
  CHECK(told().find(" if it kept ahead (software.host.launch_s)") != std::string::npos);
  scenario.plan.cuda_graphs = WordSet<GraphedModule>{GraphedModule::full};
  CHECK(told().empty());
}

TEST_CASE("little that is exposed needs no reason") {
  const Scenario scenario =
      on_h100("llama-3-8b", {{"plan.nodes", "1"}, {"plan.gbs", "1024"}, {"plan.zero", "1"}});
  const Prediction prediction = predict(scenario);
  REQUIRE(prediction.breakdown.dp_comm < 0.01 * prediction.sec_per_iter.value);
  CHECK(exposures(scenario, prediction).empty());
}

}  // namespace
}  // namespace prequel
