#include "sim/step/step.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "models/layers/parameters.hpp"
#include "models/plan/groups.hpp"
#include "sim/answer/contended_iteration.hpp"
#include "sim/answer/detailed_time.hpp"
#include "sim/answer/prediction.hpp"
#include "sim/step/stage_transfer.hpp"
#include "sim/step/state_traffic.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

constexpr const char* kKept = "software.communication.sharding";

/// Llama-3-70B in four stages of 32 GPUs each, fully sharded.
Scenario sharded_stages(const Settings& more) {
  Settings settings{{"plan.nodes", "16"}, {"plan.pp", "4"},          {"plan.tp", "4"},
                    {"plan.mbs", "1"},    {"plan.gbs", "64"},        {"plan.seq_len", "4096"},
                    {"plan.zero", "3"},   {"plan.recompute", "none"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return planned("llama-3-70b", "dgx-h100", "torchtitan-2024", settings);
}

TEST_CASE("FSDP in pipeline stages gathers once a step and keeps weights and whole gradients") {
  const Scenario kept = sharded_stages({});
  const Scenario each_pass = sharded_stages({{kKept, "\"megatron-fsdp\""}});
  const Prediction one = predict(kept);
  const Prediction other = predict(each_pass);
  // 2 bytes of a gathered weight and 4 of a gradient, of all that a stage holds before sharding,
  // in place of those of two layers at a time.
  const StageMemory& stage = one.stages[1].memory;
  const StageParameters parameters =
      stage_parameters(price_layers(kept).weights, kept.model, kept.plan, kept.software,
                       {chunks_of_plan(kept.model, kept.plan, kept.software)[1]});
  const double states = 16.0 * parameters.total() / 8.0;
  CHECK((stage.weights + stage.gradients + stage.optimizer).value ==
        doctest::Approx(states).epsilon(1e-9));
  const StageMemory& thrifty = other.stages[1].memory;
  const double held = (stage.buffers - thrifty.buffers).value;
  CHECK(held < 6.0 * parameters.total());
  CHECK(held > 0.8 * 6.0 * parameters.total());
  // Gathering in every micro batch costs more of what the links carry.
  CHECK(other.sec_per_iter > one.sec_per_iter);
  CHECK(other.breakdown.dp_comm > one.breakdown.dp_comm);
}

TEST_CASE("the detailed engine agrees on sharded stages") {
  for (const char* stages : {"\"fsdp\"", "\"megatron-fsdp\""}) {
    for (const char* zero : {"2", "3"}) {
      for (const char* schedule : {"1f1b", "gpipe"}) {
        const Scenario scenario =
            sharded_stages({{kKept, stages}, {"plan.zero", zero}, {"plan.schedule", schedule}});
        CHECK(detailed_time(scenario).value ==
              doctest::Approx(predict(scenario).sec_per_iter.value).epsilon(1e-9));
      }
    }
  }
}

Scenario compared(const char* objective, const Settings& more) {
  Settings settings{{"plan.nodes", "1"}, {"plan.mbs", "1"},        {"plan.gbs", "32"},
                    {"plan.zero", "0"},  {"plan.seq_len", "4096"}, {"plan.objective", objective}};
  settings.insert(settings.end(), more.begin(), more.end());
  return planned("llama-3-8b", "dgx-h100", "hf-peft-2026", settings);
}

TEST_CASE("preferences take the time of their sequences and of what runs forward beside them") {
  const auto seconds = [](const char* objective) {
    const Scenario scenario =
        compared(objective, {{"plan.tuning", "lora"}, {"plan.lora_rank", "16"}});
    return predict(scenario).sec_per_iter.value;
  };
  const double pairs = seconds("orpo");
  CHECK(seconds("simpo") == pairs);
  CHECK(seconds("dpo-precomputed") == pairs);
  // Three forward passes over one sequence, and one over two.
  const double beside = seconds("kto") - seconds("sft");
  CHECK(seconds("dpo") - pairs == doctest::Approx(2.0 / 3.0 * beside).epsilon(0.1));
  CHECK(pairs == doctest::Approx(2 * seconds("sft")).epsilon(0.1));
}

TEST_CASE("a reference is a second model in full training, and none with adapters") {
  const auto weights = [](const char* objective, const Settings& more) {
    return predict(compared(objective, more)).stages[0].memory.weights.value;
  };
  const Settings full{{"plan.tuning", "full"}};
  const Settings adapters{{"plan.tuning", "lora"}, {"plan.lora_rank", "16"}};
  const double more = weights("dpo", full) - weights("orpo", full);
  const auto parameters = static_cast<double>(total_parameters(shipped_model("llama-3-8b")));
  CHECK(more == doctest::Approx(2.0 * parameters).epsilon(1e-9));
  CHECK(weights("kto", full) - weights("sft", full) == more);
  CHECK(weights("dpo", adapters) == weights("orpo", adapters));
}

TEST_CASE("passes of a split backward wait each for its own launches, on no faster device longer") {
  Scenario split = planned("llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
                           {{"plan.nodes", "1"},
                            {"plan.pp", "4"},
                            {"plan.mbs", "1"},
                            {"plan.gbs", "32"},
                            {"plan.seq_len", "2048"},
                            {"plan.schedule", "zb-h1"}});
  split.software.host.one_launch = Seconds{5e-4};  // the host decides
  const auto pass = [&](TaskKind kind) { return step_of(split).durations.at(kind, 1, 0); };
  const double weights = pass(TaskKind::weight_gradient), inputs = pass(TaskKind::input_gradient);
  const PassCost backward = step_of(split).blocks[1].costs.backward;
  CHECK(weights > 2 * backward.weight_gradient);
  CHECK(weights + inputs == doctest::Approx(backward.total()));
  split.device.memory_rate = split.device.memory_rate * 1.5;
  CHECK(pass(TaskKind::weight_gradient) <= weights * (1 + 1e-9));
  CHECK(pass(TaskKind::input_gradient) <= inputs * (1 + 1e-9));
}

TEST_CASE("stages below the layers that learn have a forward pass alone") {
  const auto with = [](const char* learning_layers) {
    return planned("llama-3-8b", "dgx-h100", "megatron-core-2025",
                   {{"plan.nodes", "1"},
                    {"plan.pp", "4"},
                    {"plan.mbs", "1"},
                    {"plan.gbs", "32"},
                    {"plan.seq_len", "2048"},
                    {"plan.learning_layers", learning_layers}});
  };
  const Scenario last = with("8");
  const Prediction part = predict(last);
  const Prediction all = predict(with("0"));
  CHECK(part.stages[0].memory.gradients.value == 0);
  CHECK(part.stages[0].memory.optimizer.value == 0);
  CHECK(part.stages[3].memory.gradients.value > 0);
  CHECK(part.stages[0].memory.activations.value < all.stages[0].memory.activations.value);
  CHECK(part.sec_per_iter.value < all.sec_per_iter.value);
  CHECK(detailed_time(last).value == doctest::Approx(part.sec_per_iter.value).epsilon(1e-9));
}

TEST_CASE("hybrid sharding gathers inside nodes and sums the shares between them") {
  const auto with_group = [](const char* group) {
    return planned("llama-3-8b", "dgx-h100", "pytorch-fsdp2-2024",
                   {{"plan.nodes", "16"},
                    {"plan.gbs", "128"},
                    {"plan.mbs", "1"},
                    {"plan.seq_len", "2048"},
                    {"plan.sharding_group", group}});
  };
  const Scenario all = with_group("all");
  const Scenario node = with_group("node");
  const auto [shards, copies] = shard_groups(node.plan, GroupAxis::data);
  CHECK(shards == RankGroup{8, 1});
  CHECK(copies == RankGroup{16, 8});
  CHECK(shard_groups(all.plan, GroupAxis::data).shards == RankGroup{128, 1});
  CHECK(shard_groups(all.plan, GroupAxis::data).copies.size == 1);
  const Prediction spread = predict(all);
  const Prediction hybrid = predict(node);
  CHECK(hybrid.stages[0].memory.optimizer.value ==
        doctest::Approx(16 * spread.stages[0].memory.optimizer.value).epsilon(1e-9));
  const StageParameters parameters{8e9, 0};
  CHECK(parameter_gather_time(node, parameters, 2).all <
        parameter_gather_time(all, parameters, 2).all);
  CHECK(parameter_gather_time(node, parameters, 2).network.value == 0);
  // Gradients in fp32: an eighth of them crosses the network, on its way to all nodes.
  const CollectivePrice sum = price(node.cluster, CollectiveOp::all_reduce,
                                    group_shape(node.cluster, 128, 16, 8), Bytes{4 * 8e9 / 8});
  CHECK(gradient_reduce_time(node, parameters).network.value ==
        doctest::Approx(sum.network.value).epsilon(1e-9));
  CHECK(sum.network.value > 0);
}

TEST_CASE("a hop inside a node costs what its links do, one that leaves it what the network does") {
  // Two stages a node.
  const Scenario scenario =
      planned("llama-3-8b", "dgx-h100", "megatron-core-2024",
              {{"plan.nodes", "4"}, {"plan.tp", "2"}, {"plan.pp", "8"}, {"plan.gbs", "64"}});
  REQUIRE(scenario.plan.dp == 2);
  CHECK(stages_are_joined(scenario, 0, 1));
  CHECK_FALSE(stages_are_joined(scenario, 1, 2));
  CHECK(stages_are_joined(scenario, 2, 3));
  CHECK_FALSE(stages_are_joined(scenario, 7, 0));
  CHECK(stage_transfer_time(scenario, 0, 1).network.value == 0);
  CHECK(stage_transfer_time(scenario, 1, 2).network.value > 0);
  const Seconds inside = stage_transfer_time(scenario, 0, 1).all;
  const Seconds across = stage_transfer_time(scenario, 1, 2).all;
  CHECK(inside < across);
  const Step step = step_of(scenario);
  CHECK(step.durations.at(TaskKind::send_forward, 0) == inside.value);
  CHECK(step.durations.at(TaskKind::send_forward, 1) == across.value);
  CHECK(step.durations.at(TaskKind::send_backward, 1) == inside.value);
  CHECK(step.durations.at(TaskKind::send_backward, 2) == across.value);
}

TEST_CASE("what a stack puts on the network at the most holds for every stage of ZeRO") {
  for (const char* zero : {"0", "1", "3"}) {
    const auto dp_comm = [&](const char* limit) {
      return predict(planned("llama-2-7b", "dgx-h100", "deepspeed-zero3-2021",
                             {{"plan.nodes", "4"},
                              {"plan.gbs", "64"},
                              {"plan.mbs", "1"},
                              {"plan.zero", zero},
                              {"software.communication.rank_rate_limit", limit}}))
          .breakdown.dp_comm;
    };
    CAPTURE(zero);
    CHECK(dp_comm("\"0.1 GB/s\"") > 5 * dp_comm("\"10 GB/s\""));
  }
}

TEST_CASE("a kernel that stands in for one the device lacks is named") {
  const Scenario scenario = planned(
      "llama-2-7b", "dgx-h100", "composer-2023",
      {{"plan.nodes", "1"}, {"plan.gbs", "8"}, {"software.kernels.flash_kernel", "flash-9"}});
  const std::vector<std::string> warnings = predict(scenario).warnings;
  CHECK(std::ranges::any_of(warnings, [](const std::string& warning) {
    return warning.find("stands in for attention kernel flash-9") != std::string::npos;
  }));
}

TEST_CASE("the account of every stage adds up to the iteration, on random plans") {
  std::mt19937 random(17);
  const auto pick = [&](std::initializer_list<const char*> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  for (int i = 0; i < 150; ++i) {
    const char* schedule =
        pick({"gpipe", "1f1b", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "dualpipe", "zb-v"});
    const bool interleaved = schedule == std::string("interleaved-1f1b");
    const bool folded = schedule == std::string("zb-v");
    const char* pp = pick({"2", "4", "8"});
    const bool sharded = i % 3 == 0;
    const Scenario scenario = planned(
        pick({"llama-3-8b", "gpt-7.5b"}), "dgx-h100",
        sharded ? "torchtitan-2024" : pick({"megatron-core-2024", "megatron-deepspeed-2022"}),
        {{"plan.tp", pick({"1", "2", "4"})},
         {"plan.pp", sharded && i % 2 == 0 ? "1"
                     : sharded             ? "4"
                                           : pp},
         {"plan.dp", "8"},
         {"plan.nodes", "null"},
         {"model.num_hidden_layers", "32"},
         {"plan.schedule", sharded ? "1f1b" : schedule},
         {"plan.vpp", !sharded && (interleaved || folded) ? "2" : "1"},
         {"plan.mbs", pick({"1", "2"})},
         {"plan.gbs", pick({"256", "512", "4096"})},
         {"plan.seq_len", "2048"},
         {"plan.zero", sharded ? pick({"2", "3"}) : pick({"0", "1"})},
         {"software.communication.sharding", pick({"\"fsdp\"", "\"megatron-fsdp\""})},
         {"software.communication.p2p_wait_s", pick({"0", "0.0003", "null"})},
         {"software.communication.gradient_overlap", pick({"\"always\"", "\"none\""})},
         {"cluster.network.efficiency", pick({"0.9", "0.1"})},
         {"plan.recompute", pick({"none", "full"})}});
    CAPTURE(i);
    const Prediction prediction = predict(scenario);
    for (const StagePrediction& stage : prediction.stages) {
      const Breakdown& time = stage.time;
      REQUIRE(time.total() == doctest::Approx(prediction.sec_per_iter.value).epsilon(1e-9));
      for (const double part : {time.compute, time.recompute, time.tp_comm, time.pp_comm,
                                time.dp_comm, time.bubble, time.optimizer, time.host, time.other}) {
        REQUIRE(part >= 0);
      }
      if (prediction.stages.size() == 1) {
        REQUIRE(time.bubble == doctest::Approx(0).epsilon(1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace prequel
