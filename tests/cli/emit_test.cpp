#include "cli/emit/emitted_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "cli/import/foreign_file.hpp"
#include "cli/json/answer_json.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"
#include "models/layers/parameters.hpp"
#include "models/plan/rules.hpp"
#include "tests/cli/program.hpp"
#include "tests/random_plans.hpp"
#include "tests/search/shipped_inputs.hpp"

namespace prequel {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Space {
  SearchInputs inputs;
  std::vector<Plan> plans;

  [[nodiscard]] Scenario scenario(const Plan& plan) const { return {inputs, plan}; }
};

EmittedPlan launch_of(std::string_view target, const Scenario& scenario) {
  static const Library library({});
  return emit_plan(target, scenario, library);
}

/// All plans that are legal somewhere, whether the stack offers them or not.
Space space_of(const std::string& model, const std::string& cluster, std::int64_t nodes,
               const std::string& software) {
  SearchInputs inputs = shipped_inputs(model, cluster, 256, software);
  SearchAxes axes;
  axes.nodes = {nodes};
  axes.gbs = {256};
  axes.offload = {Offload::none, Offload::optimizer};
  std::vector<Plan> plans;
  for (const Candidate& candidate :
       legal_plans(fill_axes(axes, inputs, Reach::everything), inputs).legal) {
    plans.push_back(candidate.plan);
  }
  return {std::move(inputs), std::move(plans)};
}

/// Imports what was emitted, and gives the fields in which it differs.
std::set<std::string> lost(const Space& space, const Plan& plan,
                           const std::vector<std::string>& texts) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const std::string& text : texts) {
    files.push_back(folder.with("emitted-" + std::to_string(files.size()), text));
  }
  const PlanRequest request = import_files(files).job.plan;
  const SearchInputs& inputs = space.inputs;
  const OrderedJson before = plan_json(plan);
  const OrderedJson after =
      plan_json(judge_plan(request, inputs.model, inputs.cluster, inputs.software).plan);
  std::set<std::string> fields;
  for (const auto& [field, value] : before.items()) {
    if (after.at(field) != value) fields.insert(field);
  }
  return fields;
}

std::set<std::string> told(const EmittedPlan& emitted) {
  std::set<std::string> fields;
  for (const LeftOut& one : emitted.left_out) fields.insert(one.field);
  return fields;
}

/// Every `stride`-th plan comes back as it was, but for fields that were said to be left out.
/// Returns how many came back whole.
int round_trip(const Space& space, std::size_t stride, bool with_deepspeed) {
  int whole = 0;
  REQUIRE(space.plans.size() > 100 * stride);
  for (std::size_t i = 0; i < space.plans.size(); i += stride) {
    const Plan& plan = space.plans[i];
    const EmittedPlan emitted = launch_of("megatron", space.scenario(plan));
    CAPTURE(emitted.text);
    std::vector<std::string> texts{emitted.text};
    if (with_deepspeed) texts.push_back(launch_of("deepspeed", space.scenario(plan)).text);
    const std::set<std::string> fields = lost(space, plan, texts);
    for (const std::string& field : fields) {
      CAPTURE(field);
      CHECK(told(emitted).contains(field));
    }
    if (fields.empty()) ++whole;
  }
  return whole;
}

TEST_CASE("bars in the letters of a hybrid deal its layers, and come back as its layout") {
  const ProgramResult result = run_prequel(
      "predict --model nemotron-h-8b --cluster dgx-h100 --nodes 1 --gbs 64 --seq-len 8192 --tp 2 "
      "--pp 2 --vpp 2 --emit megatron");
  CHECK(result.out.find("pretrain_hybrid.py") != std::string::npos);
  CHECK(result.out.find("hybrid_stack_spec") != std::string::npos);
  CHECK(result.out.find("--num-layers") == std::string::npos);
  CHECK(result.out.find("--pipeline-model-parallel-layout") == std::string::npos);
  CHECK(std::ranges::count(result.out, '|') == 3);
  const TemporaryFolder folder;
  const OrderedJson job =
      OrderedJson::parse(translate_job(folder.with("launch.sh", result.out))->json);
  CHECK(job.at("plan").at("layout") == "Et*13|t*13|t*13|t*13L");
}

TEST_CASE("a command line of Megatron-LM comes back as the same plan, but for what it says") {
  CHECK(round_trip(space_of("gpt-18b", "selene", 4, "megatron-lm-2021"), 19, false) > 50);
  CHECK(round_trip(space_of("llama-3-8b", "dgx-h100", 2, "megatron-core-2024"), 19, false) > 50);
}

TEST_CASE("Megatron-DeepSpeed's command line and ds_config.json together are the same plan") {
  CHECK(round_trip(space_of("gpt-18b", "jean-zay-a100", 4, "megatron-deepspeed-2022"), 19, true) >
        50);
}

/// The model of a command line.
Transformer emitted_model(const std::string& text) {
  const TemporaryFolder folder;
  const OrderedJson job = OrderedJson::parse(translate_job(folder.with("launch.sh", text))->json);
  return read_transformer(Document::from("model", nlohmann::json(job.at("model"))));
}

TEST_CASE("whatever a plan says comes back from Megatron's flags, unless none says it") {
  // Axes with values that have no flag, as the emitted plan says.
  const std::set<std::string> partly{"zero",           "sharding_group", "precision",
                                     "grad_precision", "fp8_recipe",     "cuda_graphs",
                                     "router_balance", "overlap",        "recompute_modules",
                                     "layout",         "dispatcher",     "dispatch_precision"};
  PlanDice dice(1);
  std::size_t whole = 0;
  for (const char* model :
       {"llama-3-8b", "gpt-18b", "mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite"}) {
    for (const char* software : {"megatron-core-2024", "nemo-26.04"}) {
      const Space space{shipped_inputs(model, "dgx-h100", 256, software), {}};
      const SearchInputs& inputs = space.inputs;
      const std::vector<Plan> plans =
          drawn_plans(dice, 40, inputs.model, inputs.cluster, inputs.software);
      REQUIRE(plans.size() == 40);
      for (const Plan& plan : plans) {
        const EmittedPlan emitted = launch_of("megatron", space.scenario(plan));
        CAPTURE(emitted.text);
        const std::set<std::string> fields = lost(space, plan, {emitted.text});
        for (const std::string& field : fields) {
          CAPTURE(field);
          // Tokens travel in the precision of layers, whose loss is told.
          if (field == "dispatch_precision" && fields.contains("precision")) continue;
          CHECK(told(emitted).contains(field));
          CHECK(partly.contains(field));
        }
        if (fields.empty()) ++whole;
      }
    }
  }
  CHECK(whole > 40);
}

TEST_CASE("experts, latent attention and windows come back from Megatron's flags") {
  for (const char* name : {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3", "deepseek-v2-lite",
                           "gpt-oss-20b", "llama4-maverick"}) {
    CAPTURE(name);
    const Space space{shipped_inputs(name, "dgx-h100", 256, "megatron-core-2026"), {}};
    const Transformer& model = space.inputs.model;
    Plan plan;
    plan.gbs = 8;
    plan.seq_len = 4096;
    const EmittedPlan emitted = launch_of("megatron", space.scenario(plan));
    CAPTURE(emitted.text);
    const Transformer back = emitted_model(emitted.text);
    CHECK(back.experts == model.experts);
    CHECK(back.latent == model.latent);
    CHECK(back.window == model.window);
    const bool chunks_told = told(emitted).contains("attention_chunk_size");
    CHECK((model.chunk > 0 ? chunks_told : back.full_every == model.full_every));
    CHECK(back.next_token_layers == model.next_token_layers);
    CHECK(back.qk_norm == model.qk_norm);
    CHECK(back.attention_sinks == model.attention_sinks);
    CHECK(total_parameters(back) == total_parameters(model));
  }
}

TEST_CASE("the model of an emitted command line is the model that was searched for") {
  for (const char* name : {"llama-3-70b", "gpt-18b", "bloom-176b"}) {
    CAPTURE(name);
    const bool bloom = std::string(name) == "bloom-176b";
    const Space space = space_of(name, bloom ? "jean-zay-a100" : "dgx-h100", 2,
                                 bloom ? "megatron-deepspeed-2022" : "megatron-core-2024");
    const Transformer back =
        emitted_model(launch_of("megatron", space.scenario(space.plans.front())).text);
    const Transformer& model = space.inputs.model;
    CHECK(total_parameters(back) == total_parameters(model));
    CHECK(back.kv_heads == model.kv_heads);
    CHECK(back.position == model.position);
    CHECK(back.norm == model.norm);
  }
}

TEST_CASE("the batch sizes of a ds_config.json multiply to one another") {
  const Space space = space_of("gpt-18b", "jean-zay-a100", 4, "megatron-deepspeed-2022");
  for (std::size_t i = 0; i < space.plans.size(); i += 97) {
    const Plan& plan = space.plans[i];
    const OrderedJson config =
        OrderedJson::parse(launch_of("deepspeed", space.scenario(plan)).text);
    CHECK(config.at("train_batch_size").get<std::int64_t>() ==
          plan.dp * config.at("train_micro_batch_size_per_gpu").get<std::int64_t>() *
              config.at("gradient_accumulation_steps").get<std::int64_t>());
    CHECK(config.at("zero_optimization").at("stage") == plan.zero);
  }
}

TEST_CASE("PyTorch FSDP gets its sharding strategy, precisions and accumulation steps") {
  const ProgramResult result = run_prequel(
      "predict --model mosaicgpt-7b --cluster mosaic-r1z1-a100-80gb --nodes 1 --gbs 64 --emit "
      "fsdp");
  CHECK(result.status == 0);
  CHECK(result.out ==
        "import torch\n"
        "from torch.distributed.fsdp import BackwardPrefetch, MixedPrecision, ShardingStrategy\n"
        "\n"
        "# FullyShardedDataParallel(model, **fsdp), wrapping each transformer block\n"
        "fsdp = dict(\n"
        "    sharding_strategy=ShardingStrategy.FULL_SHARD,\n"
        "    mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, "
        "reduce_dtype=torch.float32),\n"
        "    backward_prefetch=BackwardPrefetch.BACKWARD_PRE,\n"
        ")\n"
        "micro_batch_size = 1  # sequences on each GPU\n"
        "gradient_accumulation_steps = 8  # to 64 sequences an iteration\n"
        "checkpoint_blocks = True  # apply_activation_checkpointing on each transformer block\n");
  CHECK(result.err ==
        "left out: nodes: torchrun --nnodes 1 --nproc-per-node 8\n"
        "left out: seq_len: 2048 tokens: the data loader's\n"
        "left out: attention: flash: the model's code\n");
}

TEST_CASE("a launch asks for nothing that Megatron-LM refuses, or that trains nothing") {
  const auto launch = [](const std::string& plan) {
    return run_prequel("predict --cluster dgx-h100 --gbs 64 --mbs 1 --emit megatron " + plan);
  };
  const ProgramResult experts = launch("--model qwen3-30b-a3b --nodes 2 --ep 8 --seq-len 4096");
  CHECK(experts.out.find("force-load-balancing") == std::string::npos);
  CHECK(experts.err.find("left out: router_balance: forced") != std::string::npos);
  const ProgramResult alone = launch("--model llama-3-8b --nodes 1");
  CHECK(alone.out.find("--tp-comm-overlap") == std::string::npos);
  CHECK(alone.out.find("CUDA_DEVICE_MAX_CONNECTIONS") == std::string::npos);
  CHECK(alone.err.find("warning: this plan does not fit: ") != std::string::npos);
  const ProgramResult tensor =
      launch("--model llama-3-70b --nodes 8 --tp 8 --cp 8 --seq-len 131072 --recompute full");
  CHECK(tensor.out.starts_with("export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
  CHECK(tensor.out.find("--tp-comm-overlap") != std::string::npos);
  CHECK(tensor.out.find("--max-position-embeddings 131072") != std::string::npos);
  const ProgramResult muon = launch("--model llama-3-8b --nodes 1 --optimizer muon");
  CHECK(muon.out.find("--optimizer dist_muon") != std::string::npos);
  CHECK(muon.out.find("--use-distributed-optimizer") == std::string::npos);
}

TEST_CASE("FSDP2 is told by its own functions") {
  const std::string predict =
      "predict --model llama-3-8b --cluster dgx-h100 --software pytorch-fsdp2-2024 --nodes 4 --gbs "
      "256 --emit fsdp ";
  const ProgramResult result = run_prequel(predict);
  CHECK(result.status == 0);
  CHECK(result.out ==
        "import torch\n"
        "# PyTorch 2.4 and 2.5; from 2.6 on also torch.distributed.fsdp\n"
        "from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard\n"
        "\n"
        "fsdp = dict(\n"
        "    mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, "
        "reduce_dtype=torch.float32),\n"
        "    reshard_after_forward=True,\n"
        ")\n"
        "\n"
        "\n"
        "def shard(model, blocks):\n"
        "    for block in blocks:  # the transformer blocks, compiled as the prediction has them\n"
        "        block.compile()\n"
        "        fully_shard(block, **fsdp)\n"
        "    fully_shard(model, **fsdp)  # embedding and head\n"
        "\n"
        "\n"
        "micro_batch_size = 1  # sequences on each GPU\n"
        "gradient_accumulation_steps = 8  # to 256 sequences an iteration\n"
        "checkpoint_blocks = True  # apply_activation_checkpointing on each transformer block, "
        "before shard()\n");
  CHECK(run_prequel(predict + "--zero 2").out.find("reshard_after_forward=False,") !=
        std::string::npos);
  const ProgramResult unsharded = run_prequel(predict + "--zero 0");
  CHECK(unsharded.out.starts_with("micro_batch_size = 1"));
  CHECK(unsharded.err.find("left out: zero: fully_shard always shards") != std::string::npos);
  CHECK(run_prequel(predict + "--offload optimizer+params")
            .out.find("    offload_policy=CPUOffloadPolicy(),\n") != std::string::npos);
}

TEST_CASE("a launch of Megatron overlaps what was predicted to overlap") {
  const std::string predict =
      "predict --model llama-3-8b --cluster dgx-h100 --software megatron-core-2024 --nodes 4 --tp "
      "2 --pp 2 --gbs 256 --emit megatron ";
  const std::string both = run_prequel(predict).out;
  CHECK(both.find("  --overlap-grad-reduce \\\n  --overlap-param-gather \\\n") !=
        std::string::npos);
  const std::string gradients = run_prequel(predict + "--zero 0").out;
  CHECK(gradients.find("--overlap-grad-reduce") != std::string::npos);
  CHECK(gradients.find("--overlap-param-gather") == std::string::npos);
  CHECK(run_prequel(predict + "--set software.communication.gradient_overlap=none")
            .out.find("overlap") == std::string::npos);
  const std::string no_params = run_prequel(predict + "--overlap no-params").out;
  CHECK(no_params.find("--overlap-grad-reduce") != std::string::npos);
  CHECK(no_params.find("--overlap-param-gather") == std::string::npos);
  const std::string nothing = run_prequel(predict + "--overlap none").out;
  CHECK(nothing.find("--overlap-grad-reduce") == std::string::npos);
  CHECK(nothing.find("--no-overlap-p2p-communication") != std::string::npos);
  // The plan that comes back is priced alike.
  const TemporaryFolder folder;
  const std::string named = " --cluster dgx-h100 --software megatron-core-2024 --json -q";
  const auto seconds = [&](const std::string& arguments) {
    const ProgramResult result = run_prequel("predict " + arguments + named);
    CHECK(result.status == 0);
    return OrderedJson::parse(result.out).at("sec_per_iter").get<double>();
  };
  CHECK(seconds(folder.with("both.sh", both)) ==
        seconds("--model llama-3-8b --nodes 4 --tp 2 --pp 2 --gbs 256"));
  const std::string none =
      run_prequel(predict + "--set software.communication.gradient_overlap=none").out;
  CHECK(seconds(folder.with("none.sh", none)) ==
        seconds("--model llama-3-8b --nodes 4 --tp 2 --pp 2 --gbs 256 --set "
                "software.communication.gradient_overlap=none"));
  CHECK(seconds(folder.with("none.sh", none)) > seconds(folder.with("both.sh", both)));
  for (const auto& [file, text, overlap] :
       {std::tuple{"no-params.sh", no_params, " --overlap no-params"},
        std::tuple{"nothing.sh", nothing, " --overlap none"}}) {
    CHECK(seconds(folder.with(file, text)) ==
          seconds("--model llama-3-8b --nodes 4 --tp 2 --pp 2 --gbs 256" + std::string(overlap)));
  }
}

TEST_CASE("what FSDP does not have is said, and never guessed") {
  const Space space = space_of("gpt-18b", "dgx-h100", 4, "megatron-core-2024");
  for (std::size_t i = 0; i < space.plans.size(); i += 97) {
    const Plan& plan = space.plans[i];
    const EmittedPlan emitted = launch_of("fsdp", space.scenario(plan));
    CHECK(told(emitted).contains("tp") == (plan.tp > 1));
    CHECK(told(emitted).contains("pp") == (plan.pp > 1));
    CHECK(told(emitted).contains("zero") == (plan.zero == 1));
    CHECK((emitted.text.find("sharding_strategy") == std::string::npos) == (plan.zero == 1));
  }
}

TEST_CASE("what a framework leaves to the model's code is said of experts, formats and layouts") {
  const auto emitted = [](const std::string& framework) {
    const ProgramResult result = run_prequel(
        "predict --model deepseek-v2-lite --cluster nvidia-dgx-h100 --nodes 4 --gbs 256 --seq-len "
        "4096 --pp 2 --ep 8 --dispatcher deepep --precision fp8 --recompute selective "
        "--recompute-modules moe_act --layout 'Et*13|t*14L' --set plan.fp8_param_gather=true --set "
        "plan.fp8_activation_store=true --emit " +
        framework);
    CHECK(result.status == 0);
    for (const char* field :
         {"ep: 8", "dispatcher: deepep", "layout: Et*13|t*14L", "recompute_modules: moe_act",
          "precision: fp8", "fp8_param_gather", "fp8_activation_store"}) {
      CAPTURE(field);
      CHECK(result.err.find(std::string("left out: ") + field + ": the model's ") !=
            std::string::npos);
    }
    return result.out;
  };
  CHECK(OrderedJson::parse(emitted("deepspeed")).at("bf16").at("enabled") == true);
  CHECK(emitted("fsdp").find("param_dtype=torch.bfloat16") != std::string::npos);
}

TEST_CASE("search --emit prints the launch of the best plan, and nothing else on stdout") {
  const std::string search =
      "search --model bloom-176b --cluster jean-zay-a100 --nodes 48 --gbs 2048 --risk 0 ";
  const ProgramResult result = run_prequel(search + "--emit megatron");
  CHECK(result.status == 0);
  CHECK(result.out.starts_with("export CUDA_LAUNCH_BLOCKING=1\ntorchrun --nnodes 48 "));
  CHECK(result.out.find("  --tensor-model-parallel-size 8 \\\n") != std::string::npos);
  CHECK(result.err.starts_with("the best of "));
  CHECK(result.err.find(": 48 nodes, dp 4 tp 8 pp 12 ") != std::string::npos);
  CHECK(result.err.ends_with("left out: ds_config.json: --emit deepspeed prints it\n"));
  CHECK(run_prequel("-q " + search + "--emit megatron").err.empty());
  const ProgramResult none = run_prequel(search + "--tp 8 --pp 13 --emit megatron");
  CHECK(none.status == 1);
  CHECK(none.out.find("No plan is legal") != std::string::npos);
  CHECK(run_prequel(search + "--emit fsdp --csv").err ==
        "prequel: --csv excludes --emit\nprequel --help shows how to call it\n");
  CHECK(run_prequel(search + "--pareto --csv").status == 2);
  CHECK(run_prequel(search + "--emit jax").err ==
        "prequel: --emit: jax not in {megatron,deepspeed,fsdp}\n"
        "prequel --help shows how to call it\n");
}

}  // namespace
}  // namespace prequel
