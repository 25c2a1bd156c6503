#include "cli/import/settings/megatron_flags.hpp"

#include "cli/import/settings/flag_effects.hpp"
#include "models/plan/router_balance.hpp"

namespace prequel {
namespace {

/// Megatron's own FSDP and PyTorch's, through its flags.
void shard_all(ImportedJob& job) {
  job.megatron_core = true;
  job.plan.zero = 3;
}

/// Megatron's name since 2022, its older one, and DeepSpeed's.
void distribute_saved_activations(ImportedJob& job) {
  job.plan.distribute_saved_activations = true;
}

/// Schedules that split the backward pass (arXiv 2401.10241); H1 is the one in the memory of 1F1B.
void zero_bubble(ImportedJob& job) {
  if (!job.plan.schedule || !traits(*job.plan.schedule).folded) {
    job.plan.schedule = Schedule::zb_h1;
  }
}

void zero_bubble_v(ImportedJob& job) {
  if (!job.plan.schedule || !traits(*job.plan.schedule).folded) in_a_v<Schedule::zb_v>(job);
}

template <Overlapped kWork>
void beside(ImportedJob& job) {
  if (!job.plan.overlap) job.plan.overlap.emplace();
  job.plan.overlap->add(kWork);
}

constexpr SwitchFlag kSwitches[] = {
    {"--swiglu", gated_in_two_thirds},
    {"--geglu", gated_by_gelu},
    {"--quick-geglu", gated_by_gelu},
    {"--no-pipeline-parallel", [](ImportedJob&) {}},
    {"--enable-shared-expert", [](ImportedJob&) {}},  // Pai's, beside their number or width
    {"--gated-linear-unit", gated},
    {"--llama-block", llama_block},                                            // in configurations
    {"--RMSNorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},  // Megatron-LLaMA's
    {"--overlapped-distributed-optimizer", distribute_optimizer},
    {"--rmsnorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},  // Yuan's
    {"--use-rms-norm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--rms-norm-eps", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--no-tie-embed-logits", [](ImportedJob& job) { job.model.tied_embeddings = false; }},
    {"--alibi", [](ImportedJob& job) { job.model.position = PositionEmbedding::alibi; }},
    {"--rope", rotary},
    {"--fsdp-offload-params", offload_all},
    {"--no-reshard-after-forward", [](ImportedJob& job) { job.plan.zero = 2; }},
    {"--tp-recompute-allgather", [](ImportedJob& job) { job.keeps_gathers = false; }},
    {"--no-tp-recompute-allgather", [](ImportedJob& job) { job.keeps_gathers = true; }},
    {"--disable-gradient-checkpointing", [](ImportedJob&) {}},
    {"--attention-output-gate",
     [](ImportedJob& job) { job.model.mixers["attn_output_gate"] = "true"; }},
    {"--mtp-use-repeated-layer",
     [](ImportedJob& job) { job.model.mixers["mtp_use_repeated_layer"] = "true"; }},
    {"--is-hybrid-model", [](ImportedJob&) {}},
    {"--squared-relu", [](ImportedJob& job) { job.model.mlp = Mlp::squared_relu; }},
    {"--post-norm", [](ImportedJob& job) { job.model.post_norms = true; }},  // MindSpeed-LLM's
    {"--qk-layernorm", [](ImportedJob& job) { job.model.qk_norm = true; }},
    {"--add-qkv-bias", [](ImportedJob& job) { job.model.qkv_bias = true; }},
    {"--multi-latent-attention", [](ImportedJob& job) { job.megatron_core = true; }},
    {"--moe-shared-expert-gate", [](ImportedJob& job) { job.model.experts.shared_gate = true; }},
    {"--tied-embeddings", [](ImportedJob& job) { job.model.tied_embeddings = true; }},
    {"--no-weight-tying", [](ImportedJob& job) { job.model.tied_embeddings = false; }},
    {"--group-query-attention", [](ImportedJob& job) { job.grouped_queries = true; }},
    {"--use-mcore-models", [](ImportedJob& job) { job.megatron_core = true; }},
    {"--deepspeed", [](ImportedJob& job) { job.deepspeed = true; }},
    {"--no-position-embedding",
     [](ImportedJob& job) {
       if (!job.model.position) job.model.position = PositionEmbedding::none;
     }},
    {"--fp8-format", products_in_fp8},
    {"--fp8", products_in_fp8},  // in a dump
    {"--fp8-e4m3", products_in_fp8},
    {"--fp8-hybrid", products_in_fp8},
    {"--fp4-format", [](ImportedJob& job) { job.plan.precision = Precision::fp4; }},
    {"--fp4", [](ImportedJob& job) { job.plan.precision = Precision::fp4; }},
    {"--multi-query-attention", [](ImportedJob& job) { job.model.kv_heads = 1; }},  // OLMo's
    {"--distribute-saved-activations", distribute_saved_activations},
    {"--distribute-checkpointed-activations", distribute_saved_activations},
    {"--partition-activations", distribute_saved_activations},
    {"--fp8-param-gather", [](ImportedJob& job) { job.plan.fp8_param_gather = true; }},
    {"--fp8-dot-product-attention", [](ImportedJob& job) { job.plan.fp8_attention = true; }},
    {"--activation-func-fp8-input-store",
     [](ImportedJob& job) { job.plan.fp8_activation_store = true; }},
    {"--enable-cuda-graph", [](ImportedJob& job) { job.graphs = true; }},
    {"--external-cuda-graph", [](ImportedJob& job) { job.graphs = true; }},
    {"--fp4-param-gather", [](ImportedJob& job) { job.plan.fp8_param_gather = true; }},
    {"--tp-comm-overlap", beside<Overlapped::tp>},
    {"--overlap-moe-expert-parallel-comm", beside<Overlapped::ep>},
    {"--delay-wgrad-compute", beside<Overlapped::wgrad>},
    {"--moe-shared-expert-overlap", beside<Overlapped::shared_experts>},
    {"--no-overlap-p2p-communication", beside<Overlapped::no_p2p>},
    {"--moe-enable-deepep", flexes<Dispatcher::deepep>},
    {"--moe-router-force-load-balancing",
     [](ImportedJob& job) {
       if (!job.plan.router_balance) job.plan.router_balance = kForcedBalance;
     }},
    {"--moe-pad-expert-input-to-capacity", [](ImportedJob&) {}},
    {"--disable-moe-token-dropping", [](ImportedJob&) {}},
    {"--fine-grained-activation-offloading", [](ImportedJob&) {}},
    {"--use-precision-aware-optimizer", [](ImportedJob&) {}},
    {"--overlap-grad-reduce", [](ImportedJob& job) { job.megatron_core = true; }},
    {"--overlap-param-gather", [](ImportedJob& job) { job.megatron_core = true; }},
    {"--pure-bf16", all_in_bf16},
    {"--levanter", [](ImportedJob&) {}},  // in configurations, as is the next
    {"--verl", [](ImportedJob&) {}},
    {"--use-torch-fsdp2", shard_all},
    {"--use-custom-fsdp", shard_all},
    {"--use-megatron-fsdp", shard_all},
    {"--gradient-checkpointing", recompute_all},
    {"--activation-checkpointing", recompute_all},
    {"--compile", [](ImportedJob&) {}},
    {"--moe-expert-model-parallelism", [](ImportedJob&) {}},  // of megablocks: over all of dp
    {"--mesh-dim", [](ImportedJob&) {}},  // of JAX's programs, whose batches are of all devices
    {"--gpt-j-residual", [](ImportedJob& job) { job.model.parallel_block = true; }},
    {"--parallel-attn", [](ImportedJob& job) { job.model.parallel_block = true; }},
    {"--cross-entropy-loss-fusion",
     [](ImportedJob& job) { job.plan.loss = job.plan.loss.value_or(LossForm::compiled); }},
    {"--optimizer-cpu-offload", [](ImportedJob& job) { job.plan.offload = Offload::optimizer; }},
    {"--disable-bias-linear", [](ImportedJob& job) { job.model.linear_bias = false; }},
    {"--untie-embeddings-and-output-weights",
     [](ImportedJob& job) { job.model.tied_embeddings = false; }},
    {"--embed-layernorm", [](ImportedJob& job) { job.model.embedding_norm = true; }},
    {"--use-rotary-position-embeddings", rotary},
    {"--use-llama2-rotary-position-embeddings", rotary},
    {"--fp16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--bf16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--sequence-parallel", [](ImportedJob& job) { job.plan.sequence_parallel = true; }},
    {"--use-distributed-optimizer", distribute_optimizer},
    {"--use-flash-attn", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--use-flash-attn-v2", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--use-flash-attention-2",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--use-flash-attn-triton",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--enable-zero-bubble", zero_bubble},
    {"--enable-zb-runtime", zero_bubble},
    {"--zero-bubble-v-schedule", zero_bubble_v},
    {"--checkpoint-activations", recompute_all},
    {"--recompute", recompute_all},  // PaddleNLP's
    {"--recompute-activations",
     [](ImportedJob& job) { job.plan.recompute = Recompute::selective; }},
    {"--accumulate-allreduce-grads-in-fp32",
     [](ImportedJob& job) { job.plan.grad_precision = Precision::fp32; }},
    {"--grad-reduce-in-bf16", [](ImportedJob& job) { job.plan.grad_precision = Precision::bf16; }},
    {"--no-masked-softmax-fusion", [](ImportedJob&) {}},  // of Megatron's own attention
    {"--account-for-embedding-in-pipeline-split",
     [](ImportedJob& job) { job.plan.stage_split = StageSplit::embedding_as_layer; }},
    {"--account-for-loss-in-pipeline-split",
     [](ImportedJob& job) { job.plan.stage_split = StageSplit::embedding_as_layer; }},
    {"--cpu-offload", [](ImportedJob& job) { job.plan.offload = Offload::optimizer; }},
};

}  // namespace

std::span<const SwitchFlag> switch_flags() {
  return kSwitches;
}

}  // namespace prequel
