#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"
#include "hw/device.hpp"
#include "models/plan/gathers.hpp"

namespace prequel {
namespace {

/// PyTorch's own stacks since 2024 take fully_shard; Composer wraps FullyShardedDataParallel.
bool is_fsdp2(const Scenario& scenario) {
  return scenario.software.framework.starts_with("pytorch-fsdp");
}

/// As in torch/distributed/fsdp/api.py; empty where it has none.
std::string_view sharding_strategy(const Plan& plan) {
  const bool hybrid = plan.sharding_group == ShardingGroup::node;
  switch (plan.zero) {
    case 0: return "NO_SHARD";
    case 2: return hybrid ? "_HYBRID_SHARD_ZERO2" : "SHARD_GRAD_OP";
    case 3: return hybrid ? "HYBRID_SHARD" : "FULL_SHARD";
    default: return {};
  }
}

std::string_view torch_type(Precision precision) {
  switch (precision) {
    case Precision::fp16: return "torch.float16";
    case Precision::bf16:
    case Precision::fp8:  // products alone are narrower
    case Precision::fp4: return "torch.bfloat16";
    default: return "torch.float32";
  }
}

std::vector<LeftOut> left_out_of_fsdp(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  std::vector<LeftOut> left_out = left_to_model_code(scenario);
  const auto leave = [&](const char* field, std::string why) {
    left_out.push_back({field, std::move(why)});
  };
  leave("nodes", fmt::format("torchrun --nnodes {} --nproc-per-node {}", plan.nodes,
                             plan.gpus / plan.nodes));
  leave("seq_len", fmt::format("{} tokens: the data loader's", plan.seq_len));
  if (plan.tp > 1) {
    leave("tp", fmt::format("{}: torch.distributed.tensor.parallel splits layers", plan.tp));
  }
  if (plan.cp > 1) {
    leave("cp", fmt::format("{}: torch.distributed.tensor.experimental.context_parallel", plan.cp));
  }
  if (plan.sequence_parallel) {
    leave("sequence_parallel", "SequenceParallel of torch.distributed.tensor.parallel");
  }
  if (plan.pp > 1) {
    leave("pp", fmt::format("{}: torch.distributed.pipelining makes stages", plan.pp));
    leave("schedule",
          std::string(name(plan.schedule)) + ": torch.distributed.pipelining has schedules");
    if (plan.vpp > 1) leave("vpp", "torch.distributed.pipelining interleaves stages");
    if (plan.stage_split == StageSplit::embedding_as_layer) {
      leave("stage_split", "torch.distributed.pipelining splits where it is told");
    }
  }
  if (plan.zero == 1) {
    leave("zero", fmt::format("FSDP shards gradients too ({}); for stage 1 there is "
                              "DistributedDataParallel with ZeroRedundancyOptimizer",
                              is_fsdp2(scenario) ? "fully_shard" : "SHARD_GRAD_OP"));
  }
  if (plan.zero == 0 && is_fsdp2(scenario)) {
    leave("zero", "fully_shard always shards; for stage 0 there is DistributedDataParallel");
  }
  if (plan.sharding_group == ShardingGroup::node && is_fsdp2(scenario)) {
    leave("sharding_group", "node: fully_shard takes a mesh of nodes and of the devices in each");
  }
  if (plan.offload == Offload::optimizer) {
    leave("offload", "FSDP moves the optimizer to host memory with the parameters only");
  }
  if (plan.recompute == Recompute::selective) {
    leave("recompute", "selective: torch.utils.checkpoint takes a policy");
  }
  if (plan.precision == Precision::tf32) {
    leave("precision", "torch.backends.cuda.matmul.allow_tf32 in the program");
  }
  leave("attention", fmt::format("{}: the model's code", name(plan.attention)));
  if (scenario.software.framework.find("fsdp") == std::string::npos) {
    leave("software", "predicted for " + scenario.software.name + ", not for FSDP");
  }
  return left_out;
}

std::string mixed_precision(const char* type, const Plan& plan) {
  return fmt::format("{}(param_dtype={}, reduce_dtype={})", type, torch_type(plan.precision),
                     torch_type(plan.grad_precision));
}

/// FullyShardedDataParallel, of PyTorch 1.12 on.
std::string fsdp1(const Plan& plan) {
  const bool offload = plan.offload == Offload::optimizer_params;
  const std::string_view strategy = sharding_strategy(plan);
  std::string text = fmt::format(
      "import torch\n"
      "from torch.distributed.fsdp import BackwardPrefetch, {}MixedPrecision, ShardingStrategy\n"
      "\n"
      "# FullyShardedDataParallel(model, **fsdp), wrapping each transformer block\n"
      "fsdp = dict(\n",
      offload ? "CPUOffload, " : "");
  if (!strategy.empty()) {
    text += fmt::format("    sharding_strategy=ShardingStrategy.{},\n", strategy);
  }
  text += fmt::format(
      "    mixed_precision={},\n"
      "    backward_prefetch=BackwardPrefetch.BACKWARD_PRE,\n",
      mixed_precision("MixedPrecision", plan));
  if (offload) text += "    cpu_offload=CPUOffload(offload_params=True),\n";
  return text + ")\n";
}

/// fully_shard; its prefetching is its own.
std::string fsdp2(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const bool offload = plan.offload == Offload::optimizer_params;
  const bool sharded = plan.zero >= 2;
  if (!sharded) return {};
  std::string text = "import torch\n";
  text += fmt::format(
      "# PyTorch 2.4 and 2.5; from 2.6 on also torch.distributed.fsdp\n"
      "from torch.distributed._composable.fsdp import {}MixedPrecisionPolicy, fully_shard\n"
      "\n"
      "fsdp = dict(\n"
      "    mp_policy={},\n"
      "    reshard_after_forward={},\n",
      offload ? "CPUOffloadPolicy, " : "", mixed_precision("MixedPrecisionPolicy", plan),
      gathers_of(plan, scenario.software) == Gathers::each_pass ? "True" : "False");
  if (offload) text += "    offload_policy=CPUOffloadPolicy(),\n";
  const bool compiled = plan.compile || !scenario.software.kernels.may_be_eager();
  text +=
      ")\n"
      "\n"
      "\n"
      "def shard(model, blocks):\n";
  text += compiled
              ? "    for block in blocks:  # the transformer blocks, compiled as the prediction "
                "has them\n"
                "        block.compile()\n"
              : "    for block in blocks:  # the transformer blocks, not compiled\n";
  return text +
         "        fully_shard(block, **fsdp)\n"
         "    fully_shard(model, **fsdp)  # embedding and head\n"
         "\n"
         "\n";
}

}  // namespace

EmittedPlan emit_fsdp(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  std::string text = is_fsdp2(scenario) ? fsdp2(scenario) : fsdp1(plan);
  text += fmt::format("micro_batch_size = {}  # sequences on each GPU\n", plan.mbs);
  text += fmt::format("gradient_accumulation_steps = {}  # to {} sequences an iteration\n",
                      plan.micro_batches(), plan.gbs);
  if (plan.recompute == Recompute::full) {
    text += fmt::format(
        "checkpoint_blocks = True  # apply_activation_checkpointing on each transformer block{}\n",
        is_fsdp2(scenario) && plan.zero >= 2 ? ", before shard()" : "");
  }
  return {std::move(text), left_out_of_fsdp(scenario)};
}

}  // namespace prequel
