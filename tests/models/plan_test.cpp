#include "models/plan/rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/error_text.hpp"
#include "tests/models/shipped.hpp"
#include "tests/random_plans.hpp"

namespace prequel {
namespace {

/// 72 layers of 13824 on 48 nodes of 8: a plan that is legal and has nothing to warn of.
struct Question {
  Question() {
    model.layers = 72;
    model.hidden = 13824;
    model.heads = model.kv_heads = 64;
    model.head_dim = 216;
    model.ffn_hidden = 4 * 13824;
    model.vocab = 51200;
    model.max_positions = 2048;
    model.position = PositionEmbedding::alibi;
    request.nodes = 48;
    request.tp = 8;
    request.pp = 6;
    request.mbs = 4;
    request.gbs = 2048;
  }
  [[nodiscard]] ResolvedPlan resolve() const {
    return resolve_plan(request, model, cluster, software);
  }
  [[nodiscard]] std::string problems() const {
    return error_text([this] { (void)resolve(); });
  }
  [[nodiscard]] std::vector<std::string> warnings() const { return resolve().warnings; }

  Transformer model;
  PlanRequest request;
  Cluster cluster = shipped_cluster("jean-zay-a100");
  Software software = shipped_software("megatron-deepspeed-2022");
};

using Warnings = std::vector<std::string>;

TEST_CASE("what is left out is derived from nodes, model and software") {
  const ResolvedPlan resolved = Question().resolve();
  const Plan& plan = resolved.plan;
  CHECK(plan.gpus == 384);
  CHECK(plan.dp == 8);
  CHECK(plan.cp == 1);
  CHECK(plan.ep == 1);
  CHECK(plan.vpp == 1);
  CHECK(plan.seq_len == 2048);
  CHECK(plan.micro_batches() == 64);
  CHECK(plan.zero == 1);
  CHECK(plan.recompute == Recompute::full);
  CHECK(plan.precision == Precision::bf16);
  CHECK(plan.grad_precision == Precision::bf16);
  CHECK(plan.attention == AttentionKind::fused_softmax);
  CHECK(plan.schedule == Schedule::one_f_one_b);
  CHECK(resolved.warnings.empty());
}

TEST_CASE("without nodes they follow from the degrees") {
  Question question;
  question.request.nodes = {};
  question.request.dp = 4;
  const Plan plan = question.resolve().plan;
  CHECK(plan.nodes == 24);
  CHECK(plan.gpus == 192);
}

TEST_CASE("a part of one node needs no whole node") {
  Question question;
  question.request = {};
  question.request.tp = 4;
  question.request.gbs = 16;
  const Plan plan = question.resolve().plan;
  CHECK(plan.nodes == 1);
  CHECK(plan.gpus == 4);
}

TEST_CASE("ranks that are not the GPUs of the nodes are refused") {
  Question question;
  question.request.dp = 7;
  CHECK(question.problems() ==
        "plan: tp 8 x pp 6 x dp 7 = 336 ranks, but 48 nodes of jean-zay-a100 have 384 GPUs; dp 8 "
        "would do\n"
        "plan: gbs 2048: not a multiple of dp 7 x mbs 4 = 28; 2044 or 2072 would do");
  question.request.dp = {};
  question.request.pp = 7;
  question.request.gbs = 2047 * 4;
  question.model.layers = 70;
  CHECK(question.problems().starts_with(
      "plan: tp 8 x pp 7 x dp 6 = 336 ranks, but 48 nodes of "
      "jean-zay-a100 have 384 GPUs; pp 6, or 42 or 49 nodes would do"));
}

TEST_CASE("ranks that leave a node in part empty are refused") {
  Question question;
  question.request.nodes = {};
  question.request.tp = 4;
  question.request.pp = 3;
  question.request.dp = 3;
  question.request.gbs = 12;
  CHECK(question.problems() ==
        "plan: tp 4 x pp 3 x dp 3 = 36 ranks do not fill whole nodes of 8 GPUs; 32 or 40 ranks "
        "would do");
}

TEST_CASE("more nodes than the cluster has are refused") {
  Question question;
  question.request.nodes = 54;
  question.request.gbs = 36 * 50;
  CHECK(question.problems() ==
        "plan: 54 nodes are needed, but jean-zay-a100 has 52; cluster.nodes=54 says that there are "
        "more");
}

TEST_CASE("a missing global batch is refused") {
  Question question;
  question.request.gbs = {};
  CHECK(question.problems() ==
        "plan: gbs: missing; the global batch size is needed, in sequences (512) or tokens (4M)");
}

TEST_CASE("a global batch that does not divide is refused with its neighbours") {
  Question question;
  question.request.gbs = 2050;
  CHECK(question.problems() ==
        "plan: gbs 2050: not a multiple of dp 8 x mbs 4 = 32; 2048 or 2080 would do");
  question.request.gbs = 8;
  CHECK(question.problems() == "plan: gbs 8: not a multiple of dp 8 x mbs 4 = 32; 32 would do");
}

TEST_CASE("heads, kv heads and MLP width must be shared evenly by the tensor ranks") {
  Question question;
  question.request.tp = 6;
  question.request.nodes = {};
  question.request.dp = 8;
  CHECK(question.problems() == "plan: tp 6: heads 64 is not a multiple of it; tp 4 would do");
  question = {};
  question.model.heads = 96;
  question.model.kv_heads = 12;
  CHECK(question.problems() == "plan: tp 8: kv_heads 12 is not a multiple of it; tp 6 would do");
  question.model.kv_heads = 4;  // each is on two ranks
  CHECK(question.problems() == "no error");
  question = {};
  question.model.ffn_hidden = 36868;
  CHECK(question.problems() ==
        "plan: tp 8: ffn_hidden 36868 is not a multiple of it; tp 4 would do");
  question = {};
  LayerKind narrow{Feed::mlp, Mixer::attention};
  narrow.inner = 1028;
  question.model.mixers = {LayerKind{Feed::mlp, Mixer::attention}, narrow};
  CHECK(question.problems() ==
        "plan: tp 8: intermediate_sizes 1028 is not a multiple of it; tp 4 would do");
}

TEST_CASE("what is not modelled yet is refused by name") {
  Question question;
  question.request.grad_precision = Precision::fp8;
  CHECK(question.problems() ==
        "plan: grad_precision fp8: not modelled yet; fp32, bf16 or fp16 would do");
}

TEST_CASE("expert ranks divide the experts and a stage, context ranks the halves of a sequence") {
  Question question;
  question.model.name = "test";
  question.request.ep = 4;
  CHECK(question.problems() == "plan: ep 4: test has no experts; ep 1 would do");
  question.model.experts = {60, 4, 1024};
  CHECK(question.problems() == "no error");
  question.request.ep = 16;
  CHECK(question.problems() == "plan: ep 16: 60 experts are not a multiple of it; ep 15 would do");
  question.request.ep = 12;
  CHECK(question.problems() ==
        "plan: ep 12 x etp 1: the 64 ranks of a stage are not a multiple of it; ep 8 would do");
  question = {};
  question.request.nodes = {};
  question.software = shipped_software("megatron-core-2024");
  question.request.cp = 3;
  CHECK(question.problems() ==
        "plan: sequence_parallel: seq_len 2048 is not a multiple of tp x cp = 24; seq_len 2040 or "
        "2064 would "
        "do\n"
        "plan: cp 3: seq_len 2048 is not a multiple of 2 cp = 6; 2046 or 2052 would do");
}

TEST_CASE("weights leave the device only where they are sharded, checkpoints lie inside a stage") {
  Question question;
  question.request.offload = Offload::optimizer_params;
  question.request.zero = 1;
  question.request.recompute = Recompute::full;
  question.request.recompute_layers = 5000;
  CHECK(question.problems().find("plan: offload: only weights that are sharded leave the device; "
                                 "zero 3 would do") != std::string::npos);
  CHECK(question.problems().find("plan: recompute_layers 5000: a stage holds ") !=
        std::string::npos);
}

TEST_CASE("more stages than layers are refused") {
  Question question;
  question.request.nodes = {};
  question.request.tp = 4;
  question.request.pp = 96;
  CHECK(question.problems() ==
        "plan: pp 96: more pipeline stages than the model's 72 layers; at most pp 72 does, or at "
        "least 96 layers");
}

TEST_CASE("model chunks need stages and a schedule that has them") {
  Question question;
  question.request.nodes = {};
  question.request.pp = 1;
  question.request.vpp = 2;
  CHECK(question.problems() ==
        "plan: vpp 2: chunks need pipeline stages, and pp is 1; vpp 1 would do");
  question = {};
  question.request.vpp = 2;
  question.request.schedule = Schedule::one_f_one_b;
  CHECK(question.problems() ==
        "plan: schedule 1f1b has one chunk a stage, but vpp is 2; interleaved-1f1b has more");
  question.request.vpp = {};
  question.request.schedule = Schedule::interleaved;
  CHECK(question.problems().starts_with(
      "plan: schedule interleaved-1f1b needs at least two chunks a stage, but vpp is 1; 1f1b is "
      "the schedule without"));
  question.request.vpp = 2;
  question.request.gbs = 2048 + 32;
  CHECK(
      question.problems() ==
      "plan: gbs 2080: schedule interleaved-1f1b needs micro batches in multiples of 6, but there "
      "are 65; gbs 2112 would do");
}

TEST_CASE(
    "chunks take turns after a group of micro batches, of which the last fills the pipeline") {
  Question question;
  question.request.vpp = 2;
  question.request.vpp_group = 8;
  question.request.gbs = 32 * (8 + 6);  // pp 6
  CHECK(question.resolve().plan.vpp_group == 8);
  question.request.gbs = 32 * (8 + 5);
  CHECK(question.problems() ==
        "plan: gbs 416: schedule interleaved-1f1b needs micro batches in groups of 8, of which the "
        "last may have pp 6 or more, but there are 13; gbs 448 would do");
  question.request.vpp_group = 4;
  CHECK(question.problems() ==
        "plan: vpp_group 4: schedule interleaved-1f1b needs groups of pp micro batches or more, "
        "but they are of 4; 6 would do");
  question.request.vpp = {};
  question.request.gbs = 2048;
  CHECK(question.resolve().plan.vpp == 1);
  CHECK(std::ranges::count(question.warnings(),
                           "vpp_group 4: no effect without an interleaved schedule") == 1);
}

TEST_CASE("sharded gradients do not go with pipeline stages") {
  Question question;
  question.request.zero = 2;
  CHECK(question.problems() ==
        "plan: zero 2: gradients that are sharded do not go with pipeline stages; zero 1 does, or "
        "pp 1");
}

TEST_CASE("offload needs ZeRO") {
  Question question;
  question.request.zero = 0;
  question.request.offload = Offload::optimizer;
  CHECK(question.problems() == "plan: offload: needs ZeRO; zero 1 would do");
}

TEST_CASE("offload needs hosts that the cluster tells of") {
  Question question;
  question.request.offload = Offload::optimizer;
  CHECK(question.problems() == "no error");
  question.cluster = shipped_cluster("vtrain-a100-multi");
  CHECK(question.problems() ==
        "plan: offload: cluster vtrain-a100-multi says nothing of its hosts (host.memory and "
        "host.memory_bandwidth); offload none would do, or both keys, such as "
        "cluster.host.memory=\"1 TB\" and cluster.host.memory_bandwidth=\"200 GB/s\"");
  question.cluster.host = {{1e12}, {200e9}};
  CHECK(question.problems() == "no error");
}

TEST_CASE("moments and activations move to hosts that are known, and to one place") {
  Question question;
  question.request.optimizer_offload = 0.5;
  CHECK(question.problems() == "no error");
  question.request.offload = Offload::optimizer;
  CHECK(question.problems() ==
        "plan: optimizer_offload 0.5: offload optimizer moves all states; 0 would do");
  question.request.offload = Offload::none;
  question.request.optimizer_offload = 0.0;
  question.request.offload_modules = WordSet<OffloadModule>{OffloadModule::core_attn};
  question.cluster = shipped_cluster("vtrain-a100-multi");
  CHECK(
      question.problems() ==
      "plan: offload_modules: cluster vtrain-a100-multi says nothing of its hosts (host.memory and "
      "host.memory_bandwidth); no offload_modules would do, or both keys, such as "
      "cluster.host.memory=\"1 TB\" and cluster.host.memory_bandwidth=\"200 GB/s\"");
}

TEST_CASE("inputs that a stack moves by itself stay where hosts are not known, which is said") {
  Question question;
  question.software = shipped_software("unsloth-2026");
  question.model = shipped_model("llama-3-8b");
  question.cluster = shipped_cluster("vtrain-a100-multi");
  question.request = {};
  question.request.dp = 1;
  question.request.gbs = 8;
  question.request.seq_len = 2048;
  question.request.tuning = Tuning::lora;
  const auto tells = [&] {
    return std::ranges::any_of(question.warnings(), [](const std::string& warning) {
      return warning.find("vtrain-a100-multi says nothing of its hosts") != std::string::npos;
    });
  };
  CHECK(tells());
  CHECK(question.resolve().plan.offload_modules.empty());
  question.cluster.host = {{1e12}, {200e9}};
  CHECK_FALSE(tells());
  CHECK(question.resolve().plan.offload_modules.has(OffloadModule::attn_norm));
}

TEST_CASE("whole layers' activations leave the device where nothing else moves them") {
  Question question;
  question.request.recompute = Recompute::none;
  question.request.offload_layers = 20;
  const std::string begin = "plan: offload_layers 20: ";
  CHECK(question.problems() == begin + "not with pipeline stages; pp 1 would do");
  question.request.pp = 1;
  question.request.gbs = 1920;
  CHECK(question.problems() == "no error");
  question.request.recompute = Recompute::full;
  CHECK(question.problems() == begin + "not with recomputation; recompute none would do");
  question.request.recompute = Recompute::none;
  question.request.cuda_graphs = WordSet<GraphedModule>{GraphedModule::full};
  CHECK(question.problems() == begin + "not with cuda_graphs; none would do");
  question.request.cuda_graphs.reset();
  question.request.offload_modules = WordSet<OffloadModule>{OffloadModule::core_attn};
  CHECK(question.problems() == begin + "not with offload_modules; none of them would do");
  question.request.offload_modules.reset();
  question.request.offload_layers = question.model.layers;
  CHECK(question.problems() ==
        fmt::format("plan: offload_layers {0}: the model has {0} layers, one "
                    "of which stays; {1} would do",
                    question.model.layers, question.model.layers - 1));
}

TEST_CASE("full recompute of a chunk's first layers is a share of the blocks") {
  Question question;
  question.request.recompute = Recompute::full;
  CHECK(question.resolve().plan.recomputed == 1);
  question.request.recompute_first = 2;
  const auto layers = static_cast<double>(question.model.layers);
  CHECK(question.resolve().plan.recomputed == 2 * 6 / layers);
  question.request.recompute_first = question.model.layers;
  CHECK(question.resolve().plan.recomputed == 1);
  question.request.recompute_layers = 2;
  CHECK(question.problems().find("of single layers, not of 2 at a time; recompute_layers 1 would "
                                 "do") != std::string::npos);
  question.request.recompute_layers = 1;
  question.request.recompute_first = 2;
  question.request.recompute = Recompute::none;
  CHECK(question.warnings() == Warnings{"recompute_first 2: no effect without full recompute"});
}

TEST_CASE("saved activations are distributed where full recompute keeps them whole") {
  Question question;
  question.request.recompute = Recompute::full;
  question.request.distribute_saved_activations = true;
  question.request.sequence_parallel = false;
  CHECK(question.resolve().plan.distribute_saved_activations);
  question.request.sequence_parallel = true;
  CHECK(question.problems() ==
        "plan: distribute_saved_activations: sequence_parallel splits them already; off would do");
  question.request.sequence_parallel = false;
  question.request.recompute = Recompute::none;
  CHECK(question.warnings() ==
        Warnings{"distribute_saved_activations: no effect without full recompute"});
}

TEST_CASE("Muon works on the device, with a momentum of 16 bits at least") {
  Question question;
  question.request.optimizer = Optimizer::muon;
  CHECK(question.problems() == "no error");
  question.request.moments_precision = Precision::fp8;
  CHECK(question.problems() ==
        "plan: moments_precision fp8: no Muon keeps its momentum so; bf16 would do");
  question.request.moments_precision = Precision::bf16;
  question.request.optimizer_offload = 1.0;
  CHECK(question.problems() ==
        "plan: optimizer muon: orthogonalises on the device; offload none would do");
}

TEST_CASE("flash attention needs 16-bit products and a kernel that the stack names") {
  Question question;
  question.request.attention = AttentionKind::flash;
  CHECK(question.problems() ==
        "plan: attention flash: software megatron-deepspeed-2022 names no kernel for it "
        "(kernels.flash_kernel); attention unfused or fused-softmax would do");
  question.software.kernels.flash_kernel = "flash-2";
  CHECK(question.problems() == "no error");
  question.request.precision = Precision::fp32;
  CHECK(question.problems() ==
        "plan: attention flash: has no fp32 kernels; precision bf16 or fp16 would do, or attention "
        "unfused or fused-softmax");
  question.request.precision = Precision::tf32;
  question.software.kernels.unfused = question.software.kernels.fused_softmax = {};
  CHECK(question.problems() ==
        "plan: attention flash: has no tf32 kernels; precision bf16 or fp16 would do");
  question.software.kernels.flash_kernel.clear();
  CHECK(question.problems() ==
        "plan: attention flash: software megatron-deepspeed-2022 names no kernel for it "
        "(kernels.flash_kernel); naming one would do");
}

TEST_CASE("what the stack does not offer is warned of, where it says what it offers") {
  Question question;
  question.software = shipped_software("megatron-core-2024");
  question.request.pp = 1;
  question.request.mbs = 1;
  question.request.gbs = 48 * 43;
  question.request.zero = 3;
  question.request.schedule = Schedule::zb_h1;
  CHECK(question.warnings() ==
        Warnings{"schedule zb-h1: no effect with pp 1",
                 "zero 3: megatron-core-2024 offers 0, 1; priced all the same",
                 "schedule zb-h1: megatron-core-2024 offers 1f1b, interleaved-1f1b; priced all the "
                 "same"});
  question.software.choices.schedule.clear();
  question.software.choices.sequence_parallel = {false};
  question.software.choices.recompute = {Recompute::none, Recompute::full};
  question.request.zero = 1;
  question.request.recompute = Recompute::selective;
  CHECK(question.warnings() ==
        Warnings{"schedule zb-h1: no effect with pp 1",
                 "recompute selective: megatron-core-2024 offers none, full; priced all the same",
                 "sequence_parallel true: megatron-core-2024 offers false; priced all the same"});
  // Megatron-LM keeps optimizers on the device until 2025.
  for (const char* stack :
       {"megatron-lm-2020", "megatron-lm-2021", "megatron-lm-2022", "megatron-core-2024"}) {
    CHECK(shipped_software(stack).choices.offload == std::vector{Offload::none});
  }
}

TEST_CASE("learned positions bound the sequence, others warn") {
  Question question;
  question.request.seq_len = 4096;
  CHECK(question.warnings() ==
        Warnings{"seq_len 4096 is longer than the model's max_position_embeddings 2048"});
  question.model.position = PositionEmbedding::learned;
  CHECK(question.problems() ==
        "plan: seq_len 4096: the model has 2048 learned positions; 2048 would do");
}

TEST_CASE("sequence parallelism needs a sequence that the tensor ranks share evenly") {
  Question question;
  question.request.sequence_parallel = true;
  question.request.seq_len = 2044;
  CHECK(question.problems() ==
        "plan: sequence_parallel: seq_len 2044 is not a multiple of tp 8; seq_len 2040 or 2048 "
        "would do");
}

TEST_CASE("all broken rules are told at once") {
  Question question;
  question.request.dp = 7;
  question.request.cp = 2;
  question.request.zero = 3;
  question.request.gbs = 1;
  CHECK(question.problems() ==
        "plan: tp 8 x pp 6 x cp 2 x dp 7 = 672 ranks, but 48 nodes of jean-zay-a100 have 384 "
        "GPUs; dp 4 would do\n"
        "plan: cp 2: needs attention flash, not fused-softmax\n"
        "plan: gbs 1: not a multiple of dp 7 x mbs 4 = 28; 28 would do\n"
        "plan: zero 3: gradients that are sharded do not go with pipeline stages; zero 1 does, or "
        "pp 1");
}

TEST_CASE("heads of 150 are warned of, with the nearest counts that keep the tensor cores") {
  Question question;
  question.model = shipped_model("bigscience-200b");
  question.request.pp = 10;
  question.request.nodes = 40;
  question.request.mbs = 1;
  CHECK(question.warnings().front() ==
        "head size 150 (96 heads) is not a multiple of 8: the attention products leave the tensor "
        "cores; 72 heads (size 200) or 120 heads (size 120) would be aligned");
}

TEST_CASE("layers that do not divide are warned of with what each stage gets") {
  Question question;
  question.model.layers = 61;
  question.request.nodes = 32;
  question.request.pp = 16;
  question.software.stage_dealing = StageDealing::balanced;
  CHECK(question.warnings().front() ==
        "61 layers on pp 16: 13 stages of 4 layers, 3 of 3; the speed is that of 4");
  question = {};
  question.model.layers = 78;
  question.request.pp = 12;
  CHECK(question.warnings() ==
        Warnings{"78 layers on pp 12: 11 stages of 7 layers and the last of 1; the speed is that "
                 "of 7"});
}

TEST_CASE("an embedding that weighs more than a layer is warned of with better layer counts") {
  Question question;
  question.model.vocab = 250'880;
  question.model.hidden = 14336;
  question.model.head_dim = 224;
  question.model.ffn_hidden = 4 * 14336;
  question.request.pp = 12;
  CHECK(question.warnings() ==
        Warnings{"the embedding weighs as much as 1.5 layers, on the first stage and the last: 70 "
                 "or 82 layers with stage_split embedding-as-layer would balance pp "
                 "12"});
  question.software.stage_dealing = StageDealing::balanced;
  CHECK(question.warnings() ==
        Warnings{"the embedding weighs as much as 1.5 layers, on the first stage and the last: a "
                 "layout with fewer layers there would balance pp 12 (a search proposes some)"});
  question.software.stage_dealing = StageDealing::by_cost;
  CHECK(question.warnings().empty());
  question.software.stage_dealing = StageDealing::refuse;
  question.model.layers = 70;
  question.request.stage_split = StageSplit::embedding_as_layer;
  CHECK(question.warnings().empty());
}

TEST_CASE("tensor parallelism across nodes is warned of") {
  Question question;
  question.request.tp = 16;
  question.request.pp = 3;
  CHECK(question.warnings() ==
        Warnings{"tp 16: tensor-parallel groups span nodes of 8 GPUs; their all-reduces cross the "
                 "network"});
}

TEST_CASE("what has no effect is warned of") {
  Question question;
  question.request = {};
  question.request.gbs = 8;
  question.request.dp = 1;
  question.request.zero = 1;
  question.request.sequence_parallel = true;
  CHECK(question.warnings() ==
        Warnings{"sequence_parallel: no effect with tp 1", "zero 1: no effect with dp 1"});
}

/// A model of experts on a cluster of that name, with a recent Megatron.
Question experts_on(const char* cluster, Dispatcher dispatcher, std::int64_t ep) {
  Question question;
  question.model = shipped_model("qwen3-30b-a3b");
  question.cluster = shipped_cluster(cluster);
  question.software = shipped_software("megatron-core-2026");
  question.request = {};
  question.request.nodes = 4;
  question.request.ep = ep;
  question.request.dispatcher = dispatcher;
  question.request.gbs = 64;
  question.request.seq_len = 4096;
  return question;
}

TEST_CASE("inputs of an activation are kept in fp8 where it is SwiGLU") {
  Question question;
  question.request.fp8_activation_store = true;
  CHECK(question.problems().find("plan: fp8_activation_store: is for SwiGLU, which ") == 0);
  question.model.mlp = Mlp::swiglu;
  const auto warned = [&] {
    return std::ranges::any_of(question.warnings(), [](const std::string& warning) {
      return warning.starts_with("fp8_activation_store: of the experts no effect");
    });
  };
  CHECK_FALSE(warned());
  question.model = shipped_model("qwen3-30b-a3b");
  question.software = shipped_software("megatron-core-2026");
  question.cluster = shipped_cluster("dgx-h100");
  question.request = {};
  question.request.fp8_activation_store = true;
  question.request.nodes = 1;
  question.request.ep = 8;
  question.request.gbs = 64;
  question.request.seq_len = 4096;
  question.request.mbs = 1;
  question.request.recompute = Recompute::selective;
  question.request.recompute_modules = WordSet<RecomputeModule>{RecomputeModule::moe_act};
  CHECK(warned());
  question.request.recompute_modules = WordSet<RecomputeModule>{RecomputeModule::layernorm};
  CHECK_FALSE(warned());
}

TEST_CASE("dispatchers that send by themselves need a network that carries them") {
  CHECK(experts_on("dgx-h100", Dispatcher::deepep, 16).problems() == "no error");
  CHECK(experts_on("gcp-a3-mega", Dispatcher::deepep, 8).problems() == "no error");
  CHECK(experts_on("gcp-a3-mega", Dispatcher::alltoall, 16).problems() == "no error");
  for (const Dispatcher each : {Dispatcher::deepep, Dispatcher::hybridep, Dispatcher::uccl}) {
    CHECK(experts_on("gcp-a3-mega", each, 16).problems() ==
          fmt::format("plan: dispatcher {}: expert groups of 16 ranks cross the network of "
                      "gcp-a3-mega, which is tcp and has no RDMA verbs for it; alltoall would do, "
                      "or ep 8 inside a node",
                      name(each)));
  }
  const auto warned_of = [](const char* cluster, Dispatcher dispatcher, const char* words) {
    const Warnings warnings = experts_on(cluster, dispatcher, 16).warnings();
    return std::ranges::any_of(warnings, [&](const std::string& warning) {
      return warning.find(words) != std::string::npos;
    });
  };
  CHECK(warned_of("aws-p5-efa", Dispatcher::deepep, "over EFA as a port alone"));
  CHECK_FALSE(warned_of("aws-p5-efa", Dispatcher::uccl, "EFA"));
  CHECK(warned_of("amd-mi300x", Dispatcher::deepep, "amd-mi300x tells nothing of it"));
}

TEST_CASE("heads of keys and values are shared out over context ranks by all-to-all") {
  Question question = experts_on("dgx-h100", Dispatcher::alltoall, 1);
  question.model = shipped_model("llama-3-8b");  // 8 heads of keys and values
  question.request.dispatcher.reset();
  question.request.tp = 2;
  question.request.cp_comm = ContextComm::a2a;
  question.request.seq_len = 16384;
  question.request.cp = 4;
  CHECK(question.problems() == "no error");
  question.request.cp = 8;
  CHECK(question.problems() ==
        "plan: cp_comm a2a: Transformer Engine shares out heads, and of keys and values a rank has "
        "4 (tp 2), no multiple of cp 8; cp 4 or cp_comm p2p would do");
  question.software = shipped_software("torchtitan-2025");
  CHECK(question.warnings().front().find("which are replicated") != std::string::npos);
  question.model = shipped_model("gpt-oss-20b");
  question.software = shipped_software("megatron-core-2026");
  question.request.cp_comm = ContextComm::p2p;
  CHECK(question.warnings().front().find("sliding windows over context ranks with a2a or "
                                         "all-gather alone") != std::string::npos);
}

TEST_CASE("DualPipe exchanges tokens beside the other pass, unless the plan says otherwise") {
  Question question = experts_on("dgx-h100", Dispatcher::alltoall, 8);
  const auto beside = [&] { return question.resolve().plan.overlap.has(Overlapped::ep); };
  CHECK_FALSE(beside());
  question.request.pp = 2;
  question.request.schedule = Schedule::dualpipe;
  CHECK(beside());
  question.request.overlap = kNoneOf<Overlapped>;
  CHECK_FALSE(beside());
}

TEST_CASE("what a plan asks for in vain is warned of, what it has anyway is not") {
  Question question = experts_on("dgx-h100", Dispatcher::deepep, 1);
  const auto said = [&] { return fmt::format("{}", fmt::join(question.warnings(), "; ")); };
  CHECK(said() == "dispatcher deepep: no effect with ep 1");
  question.request.dispatcher = Dispatcher::alltoall;
  CHECK(said().empty());
  question.request.schedule = Schedule::one_f_one_b;
  CHECK(said().empty());
  question.request.overlap = WordSet<Overlapped>{Overlapped::ep, Overlapped::no_p2p};
  CHECK(said() == "overlap ep: no effect with ep 1; overlap no-p2p: no effect with pp 1");
  question.request.overlap = kNoneOf<Overlapped>;
  CHECK(said().empty());
  question.request.overlap = WordSet<Overlapped>{Overlapped::grads, Overlapped::no_grads};
  CHECK(question.problems() == "plan: overlap grads, no-grads: one of the two would do");
}

TEST_CASE("a stack's usual sharding over a node is over all where a node holds one replica") {
  Question question;
  question.cluster = shipped_cluster("dgx-a100");
  question.software = shipped_software("internevo-2023");
  question.model.position = PositionEmbedding::rope;
  question.request.nodes = 16;
  question.request.pp = 1;
  question.request.tp = 4;
  CHECK(question.resolve().plan.sharding_group == ShardingGroup::node);
  question.request.tp = 8;
  CHECK(question.resolve().plan.sharding_group == ShardingGroup::all);
  question.request.sharding_group = ShardingGroup::node;
  CHECK(question.problems().find("nothing is sharded") != std::string::npos);
  question.request = {};
  question.request.nodes = 16;
  question.request.gbs = 128;
  question.request.zero = 0;
  CHECK(question.resolve().plan.sharding_group == ShardingGroup::all);
}

TEST_CASE("a plan without nodes and dp says how many GPUs are taken") {
  Question question;
  question.request = {};
  question.request.gbs = 8;
  question.request.tp = 4;
  CHECK(question.warnings() ==
        Warnings{"neither nodes nor dp is said: tp 4 x pp 1 on 4 GPUs, dp 1, is taken"});
}

TEST_CASE("the tensor-parallel degree that would do divides all that it must divide") {
  Question question;
  question.model.heads = 28;
  question.model.kv_heads = 4;
  question.request.tp = 8;
  CHECK(question.problems() == "plan: tp 8: heads 28 is not a multiple of it; tp 4 would do");
}

TEST_CASE("a long sequence that nobody asked for is warned of") {
  Question question;
  question.model.max_positions = 131'072;
  CHECK(question.warnings() ==
        Warnings{"seq_len: not said, the model's max_position_embeddings 131072 is taken"});
  question.request.seq_len = 131'072;
  CHECK(question.warnings().empty());
}

TEST_CASE("a plan is legal without words where it is with them") {
  const Cluster cluster = shipped_cluster("nvidia-dgx-h100");
  const Software software = shipped_software("megatron-core-moe-2026");
  PlanDice dice(5);
  int legal = 0;
  for (const char* name : {"llama-2-70b", "deepseek-v3"}) {
    const Transformer model = shipped_model(name);
    for (int i = 0; i < 2000; ++i) {
      const PlanRequest request = drawn_request(dice, model, cluster);
      const PlanJudgement judged = judge_plan(request, model, cluster, software);
      const auto plan = legal_plan(request, model, cluster, software);
      REQUIRE(plan.has_value() == judged.problems.empty());
      if (!plan) continue;
      ++legal;
      each_axis([&](const auto& axis) { CHECK(axis.of(*plan) == axis.of(judged.plan)); });
      CHECK(plan->gpus == judged.plan.gpus);
      CHECK(plan->imbalance == judged.plan.imbalance);
    }
  }
  CHECK(legal > 100);
}

TEST_CASE("a stack without bitsandbytes says so of its formats, and of no others") {
  Question question;
  question.request.tuning = Tuning::lora;
  question.software.name = "megatron-core-2026";
  const auto warned = [&](BaseFormat format) {
    question.request.base_precision = format;
    return fmt::format("{}", fmt::join(question.warnings(), "\n"))
               .find("megatron-core-2026 has no such matrices; software hf-peft-2026 runs them") !=
           std::string::npos;
  };
  CHECK_FALSE(warned(BaseFormat::nf4));
  question.software.kernels.transformer_engine = true;
  CHECK(warned(BaseFormat::nf4));
  CHECK(warned(BaseFormat::int8));
  CHECK_FALSE(warned(BaseFormat::fp8));
  CHECK_FALSE(warned(BaseFormat::bf16));
}

}  // namespace
}  // namespace prequel
