#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/emit/emitted_plan.hpp"
#include "hw/device.hpp"
#include "models/plan/overlap.hpp"

namespace prequel {
namespace {

using Json = nlohmann::ordered_json;

/// As in deepspeed/runtime/zero/config.py; what the stack was measured with comes along.
Json zero_section(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const Software& software = scenario.software;
  Json zero{{"stage", plan.zero}};
  if (plan.zero == 0) return zero;
  // Stage 3 reduces layer by layer beside the passes unless it is told not to.
  zero["overlap_comm"] =
      plan.zero == 3 ? !plan.overlap.has(Overlapped::no_grads) : reduces_beside(plan, software);
  if (plan.offload != Offload::none) {
    zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  }
  if (plan.offload == Offload::optimizer_params) {
    zero["offload_param"] = {{"device", "cpu"}, {"pin_memory", true}};
  }
  return zero;
}

/// Returns the settings left to the launcher, Megatron-DeepSpeed's command line and the model's
/// code.
std::vector<LeftOut> left_out_of_deepspeed(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  std::vector<LeftOut> left_out = left_to_model_code(scenario);
  const auto leave = [&](const char* field, std::string why) {
    left_out.push_back({field, std::move(why)});
  };
  leave("nodes",
        fmt::format("deepspeed --num_nodes {} --num_gpus {}", plan.nodes, plan.gpus / plan.nodes));
  leave("seq_len", fmt::format("{} tokens: the data loader's", plan.seq_len));
  if (plan.tp > 1) {
    leave("tp", fmt::format("--tensor-model-parallel-size {} of Megatron-DeepSpeed", plan.tp));
  }
  if (plan.pp > 1) {
    leave("pp", fmt::format("--pipeline-model-parallel-size {} of Megatron-DeepSpeed", plan.pp));
    if (plan.stage_split == StageSplit::embedding_as_layer) {
      leave("stage_split", "--pp-partition-method 'type:transformer|embedding'");
    }
    if (plan.vpp > 1) leave("vpp", "DeepSpeed's pipeline has one chunk of layers a stage");
    if (plan.schedule != Schedule::one_f_one_b) {
      leave("schedule", fmt::format("DeepSpeed has no {}; it runs 1f1b", name(plan.schedule)));
    }
  }
  if (plan.sequence_parallel) leave("sequence_parallel", "--sequence-parallel of Megatron");
  if (plan.cp > 1) {
    leave("cp", fmt::format("{}: the model's code shares sequences out ({})", plan.cp,
                            name(plan.cp_comm)));
  }
  if (plan.recompute != Recompute::none) {
    leave("recompute", fmt::format("{}: the model's code calls the checkpoints "
                                   "(--checkpoint-activations of Megatron-DeepSpeed)",
                                   name(plan.recompute)));
  }
  if (plan.precision == Precision::tf32) {
    leave("precision", "torch.backends.cuda.matmul.allow_tf32 in the program");
  }
  leave("attention", fmt::format("{}: the model's code", name(plan.attention)));
  if (scenario.software.framework.find("deepspeed") == std::string::npos) {
    leave("software", "predicted for " + scenario.software.name + ", not for DeepSpeed");
  }
  return left_out;
}

}  // namespace

EmittedPlan emit_deepspeed(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  Json config{{"train_batch_size", plan.gbs},
              {"train_micro_batch_size_per_gpu", plan.mbs},
              {"gradient_accumulation_steps", plan.micro_batches()},
              {"zero_optimization", zero_section(scenario)}};
  // Around narrower products all is in bf16.
  const Precision around = is_quantized(plan.precision) ? Precision::bf16 : plan.precision;
  const bool half = around == Precision::fp16 || around == Precision::bf16;
  if (half) config[std::string(name(around))] = {{"enabled", true}};
  if (half) config["data_types"] = {{"grad_accum_dtype", name(plan.grad_precision)}};
  if (plan.recompute != Recompute::none) {
    config["activation_checkpointing"] = {
        {"partition_activations", plan.distribute_saved_activations}, {"cpu_checkpointing", false}};
  }
  return {config.dump(2) + "\n", left_out_of_deepspeed(scenario)};
}

}  // namespace prequel
