// Facts that hold for every plan: random ones here, from fixed seeds.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "models/layers/operators.hpp"
#include "models/layers/parameters.hpp"
#include "models/plan/rules.hpp"
#include "sim/answer/detailed_time.hpp"
#include "sim/answer/prediction.hpp"
#include "sim/price/pricing.hpp"
#include "sim/step/plan_memory.hpp"
#include "tests/models/shipped.hpp"
#include "tests/random_plans.hpp"

namespace prequel {
namespace {

constexpr const char* kModels[] = {"llama-3-8b", "qwen3-30b-a3b", "deepseek-v2-lite",
                                   "mixtral-8x7b"};

Scenario asked(const std::string& model) {
  JobRequest request;
  request.model = model;
  request.cluster = "nvidia-dgx-h100";
  request.software = "megatron-core-2026";
  const Job job = read_job(shipped_library(), request);
  return {job, {}};
}

/// Calls `check` with `count` legal plans of every model.
template <class Check>
void each_drawn(unsigned seed, std::size_t count, Check&& check) {
  PlanDice dice(seed);
  for (const char* model : kModels) {
    CAPTURE(model);
    Scenario scenario = asked(model);
    const std::vector<Plan> plans =
        drawn_plans(dice, count, scenario.model, scenario.cluster, scenario.software);
    REQUIRE(plans.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(i);
      scenario.plan = plans[i];
      check(scenario);
    }
  }
}

double predicted_seconds(const Scenario& scenario) {
  return predict(scenario).sec_per_iter.value;
}

void check_alike(const Scenario& one, const Scenario& other) {
  const Prediction first = predict(one);
  const Prediction second = predict(other);
  CHECK(first.sec_per_iter.value == doctest::Approx(second.sec_per_iter.value).epsilon(1e-12));
  CHECK(first.peak_memory.value == doctest::Approx(second.peak_memory.value).epsilon(1e-12));
}

TEST_CASE("clock and event queue agree on plans of every kind") {
  each_drawn(1, 12, [](const Scenario& scenario) {
    CHECK(detailed_time(scenario).value ==
          doctest::Approx(predicted_seconds(scenario)).epsilon(1e-9));
  });
}

TEST_CASE("a context of one rank is none, however it would talk") {
  each_drawn(2, 12, [](Scenario scenario) {
    if (scenario.plan.cp > 1) return;
    const Scenario ring = scenario;
    CHECK(predict(ring).breakdown.cp_comm == 0);
    for (const ContextComm comm : all_of<ContextComm>()) {
      scenario.plan.cp_comm = comm;
      check_alike(ring, scenario);
    }
  });
}

TEST_CASE("a layout that spells what the stack deals is what the stack deals") {
  each_drawn(3, 20, [](Scenario scenario) {
    Plan& plan = scenario.plan;
    if (plan.pp * plan.vpp == 1 || plan.stage_split != StageSplit::blocks) return;
    plan.layout.clear();
    Scenario spelt = scenario;
    spelt.plan.layout = layout_of(chunks_of_plan(scenario.model, plan, scenario.software));
    check_alike(scenario, spelt);
  });
}

TEST_CASE("formats of as many bytes and as fast products are alike") {
  each_drawn(4, 20, [](Scenario scenario) {
    if (scenario.plan.precision != Precision::bf16) return;
    REQUIRE(scenario.device.peak(Precision::bf16).value ==
            scenario.device.peak(Precision::fp16).value);
    Scenario other = scenario;
    other.plan.precision = Precision::fp16;
    check_alike(scenario, other);
  });
}

TEST_CASE("all ranks together hold the model's parameters, each once") {
  each_drawn(5, 20, [](const Scenario& scenario) {
    const Plan& plan = scenario.plan;
    const Transformer& model = scenario.model;
    double held = 0;
    double tables = 0;
    for (const StageContent& chunk : chunks_of_plan(model, plan, scenario.software)) {
      const StageParameters one =
          stage_parameters(weights_of(scenario), model, plan, scenario.software, {chunk});
      const StageParameters matrices = matrices_of(one);
      held += matrices.dense * static_cast<double>(plan.tp) +
              matrices.experts * static_cast<double>(plan.ep * plan.etp);
      tables += one.tables;
    }
    CHECK(tables > 0);
    const PerPart<PartParameters> parts = part_parameters(model, plan.seq_len);
    const PartCounts counts = parts_of(model);
    double all = 0;
    each_part([&](Part part) {
      if (!is_block(part) && part != Part::next_token) return;
      all += static_cast<double>(counts[part] * parts[part].all.total());
    });
    CHECK(held == doctest::Approx(all).epsilon(1e-12));
  });
}

/// Rows of the experts' products of one layer, on one rank.
double expert_rows(const Scenario& scenario) {
  const Layer layer =
      tell_block(scenario.model, {Feed::experts}, layer_setting(scenario.plan), scenario.software);
  for (const Operator& op : forward_operators(layer, scenario.software)) {
    if (const auto* product = std::get_if<GroupedGemm>(&op.what)) {
      return static_cast<double>(product->rows);
    }
  }
  return 0;
}

TEST_CASE("every token reaches its experts and comes back, once, however experts are laid out") {
  each_drawn(6, 25, [](const Scenario& scenario) {
    const Plan& plan = scenario.plan;
    const Transformer& model = scenario.model;
    if (!model.has_experts() || plan.imbalance != 1.0) return;
    // Experts get each token once, whether or not tensor ranks have the same ones.
    const double stage_ranks = static_cast<double>(plan.tp * plan.cp * plan.dp);
    const double chosen =
        static_cast<double>(plan.dp * plan.mbs * plan.seq_len * model.experts.top_k);
    // A token's row is worked on by all expert-tensor ranks, each with its columns.
    CHECK(expert_rows(scenario) * stage_ranks / static_cast<double>(plan.etp) ==
          doctest::Approx(chosen));
    const Layer layer = tell_block(model, {Feed::experts}, layer_setting(plan), scenario.software);
    double sent = 0;
    double returned = 0;
    for (const LayerPiece& piece : layer.pieces) {
      const auto* transfer = std::get_if<TokenTransfer>(&piece.what);
      if (!transfer) continue;
      (transfer->what.combine ? returned : sent) += transfer->what.tokens;
    }
    CHECK(sent == returned);
    if (plan.ep == 1) {
      CHECK(sent == 0);
    } else {
      CHECK(sent * stage_ranks * static_cast<double>(model.experts.top_k) ==
            doctest::Approx(chosen));
    }
  });
}

TEST_CASE("no loads of experts are faster than equal ones") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "prequel_invariants_histogram.txt").string();
  PlanDice dice(8);
  each_drawn(7, 10, [&](Scenario scenario) {
    if (!scenario.model.has_experts()) return;
    std::ofstream file(path);
    for (std::int64_t i = 0; i < scenario.model.experts.count; ++i) {
      file << dice.below(100) + (dice.below(8) == 0 ? 300 : 1) << '\n';
    }
    file.close();
    const auto with = [&](const std::string& balance) {
      PlanRequest request;
      each_axis([&](const auto& axis) { axis.of(request) = axis.of(scenario.plan); });
      request.router_balance = balance;
      return predict(resolve(scenario, request).scenario);
    };
    const Prediction forced = with("forced");
    const Prediction drawn = with(path);
    CHECK(drawn.sec_per_iter.value >= forced.sec_per_iter.value * (1 - 1e-12));
    CHECK(drawn.peak_memory.value >= forced.peak_memory.value * (1 - 1e-12));
  });
  std::filesystem::remove(path);
}

/// Seconds of the kernels of a block forward and backward, by name.
std::map<std::string_view, double> kernels_of(const Scenario& scenario, Part part) {
  const LayerKernels kernels =
      price_kernels(layer_question(scenario.plan, scenario.cluster), scenario);
  std::map<std::string_view, double> seconds;
  for (const auto* pass : {&kernels[part].forward, &kernels[part].backward}) {
    for (const KernelCost& kernel : *pass) seconds[kernel.name] += kernel.seconds;
  }
  return seconds;
}

TEST_CASE("one expert that every token passes is the MLP, but for finding it") {
  Scenario dense = asked("llama-3-8b");
  Scenario one = dense;
  one.model.experts.count = 1;
  one.model.experts.ffn_hidden = dense.model.ffn_hidden;
  PlanDice dice(9);
  for (int i = 0; i < 40; ++i) {
    PlanRequest request = drawn_request(dice, dense.model, dense.cluster);
    request.tp = request.ep = request.etp = 1;
    request.dp = *request.nodes * dense.cluster.devices_per_node / (*request.pp * *request.cp);
    request.gbs = *request.dp * *request.mbs * *request.pp;
    request.precision = Precision::bf16;
    request.attention = AttentionKind::flash;
    request.router_balance = "forced";
    request.fp8_recipe = Fp8Recipe::none;
    request.fp8_param_gather = false;
    PlanJudgement judged = judge_plan(request, dense.model, dense.cluster, dense.software);
    if (!judged.problems.empty()) continue;
    CAPTURE(i);
    dense.plan = one.plan = judged.plan;
    const auto mlp = kernels_of(dense, Part::first_block);
    const auto expert = kernels_of(one, Part::first_block);
    CHECK(expert.at("experts in") == doctest::Approx(mlp.at("mlp in")).epsilon(0.02));
    CHECK(expert.at("experts out") == doctest::Approx(mlp.at("mlp out")).epsilon(0.02));
    CHECK(expert.at("attention") == mlp.at("attention"));
    CHECK(expert.contains("dispatch") == false);
    const auto weights = [](const Scenario& scenario) {
      return predict(scenario).stages.front().memory.weights.value;
    };
    CHECK(weights(one) == doctest::Approx(weights(dense)).epsilon(1e-4));
    // The whole step, of shapes that are known beforehand: modules that only one of them has aside,
    // it is as long, but for the router's kernels and launches and what they keep.
    for (Scenario* scenario : {&dense, &one}) {
      scenario->plan.recompute_modules = {};
      scenario->plan.offload_modules = {};
    }
    one.plan.router_balance = "dropped";
    const Prediction plain = predict(dense);
    const Prediction found = predict(one);
    CHECK(found.sec_per_iter.value >= plain.sec_per_iter.value);
    CHECK(found.sec_per_iter.value <= 1.07 * plain.sec_per_iter.value);
    CHECK(found.breakdown.optimizer == doctest::Approx(plain.breakdown.optimizer).epsilon(0.005));
    // Experts keep the tokens that they are sent beside those that the router reads: at most a
    // twentieth of what a layer keeps.
    CHECK(found.peak_memory.value >= plain.peak_memory.value);
    CHECK(found.peak_memory.value <= 1.05 * plain.peak_memory.value);
    CHECK(found.flops.model.value == doctest::Approx(plain.flops.model.value).epsilon(0.001));
  }
}

/// Floating-point operations of a block's products on one rank, forward.
double product_flops(const Scenario& scenario, LayerKind kind) {
  const Layer layer =
      tell_block(scenario.model, kind, layer_setting(scenario.plan), scenario.software);
  double flops = 0;
  for (const LayerPiece& piece : layer.pieces) {
    const auto* linear = std::get_if<LinearLayer>(&piece.what);
    if (!linear || piece.name == "router") continue;
    flops += 2.0 * static_cast<double>(linear->rows * linear->outputs) *
             static_cast<double>(linear->inputs);
  }
  return flops;
}

TEST_CASE("one expert costs what the MLP does however tensor ranks split it and its tokens") {
  Scenario dense = asked("llama-3-8b");
  Scenario one = dense;
  one.model.experts.count = 1;
  one.model.experts.ffn_hidden = dense.model.ffn_hidden;
  for (const std::int64_t tp : {1, 2, 8}) {
    for (const std::int64_t etp : {std::int64_t{1}, tp}) {
      for (const bool sequence_parallel : {false, true}) {
        CAPTURE(tp);
        CAPTURE(etp);
        CAPTURE(sequence_parallel);
        PlanRequest request;
        request.tp = tp;
        request.dp = 8 / tp;
        request.mbs = 1;
        request.gbs = 8;
        request.seq_len = 4096;
        request.sequence_parallel = sequence_parallel;
        request.overlap = WordSet<Overlapped>{};
        dense.plan = resolve_plan(request, dense.model, dense.cluster, dense.software).plan;
        request.etp = etp;
        request.router_balance = "dropped";  // shapes that are known beforehand
        one.plan = resolve_plan(request, one.model, one.cluster, one.software).plan;
        CHECK(product_flops(one, {Feed::experts}) ==
              doctest::Approx(product_flops(dense, {Feed::mlp})));
        const Prediction plain = predict(dense);
        const Prediction found = predict(one);
        CHECK(found.breakdown.compute == doctest::Approx(plain.breakdown.compute).epsilon(0.1));
        // The exchange between ranks is the same where they share its columns: the sum of the MLP
        // is gathered and scattered for it, too.
        const auto exchanged = [](const Prediction& of) {
          return of.breakdown.tp_comm + of.breakdown.ep_comm;
        };
        if (etp == tp && tp > 1) {
          CHECK(exchanged(found) == doctest::Approx(exchanged(plain)).epsilon(0.25));
        }
        // A plan without sequence parallelism does not do the experts' work more than once.
        CHECK(found.sec_per_iter.value <= 1.25 * plain.sec_per_iter.value);
      }
    }
  }
}

TEST_CASE("experts of PyTorch-native stacks are split over the tensor group, or shared out") {
  JobRequest request;
  request.model = "mixtral-8x7b";
  request.cluster = "nvidia-dgx-h100";
  request.software = "torchtitan-2025";
  const Job job = read_job(shipped_library(), request);
  PlanRequest plan;
  plan.nodes = 2;
  plan.tp = 8;
  plan.gbs = 64;
  plan.seq_len = 4096;
  CHECK(resolve(job, plan).scenario.plan.etp == 8);
  CHECK(resolve(job, plan).scenario.plan.sequence_parallel);
  plan.ep = 8;
  CHECK(resolve(job, plan).scenario.plan.etp == 1);
}

}  // namespace
}  // namespace prequel
