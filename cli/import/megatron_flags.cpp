#include "cli/import/megatron_flags.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "models/plan/router_balance.hpp"

namespace prequel {
namespace {

using Count = std::optional<std::int64_t>;

constexpr NumberFlag kNumbers[] = {
    {"--num-layers", [](ImportedJob& job) -> Count& { return job.model.layers; }},
    {"--hidden-size", [](ImportedJob& job) -> Count& { return job.model.hidden; }},
    {"--hidden-width", [](ImportedJob& job) -> Count& { return job.model.hidden; }},
    {"--num-heads", [](ImportedJob& job) -> Count& { return job.model.heads; }},
    {"--max-context-width", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--num-attention-heads", [](ImportedJob& job) -> Count& { return job.model.heads; }},
    {"--num-query-groups", [](ImportedJob& job) -> Count& { return job.query_groups; }},
    {"--num-key-value-heads", [](ImportedJob& job) -> Count& { return job.model.kv_heads; }},
    {"--kv-channels", [](ImportedJob& job) -> Count& { return job.model.head_dim; }},
    {"--ffn-hidden-size", [](ImportedJob& job) -> Count& { return job.model.ffn_hidden; }},
    {"--intermediate-size", [](ImportedJob& job) -> Count& { return job.model.ffn_hidden; }},
    {"--n-head-kv", [](ImportedJob& job) -> Count& { return job.model.kv_heads; }},
    {"--vocab-size", [](ImportedJob& job) -> Count& { return job.model.vocab; }},
    {"--pad-vocab-size-to", [](ImportedJob& job) -> Count& { return job.padded_vocab; }},
    {"--padded-vocab-size", [](ImportedJob& job) -> Count& { return job.padded_vocab; }},
    {"--extra-vocab-size", [](ImportedJob& job) -> Count& { return job.extra_vocab; }},
    {"--max-position-embeddings",
     [](ImportedJob& job) -> Count& { return job.model.max_positions; }},
    {"--seq-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--micro-batch-size", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--global-batch-size", [](ImportedJob& job) -> Count& { return job.plan.gbs; }},
    {"--tensor-model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.tp; }},
    {"--pipeline-model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.pp; }},
    {"--pipe-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.pp; }},
    {"--context-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.cp; }},
    {"--ds-sequence-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.cp; }},
    {"--num-layers-per-virtual-pipeline-stage",
     [](ImportedJob& job) -> Count& { return job.layers_per_virtual_stage; }},
    {"--num-virtual-stages-per-pipeline-rank",
     [](ImportedJob& job) -> Count& { return job.plan.vpp; }},
    {"--virtual-pipeline-model-parallel-size",
     [](ImportedJob& job) -> Count& { return job.plan.vpp; }},
    {"--recompute-num-layers",
     [](ImportedJob& job) -> Count& { return job.plan.recompute_layers; }},
    {"--cpu-offloading-num-layers",
     [](ImportedJob& job) -> Count& { return job.plan.offload_layers; }},
    {"--checkpoint-num-layers",
     [](ImportedJob& job) -> Count& { return job.plan.recompute_layers; }},
    {"--activations-checkpoint-num-layers",
     [](ImportedJob& job) -> Count& { return job.plan.recompute_layers; }},
    {"--moe-router-topk", [](ImportedJob& job) -> Count& { return job.model.experts.top_k; }},
    {"--moe-ffn-hidden-size",
     [](ImportedJob& job) -> Count& { return job.model.experts.ffn_hidden; }},
    {"--moe-shared-expert-intermediate-size",
     [](ImportedJob& job) -> Count& { return job.model.experts.shared_hidden; }},
    {"--shared-moe-ffn-hidden-size",  // Pai's
     [](ImportedJob& job) -> Count& { return job.model.experts.shared_hidden; }},
    {"--moe-router-num-groups",
     [](ImportedJob& job) -> Count& { return job.model.experts.groups; }},
    {"--moe-router-group-topk",
     [](ImportedJob& job) -> Count& { return job.model.experts.groups_chosen; }},
    {"--q-lora-rank", [](ImportedJob& job) -> Count& { return job.model.latent.q_rank; }},
    {"--kv-lora-rank", [](ImportedJob& job) -> Count& { return job.model.latent.kv_rank; }},
    {"--qk-head-dim", [](ImportedJob& job) -> Count& { return job.model.latent.nope; }},
    {"--qk-pos-emb-head-dim", [](ImportedJob& job) -> Count& { return job.model.latent.rope; }},
    {"--v-head-dim", [](ImportedJob& job) -> Count& { return job.model.latent.value; }},
    {"--mtp-num-layers", [](ImportedJob& job) -> Count& { return job.model.next_token_layers; }},
    {"--expert-model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.ep; }},
    {"--expert-tensor-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.etp; }},
    {"--num-distributed-optimizer-instances",
     [](ImportedJob& job) -> Count& { return job.optimizer_instances; }},
    {"--decoder-first-pipeline-num-layers",
     [](ImportedJob& job) -> Count& { return job.first_stage_layers; }},
    {"--decoder-last-pipeline-num-layers",
     [](ImportedJob& job) -> Count& { return job.last_stage_layers; }},
    {"--window-attn-skip-freq", [](ImportedJob& job) -> Count& { return job.model.full_every; }},
    {"--model-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.tp; }},
    {"--ulysses-sequence-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.cp; }},
    {"--batch-size", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--zero-stage", [](ImportedJob& job) -> Count& { return job.plan.zero; }},
    {"--nnodes", [](ImportedJob& job) -> Count& { return job.plan.nodes; }},
    {"--num-nodes", [](ImportedJob& job) -> Count& { return job.plan.nodes; }},
    {"--nproc-per-node", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--num-gpus", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--ntasks", [](ImportedJob& job) -> Count& { return job.tasks; }},
    {"--ntasks-per-node", [](ImportedJob& job) -> Count& { return job.tasks_per_node; }},
    {"--tasks-per-node", [](ImportedJob& job) -> Count& { return job.tasks_per_node; }},
    {"--num-machines", [](ImportedJob& job) -> Count& { return job.plan.nodes; }},
    {"--num-processes", [](ImportedJob& job) -> Count& { return job.gpus; }},
    {"--local-batch-size", [](ImportedJob& job) -> Count& { return job.torchtitan.local_batch; }},
    {"--pipeline-parallel-microbatch-size",
     [](ImportedJob& job) -> Count& { return job.torchtitan.micro_batch; }},
    {"--pipeline-parallel-microbatches",
     [](ImportedJob& job) -> Count& { return job.torchtitan.micro_batches; }},
    {"--pipeline-parallel-layers-per-stage",
     [](ImportedJob& job) -> Count& { return job.torchtitan.layers_per_stage; }},
    {"--data-parallel-replicate-degree",
     [](ImportedJob& job) -> Count& { return job.torchtitan.replicate; }},
    {"--shard-degree", [](ImportedJob& job) -> Count& { return job.sharding_ranks; }},
    {"--data-parallel-shard-degree",
     [](ImportedJob& job) -> Count& { return job.torchtitan.shard; }},
    {"--train-micro-batch-size-per-gpu", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--data-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.dp; }},
    {"--global-num-gpus", [](ImportedJob& job) -> Count& { return job.gpus; }},
    {"--per-device-train-batch-size", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--max-seq-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--model-max-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--gradient-accumulation-steps",
     [](ImportedJob& job) -> Count& { return job.gradient_accumulation_steps; }},
    {"--inner-hidden-size", [](ImportedJob& job) -> Count& { return job.model.ffn_hidden; }},
    {"--num-attention-heads-kv", [](ImportedJob& job) -> Count& { return job.model.kv_heads; }},
    {"--multiple-of", [](ImportedJob& job) -> Count& { return job.ffn_multiple; }},
    {"--mlp-multiple-of", [](ImportedJob& job) -> Count& { return job.ffn_multiple; }},
    {"--mlp-hidden-size", [](ImportedJob& job) -> Count& { return job.ffn_halves; }},
    {"--mlp-ratio", [](ImportedJob& job) -> Count& { return job.ffn_ratio; }},
    {"--expansion-ratio", [](ImportedJob& job) -> Count& { return job.ffn_ratio; }},
    {"--micro-train-batch-size", [](ImportedJob& job) -> Count& { return job.plan.mbs; }},
    {"--moe-intermediate-size",
     [](ImportedJob& job) -> Count& { return job.model.experts.ffn_hidden; }},
    {"--first-k-dense-replace",
     [](ImportedJob& job) -> Count& { return job.model.experts.first_dense; }},
    {"--n-shared-experts", [](ImportedJob& job) -> Count& { return job.shared_experts; }},
    {"--qk-nope-head-dim", [](ImportedJob& job) -> Count& { return job.model.latent.nope; }},
    {"--qk-rope-head-dim", [](ImportedJob& job) -> Count& { return job.model.latent.rope; }},
    {"--topk", [](ImportedJob& job) -> Count& { return job.model.experts.top_k; }},
    {"--moe-top-k", [](ImportedJob& job) -> Count& { return job.model.experts.top_k; }},
    {"--expert-interval", [](ImportedJob& job) -> Count& { return job.model.experts.every; }},
    {"--moe-expert-parallel-size", [](ImportedJob& job) -> Count& { return job.plan.ep; }},
    {"--block-size", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--max-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--max-seq-len", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--sequence-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
    {"--context-length", [](ImportedJob& job) -> Count& { return job.plan.seq_len; }},
};

/// Slurm's counts of devices, `8` or `a100:8` or `gpu:a100:8`, and the field that they set.
constexpr NumberFlag kDevices[] = {
    {"--gpus-per-node", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--gpus-per-task", [](ImportedJob& job) -> Count& { return job.gpus_per_task; }},
    {"--gres", [](ImportedJob& job) -> Count& { return job.gpus_per_node; }},
    {"--gpus", [](ImportedJob& job) -> Count& { return job.gpus; }},
};

/// fp8 and fp4 go with a type for what is in neither.
void products_in(ImportedJob& job, Precision precision) {
  if (!is_quantized(job.plan.precision.value_or(precision))) job.plan.precision = precision;
}
void products_in_fp8(ImportedJob& job) {
  if (job.plan.precision != Precision::fp4) job.plan.precision = Precision::fp8;
}

/// Recipes of NeMo and Bridge name all of it in one word.
template <Fp8Recipe kRecipe>
void mixed(ImportedJob& job) {
  job.plan.precision = kRecipe == Fp8Recipe::nvfp4 ? Precision::fp4 : Precision::fp8;
  job.plan.fp8_recipe = kRecipe;
}
template <Fp8Recipe kRecipe>
void scaled(ImportedJob& job) {
  job.plan.fp8_recipe = kRecipe;
}

template <Overlapped kWork>
void beside(ImportedJob& job) {
  if (!job.plan.overlap) job.plan.overlap.emplace();
  job.plan.overlap->add(kWork);
}

template <Dispatcher kDispatcher>
void dispatches(ImportedJob& job) {
  job.plan.dispatcher = kDispatcher;
}
template <Dispatcher kBackend>
void flexes(ImportedJob& job) {
  job.said[kFlexBackend] = static_cast<std::int64_t>(kBackend);
}

template <Precision kFormat>
void first_moment(ImportedJob& job) {
  job.moments[0] = kFormat;
}
template <Precision kFormat>
void second_moment(ImportedJob& job) {
  job.moments[1] = kFormat;
}

/// Words of an enumeration, by its own names.
template <class Enum>
bool take_words(std::optional<WordSet<Enum>>& field, const std::vector<std::string>& words) {
  WordSet<Enum> set;
  for (const std::string& word : words) {
    const auto value = named<Enum>(word);
    if (!value) return false;
    set.add(*value);
  }
  field = set;
  return true;
}

/// Megatron's own FSDP and PyTorch's, through its flags.
void shard_all(ImportedJob& job) {
  job.megatron_core = true;
  job.plan.zero = 3;
}

void distribute_optimizer(ImportedJob& job) {
  job.plan.zero = std::max<std::int64_t>(1, job.plan.zero.value_or(1));
}

void gated(ImportedJob& job) {
  job.model.mlp = Mlp::swiglu;
}

/// Megatron's --swiglu narrows the MLP so that it keeps the parameters of a plain one.
void gated_in_two_thirds(ImportedJob& job) {
  gated(job);
  job.narrowed_mlp = true;
}

void full(ImportedJob& job) {
  job.said.try_emplace(kFullySharded, 1);
  job.plan.zero = 3;
}

/// Sharded within a node.
void hybrid(ImportedJob& job) {
  full(job);
  job.plan.sharding_group = ShardingGroup::node;
}

/// GPT-NeoX's: two thirds of four times the width, rounded up as Llama's own code does.
void llama_mlp(ImportedJob& job) {
  gated(job);
  if (!job.ffn_multiple) job.ffn_multiple = 256;
}

/// Llama's block, where a script names the family and gives sizes alone.
void llama_block(ImportedJob& job) {
  gated(job);
  job.model.norm = Norm::rms_norm;
  job.model.position = PositionEmbedding::rope;
  job.model.linear_bias = job.model.tied_embeddings = false;
}

void rotary(ImportedJob& job) {
  job.model.position = PositionEmbedding::rope;
}

/// Weights and states in 16 bits alone, without the optimizer's own copy.
void all_in_bf16(ImportedJob& job) {
  products_in(job, Precision::bf16);
  job.plan.grad_precision = Precision::bf16;
  job.moments = {Precision::bf16, Precision::bf16};
  job.report.left_out.emplace_back(
      "weights in bf16 alone: predicted with the copy in fp32 that mixed precision keeps, which "
      "takes more memory");
}

void recompute_all(ImportedJob& job) {
  job.plan.recompute = Recompute::full;
}

/// Megatron of 2021 had a method alone; beside a granularity, as NeMo has both, it says which
/// layers.
void recompute_by_method(ImportedJob& job) {
  if (!job.says("--activations-checkpoint-granularity")) recompute_all(job);
}

/// Megatron's name since 2022, its older one, and DeepSpeed's.
void distribute_saved_activations(ImportedJob& job) {
  job.plan.distribute_saved_activations = true;
}

void recompute_first(ImportedJob& job) {
  recompute_by_method(job);
  job.recomputes_first_layers = true;
}

/// Schedules that split the backward pass (arXiv 2401.10241); H1 is the one in the memory of 1F1B.
void zero_bubble(ImportedJob& job) {
  if (!job.plan.schedule || !traits(*job.plan.schedule).folded) {
    job.plan.schedule = Schedule::zb_h1;
  }
}
/// Two chunks a stage, in a V (arXiv 2405.15362), in all of 1F1B's memory or in less.
template <Schedule kSchedule>
void in_a_v(ImportedJob& job) {
  job.plan.schedule = kSchedule;
  job.plan.vpp = 2;
}
void zero_bubble_v(ImportedJob& job) {
  if (!job.plan.schedule || !traits(*job.plan.schedule).folded) in_a_v<Schedule::zb_v>(job);
}

/// What optimizer states, and parameters too, are kept in host memory by.
void offload_optimizer(ImportedJob& job) {
  if (job.plan.offload != Offload::optimizer_params) job.plan.offload = Offload::optimizer;
}
void offload_all(ImportedJob& job) {
  job.plan.offload = Offload::optimizer_params;
}

constexpr SwitchFlag kSwitches[] = {
    {"--swiglu", gated_in_two_thirds},
    {"--geglu", gated},
    {"--quick-geglu", gated},
    {"--no-pipeline-parallel", [](ImportedJob&) {}},
    {"--enable-shared-expert", [](ImportedJob&) {}},  // Pai's, beside their number or width
    {"--gated-linear-unit", gated},
    {"--llama-block", llama_block},                                            // in configurations
    {"--RMSNorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},  // Megatron-LLaMA's
    {"--overlapped-distributed-optimizer", distribute_optimizer},
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
    {"--squared-relu", [](ImportedJob& job) { job.model.mlp = Mlp::squared_relu; }},
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
    {"--gpt-j-residual", [](ImportedJob& job) { job.model.parallel_block = true; }},
    {"--parallel-attn", [](ImportedJob& job) { job.model.parallel_block = true; }},
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

/// Megatron's own attention: its kernels but for the softmax are products.
void without_flash(ImportedJob& job) {
  job.said.try_emplace(kOwnAttention, 1);
  if (!job.plan.attention) job.plan.attention = AttentionKind::fused_softmax;
}

template <int kStage>
void shards(ImportedJob& job) {
  job.said[kShardingStrategy] = kStage;
}

void shard_parameters(ImportedJob& job) {
  job.said.try_emplace(kFullySharded, 1);
  if (!job.plan.zero) job.plan.zero = 3;
}

constexpr WordFlag kWords[] = {
    {"--position-embedding-type", "alibi",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::alibi; }},
    {"--position-embedding-type", "none",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::none; }},
    {"--position-embedding-type", "rope", rotary},
    {"--position-embedding-type", "yarn", rotary},  // longer, by other angles
    {"--position-embedding-type", "mrope", rotary},
    {"--position-embedding-type", "rotary", rotary},
    {"--position-embedding-type", "learned_absolute",
     [](ImportedJob& job) { job.model.position = PositionEmbedding::learned; }},
    {"--poe-type", "NOPE", rotary},  // of Modalities, which turns queries and keys instead
    {"--poe-type", "ABSOLUTE", [](ImportedJob&) {}},
    {"--pos-emb", "rotary", rotary},
    {"--pos-emb", "learned", [](ImportedJob&) {}},
    {"--pos-emb", "alibi", [](ImportedJob& job) { job.model.position = PositionEmbedding::alibi; }},
    {"--pos-emb", "none", [](ImportedJob& job) { job.model.position = PositionEmbedding::none; }},
    {"--activation", "swiglu", gated},
    {"--activation", "fast-swiglu", gated},
    {"--activation", "geglu", gated},
    {"--activation", "fast-geglu", gated},
    {"--mlp-type", "llama", llama_mlp},
    {"--ffn-type", "mptglu", gated},
    {"--ffn-type", "mptgeglu", gated},
    {"--ffn-type", "mptmlp", [](ImportedJob&) {}},
    {"--decoder-block", "llama2", llama_block},
    {"--decoder-block", "llama", llama_block},
    {"--decoder-block", "gpt2", [](ImportedJob&) {}},
    {"--decoder-block", "mistral", llama_block},
    {"--mlp-type", "regular", [](ImportedJob&) {}},
    {"--mlp-type", "standard", [](ImportedJob&) {}},
    {"--norm", "rmsnorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--norm", "low_precision_rmsnorm",
     [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--norm", "low_precision_layernorm",
     [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    {"--norm", "layernorm", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    {"--normalization", "RMSNorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--normalization", "LayerNorm", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    {"--normalization", "rmsnorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--normalization", "layernorm", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    {"--glu-activation", "swiglu", gated},
    {"--glu-activation", "geglu", gated},
    {"--glu-activation", "reglu", gated},
    {"--glu-activation", "liglu", gated},
    {"--attention-head-type", "multihead", [](ImportedJob&) {}},
    {"--attention-head-type", "multiquery", [](ImportedJob& job) { job.model.kv_heads = 1; }},
    {"--activations-checkpoint-method", "uniform", recompute_by_method},
    {"--activations-checkpoint-method", "block", recompute_first},
    {"--activations-checkpoint-granularity", "full", recompute_all},
    {"--activations-checkpoint-granularity", "selective",
     [](ImportedJob& job) { job.plan.recompute = Recompute::selective; }},
    {"--recompute-granularity", "full", recompute_all},
    {"--recompute-granularity", "selective",
     [](ImportedJob& job) { job.plan.recompute = Recompute::selective; }},
    {"--activation-checkpoint-mode", "none",
     [](ImportedJob& job) { job.plan.recompute = Recompute::none; }},
    {"--activation-checkpoint-mode", "full", recompute_all},
    {"--activation-checkpoint-mode", "selective",
     [](ImportedJob& job) { job.plan.recompute = Recompute::selective; }},
    {"--selective-ac-option", "op",
     [](ImportedJob& job) {
       job.plan.recompute_modules = WordSet<RecomputeModule>{RecomputeModule::operators};
     }},
    {"--selective-ac-option", "2",
     [](ImportedJob& job) {
       job.plan.recompute_modules = WordSet<RecomputeModule>{RecomputeModule::blocks};
     }},
    {"--selective-ac-option", "1", recompute_all},
    {"--recompute-method", "uniform", [](ImportedJob&) {}},
    {"--recompute-method", "block", [](ImportedJob& job) { job.recomputes_first_layers = true; }},
    {"--transformer-impl", "transformer_engine",
     [](ImportedJob& job) { job.megatron_core = true; }},
    {"--attention-backend", "flash",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attention-backend", "fused",  // cuDNN's, one kernel too
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attention-backend", "unfused",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--attention-backend", "local", without_flash},
    {"--transformer-impl", "local", without_flash},
    {"--moe-token-dispatcher-type", "allgather", dispatches<Dispatcher::allgather>},
    {"--moe-token-dispatcher-type", "alltoall", dispatches<Dispatcher::alltoall>},
    {"--moe-token-dispatcher-type", "alltoall_seq", dispatches<Dispatcher::alltoall>},
    {"--moe-token-dispatcher-type", "flex",
     [](ImportedJob& job) { job.said[kFlexDispatcher] = 1; }},
    {kFlexBackend, "deepep", flexes<Dispatcher::deepep>},
    {kFlexBackend, "hybridep", flexes<Dispatcher::hybridep>},
    {"--fp8-recipe", "delayed", scaled<Fp8Recipe::delayed>},
    {"--fp8-recipe", "tensorwise", scaled<Fp8Recipe::current>},
    {"--fp8-recipe", "blockwise", scaled<Fp8Recipe::block>},
    {"--fp8-recipe", "mxfp8", scaled<Fp8Recipe::mxfp8>},
    {"--fp8-recipe", "rowwise", scaled<Fp8Recipe::rowwise>},
    {"--mx-recipe", "mxfp8", scaled<Fp8Recipe::mxfp8>},
    {"--mx-recipe", "mxfp8_cublas", scaled<Fp8Recipe::mxfp8>},
    {"--mx-recipe", "mxfp8_cublas_rceil", scaled<Fp8Recipe::mxfp8>},
    {"--fp4-recipe", "nvfp4", scaled<Fp8Recipe::nvfp4>},
    {"--exp-avg-dtype", "fp32", first_moment<Precision::fp32>},
    {"--exp-avg-dtype", "bf16", first_moment<Precision::bf16>},
    {"--exp-avg-dtype", "fp16", first_moment<Precision::fp16>},
    {"--exp-avg-dtype", "fp8", first_moment<Precision::fp8>},
    {"--exp-avg-sq-dtype", "fp32", second_moment<Precision::fp32>},
    {"--exp-avg-sq-dtype", "bf16", second_moment<Precision::bf16>},
    {"--exp-avg-sq-dtype", "fp16", second_moment<Precision::fp16>},
    {"--exp-avg-sq-dtype", "fp8", second_moment<Precision::fp8>},
    {"--cuda-graph-impl", "none", [](ImportedJob& job) { job.graphs = false; }},
    {"--cuda-graph-impl", "local", [](ImportedJob& job) { job.graphs = true; }},
    {"--cuda-graph-impl", "transformer_engine", [](ImportedJob& job) { job.graphs = true; }},
    {"--cuda-graph-impl", "full_iteration",
     [](ImportedJob& job) {
       job.graphs = true;
       job.graphed = WordSet<GraphedModule>{GraphedModule::full};
     }},
    {"--softmax-type", "vanilla", [](ImportedJob&) {}},
    {"--softmax-type", "learnable", [](ImportedJob& job) { job.model.attention_sinks = true; }},
    {"--data-parallel-sharding-strategy", "no_shard", shards<0>},
    {"--data-parallel-sharding-strategy", "optim", shards<1>},
    {"--data-parallel-sharding-strategy", "optim_grads", shards<2>},
    {"--data-parallel-sharding-strategy", "optim_grads_params", shards<3>},
    // Colossal-AI's plugins
    {"--plugin", "zero2", [](ImportedJob& job) { job.plan.zero = 2; }},
    {"--plugin", "gemini", [](ImportedJob& job) { job.plan.zero = 3; }},
    {"--plugin", "ddp", [](ImportedJob& job) { job.plan.zero = 0; }},
    {"--offload", "", offload_all},  // DeepSpeed-Chat's
    {"--sharding-strategy", "full", full},
    {"--sharding-strategy", "fsdp", full},
    {"--sharding-strategy", "hsdp", hybrid},
    {"--sharding-strategy", "hybrid", hybrid},
    {"--model-type", "llama_v2", llama_block},
    {"--model-type", "llama_v3", llama_block},
    {"--precision", "bf16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--precision", "bf16-mixed", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--precision", "bf16_mixed", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--precision", "bfloat16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--precision", "float16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "float32", [](ImportedJob& job) { products_in(job, Precision::fp32); }},
    {"--precision", "half", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "16-true", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "32-true", [](ImportedJob& job) { products_in(job, Precision::fp32); }},
    {"--precision", "bf16-true", all_in_bf16},
    {"--precision", "fp16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "16-mixed", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "fp16_mixed", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "32", [](ImportedJob& job) { products_in(job, Precision::fp32); }},
    {"--precision", "bf16_with_fp8_mixed", mixed<Fp8Recipe::delayed>},
    {"--precision", "bf16_with_fp8_delayed_scaling_mixed", mixed<Fp8Recipe::delayed>},
    {"--precision", "bf16_with_fp8_current_scaling_mixed", mixed<Fp8Recipe::current>},
    {"--precision", "bf16_with_fp8_subchannel_scaling_mixed", mixed<Fp8Recipe::block>},
    {"--precision", "bf16_with_mxfp8_mixed", mixed<Fp8Recipe::mxfp8>},
    {"--precision", "bf16_with_nvfp4_mixed", mixed<Fp8Recipe::nvfp4>},
    {"--compute-dtype", "bf16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--compute-dtype", "fp8", mixed<Fp8Recipe::delayed>},
    {"--compute-dtype", "fp8_ds", mixed<Fp8Recipe::delayed>},
    {"--compute-dtype", "fp8_cs", mixed<Fp8Recipe::current>},
    {"--compute-dtype", "fp8_sc", mixed<Fp8Recipe::block>},
    {"--compute-dtype", "fp8_mx", mixed<Fp8Recipe::mxfp8>},
    {"--compute-dtype", "nvfp4", mixed<Fp8Recipe::nvfp4>},
    {"--precision", "p=f32,c=bfloat16",  // Levanter's
     [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--precision", "p=f32,c=f32", [](ImportedJob& job) { products_in(job, Precision::fp32); }},
    {"--mixed-precision", "bf16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--mixed-precision", "True", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--mixed-precision", "fp8", products_in_fp8},
    {"--mixed-precision", "fp16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--mixed-precision-param", "bfloat16",
     [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--mixed-precision-param", "float32",
     [](ImportedJob& job) { products_in(job, Precision::fp32); }},
    {"--mixed-precision-reduce", "bfloat16",
     [](ImportedJob& job) { job.plan.grad_precision = Precision::bf16; }},
    {"--mixed-precision-reduce", "float32",
     [](ImportedJob& job) { job.plan.grad_precision = Precision::fp32; }},
    {"--fsdp-reshard-after-forward", "default", [](ImportedJob&) {}},
    {"--fsdp-reshard-after-forward", "never", [](ImportedJob& job) { job.plan.zero = 2; }},
    {"--context-parallel-rotate-method", "allgather",
     [](ImportedJob& job) { job.plan.cp_comm = ContextComm::all_gather; }},
    {"--context-parallel-rotate-method", "alltoall",  // of one rank to the next, as in a ring
     [](ImportedJob& job) { job.plan.cp_comm = ContextComm::p2p; }},
    {"--activation", "squared-relu", [](ImportedJob& job) { job.model.mlp = Mlp::squared_relu; }},
    {"--activation-func", "swiglu", gated_in_two_thirds},
    {"--activation-func", "squared_relu",
     [](ImportedJob& job) { job.model.mlp = Mlp::squared_relu; }},
    {"--activation-func", "gelu", [](ImportedJob&) {}},
    {"--hidden-act", "silu", gated},
    {"--hidden-act", "gelu", [](ImportedJob&) {}},
    {"--hidden-act", "gelu_new", [](ImportedJob&) {}},
    {"--hidden-act", "relu", [](ImportedJob& job) { job.model.mlp = Mlp::relu; }},
    {"--activation", "gelu", [](ImportedJob&) {}},
    {"--activation", "silu", [](ImportedJob&) {}},  // of an MLP whose type says whether it is gated
    {"--activation", "relu", [](ImportedJob& job) { job.model.mlp = Mlp::relu; }},
    {"--norm-dtype", "RMSNorm", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--norm-dtype", "LayerNorm", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    {"--layer-norm-type", "rms", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--layer-norm-type", "default", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    // MindSpeed
    {"--context-parallel-algo", "megatron_cp_algo",
     [](ImportedJob& job) { job.plan.cp_comm = ContextComm::p2p; }},
    {"--context-parallel-algo", "ulysses_cp_algo",
     [](ImportedJob& job) { job.plan.cp_comm = ContextComm::a2a; }},
    {"--tp-mode", "REDUCE_SCATTER", [](ImportedJob& job) { job.plan.sequence_parallel = true; }},
    {"--tp-mode", "ALL_REDUCE", [](ImportedJob&) {}},
    {"--pp-engine", "1f1b", [](ImportedJob& job) { job.plan.schedule = Schedule::one_f_one_b; }},
    {"--pp-engine", "afab", [](ImportedJob& job) { job.plan.schedule = Schedule::gpipe; }},
    {"--offload-optimizer-device", "cpu", offload_optimizer},
    {"--offload-optimizer-device", "none", [](ImportedJob&) {}},
    {"--offload-param-device", "cpu", offload_all},
    {"--offload-param-device", "none", [](ImportedJob&) {}},
    {"--fsdp-reshard-after-forward", "", [](ImportedJob& job) { job.plan.zero = 3; }},
    {"--fsdp-precision", "mixed", shard_parameters},
    {"--fsdp-precision", "pure", shard_parameters},
    {"--attn-implementation", "flash_attention_2",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attn-implementation", "sdpa",  // PyTorch's, one kernel too
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attn-implementation", "eager",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--attn-impl", "flash", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attn-impl", "triton", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attn-impl", "flash_attn",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attn-impl", "sdpa", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--attn-impl", "eager", [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--attn-impl", "torch", [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--flash-attn", "", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--flash-attn", "True", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--flash-attn", "sdpa", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--flash-attn", "disabled",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--flash-attn", "fa2", [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--grad-sync-dtype", "bf16",
     [](ImportedJob& job) { job.plan.grad_precision = Precision::bf16; }},
    {"--distributed-type", "FSDP", [](ImportedJob& job) { job.said.try_emplace("--use-fsdp", 1); }},
    {"--distributed-type", "DEEPSPEED", [](ImportedJob& job) { job.deepspeed = true; }},
    {"--distributed-type", "MEGATRON_LM", [](ImportedJob&) {}},
    {"--distributed-type", "MULTI_GPU", [](ImportedJob&) {}},
    {"--distributed-type", "NO", [](ImportedJob&) {}},
    {"--precision", "PURE", [](ImportedJob&) {}},  // of FSDP: as the parameters are
    {"--precision", "DEFAULT", [](ImportedJob&) {}},
    {"--precision", "amp_bf16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--precision", "amp_fp16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "fp32", [](ImportedJob& job) { products_in(job, Precision::fp32); }},
    {"--optimizer", "mcore_distributed_optim", distribute_optimizer},
    {"--optimizer", "adamW", [](ImportedJob&) {}},
    {"--optimizer", "adamw_torch", [](ImportedJob&) {}},
    {"--optimizer", "adamw_torch_fused", [](ImportedJob&) {}},
    {"--optimizer", "adamw_hf", [](ImportedJob&) {}},
    {"--optimizer", "adamw_apex_fused", [](ImportedJob&) {}},
    {"--optimizer", "decoupled_adamw", [](ImportedJob&) {}},
    {"--optimizer", "Adam", [](ImportedJob&) {}},
    {"--optimizer", "AdamW", [](ImportedJob&) {}},
    {"--optimizer", "adam", [](ImportedJob&) {}},
    {"--optimizer", "adamw", [](ImportedJob&) {}},
    {"--optimizer", "muon", [](ImportedJob& job) { job.plan.optimizer = Optimizer::muon; }},
    {"--optimizer", "dist_muon",
     [](ImportedJob& job) {
       job.plan.optimizer = Optimizer::muon;
       distribute_optimizer(job);
     }},
    {"--optimizer", "fused_adam", [](ImportedJob&) {}},
    {"--optimizer", "distributed_fused_adam",  // Apex's, whose overlap_grad_sync is on by itself
     [](ImportedJob& job) {
       distribute_optimizer(job);
       job.said.try_emplace("--overlap-grad-reduce", 1);
     }},
    {"--zero-bubble-v-schedule-mem-setup", "zb", [](ImportedJob&) {}},
    {"--zero-bubble-v-schedule-mem-setup", "half", in_a_v<Schedule::v_half>},
    {"--zero-bubble-v-schedule-mem-setup", "min", in_a_v<Schedule::v_min>},
    {"--pp-partition-method", "type:transformer|embedding",
     [](ImportedJob& job) { job.plan.stage_split = StageSplit::embedding_as_layer; }}};

/// Graphs of the whole iteration, or of modules of each layer; of whole layers where none is named.
bool graphs_of(ImportedJob& job, const std::vector<std::string>& words) {
  WordSet<GraphedModule> graphs;
  for (const std::string& word : words) {
    const auto value = word == "full_iteration" ? GraphedModule::full : named<GraphedModule>(word);
    if (!value) return false;
    graphs.add(*value);
  }
  job.graphed = graphs;
  return true;
}

/// One kind, perhaps said once for each layer.
bool context_comm(ImportedJob& job, const std::vector<std::string>& words) {
  if (words.empty() || std::ranges::count(words, words.front()) != std::ssize(words)) return false;
  job.plan.cp_comm =
      words.front() == "all_gather" ? ContextComm::all_gather : named<ContextComm>(words.front());
  return job.plan.cp_comm.has_value();
}

/// GPT-NeoX's kinds of attention, each with how many layers have it: one kernel or products.
bool attention_of(ImportedJob& job, const std::vector<std::string>& words) {
  std::optional<AttentionKind> attention;
  for (const std::string& word : words) {
    if (word == "all" || parse_integer(word)) continue;
    if (word != "flash" && word != "global") return false;
    const AttentionKind kind =
        word == "flash" ? AttentionKind::flash : AttentionKind::fused_softmax;
    if (attention && attention != kind) return false;
    attention = kind;
  }
  if (attention) job.plan.attention = attention;
  return attention.has_value();
}

/// PyTorch's names of pipeline schedules, as torchtitan has them.
bool schedule_of(ImportedJob& job, const std::vector<std::string>& words) {
  struct Known {
    std::string_view word;
    Schedule schedule;
    std::int64_t vpp;
  };
  constexpr Known kKnown[] = {{"GPipe", Schedule::gpipe, 1},
                              {"1F1B", Schedule::one_f_one_b, 1},
                              {"Interleaved1F1B", Schedule::interleaved, 2},
                              {"ZBVZeroBubble", Schedule::zb_v, 2},
                              {"DualPipeV", Schedule::dualpipe_v, 2}};
  if (words.size() != 1) return false;
  const auto found = std::ranges::find(kKnown, words.front(), &Known::word);
  if (found == std::end(kKnown)) return false;
  job.plan.schedule = found->schedule;
  job.plan.vpp = found->vpp;
  return true;
}

/// Which of torchtitan's converters change the format of products.
bool converters(ImportedJob& job, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.ends_with("float8")) {
      products_in_fp8(job);
    } else if (word == "mx" || word.ends_with(".mx")) {
      mixed<Fp8Recipe::mxfp8>(job);
    } else {
      return false;
    }
  }
  return true;
}

/// Tokens to the left and, as for all decoders, none to the right.
bool window(ImportedJob& job, const std::vector<std::string>& words) {
  const auto tokens = words.empty() ? std::nullopt : parse_integer(words.front());
  if (!tokens || *tokens < 1 || *tokens > (1LL << 24)) return false;
  job.model.window = *tokens;
  return true;
}

/// One number, or one for each layer that has experts.
bool experts_of(ImportedJob& job, const std::vector<std::string>& words) {
  std::int64_t most = 0;
  bool differ = false;
  for (const std::string& word : words) {
    const auto count = parse_integer(word);
    if (!count || *count < 0 || *count > (1LL << 20)) return false;
    differ = differ || (most > 0 && *count != most);
    most = std::max<std::int64_t>(most, *count);
  }
  if (words.empty()) return false;
  job.model.experts.count = most;
  if (differ) {
    job.report.left_out.push_back(
        fmt::format("--num-experts: differs from layer to layer; predicted with {} in each", most));
  }
  return true;
}

constexpr ListFlag kLists[] = {
    {"--num-experts", experts_of},
    {"--moe-num-experts", experts_of},
    {"--recompute-modules",
     [](ImportedJob& job, const std::vector<std::string>& words) {
       return take_words(job.plan.recompute_modules, words);
     }},
    {"--offload-modules",
     [](ImportedJob& job, const std::vector<std::string>& words) {
       return take_words(job.plan.offload_modules, words);
     }},
    {"--cuda-graph-scope", graphs_of},
    {"--cp-comm-type", context_comm},
    {"--window-size", window},
    {"--attention-config", attention_of},
    {"--pipeline-parallel-schedule", schedule_of},
    {"--converters", converters},
};

constexpr UnmodelledFlag kUnmodelled[] = {
    {"--align-grad-reduce"},
    {"--checkpoint-in-cpu"},
    {"--cross-entropy-loss-fusion"},
    {"--ddp-bucket-size"},
    {"--DDP-impl", "local"},
    {"--defer-embedding-wgrad-compute"},
    {"--delay-grad-reduce"},
    {"--empty-unused-memory-level", "0"},
    {"--fp16-lm-cross-entropy"},
    {"--main-grads-dtype", "fp32"},
    {"--main-params-dtype", "fp32"},
    {"--memory-centric-tiled-linear"},
    {"--mlp-type"},
    {"--microbatch-group-size-per-virtual-pipeline-stage"},
    {"--no-async-tensor-model-parallel-allreduce"},
    {"--no-bias-dropout-fusion"},
    {"--no-bias-gelu-fusion"},
    {"--no-bias-swiglu-fusion"},
    {"--no-gradient-accumulation-fusion"},
    {"--no-persist-layer-norm"},
    {"--no-rope-fusion"},
    {"--offload-activations", "0"},
    {"--no-scatter-gather-tensors-in-pipeline"},
    {"--overlap-p2p-communication-warmup-flush"},
    {"--overlap-param-gather-with-optimizer-step"},
    {"--pipeline-model-parallel-split-rank"},
    {"--selective-checkpointing", "1"},
    {"--split-transformer-layers"},
    {"--standalone-embedding-stage"},
    {"--synchronize-each-layer"},
    {"--use-nccl-ub"},
    {"--reuse-fp32-param"},
    {"--swap-attention"},
    {"--use-lf-gate"},
    {"--use-tp-pp-dp-mapping"},
    {"--kd"},
    {"--num-layers-teacher"},
};

/// Flags of what is no dense decoder, or no layout of one, that prequel could predict.
constexpr RefusedFlag kRefused[] = {
    {"--is-hybrid-model", "a model with state-space layers"},
    {"--hybrid-override-pattern", "a model with state-space layers"},
    {"--hybrid-layer-pattern", "a model with state-space layers"},
    {"--hybrid-attention-ratio", "a model with state-space layers", "0.0"},
    {"--retro-add-retriever", "a model with retrieval"},
    {"--decoder-num-layers", "an encoder and a decoder"},
    {"--seq-length-dec", "an encoder and a decoder"},
    {"--head-size-a", "a model without attention (RWKV)"},
};

}  // namespace

std::span<const NumberFlag> number_flags() {
  return kNumbers;
}
std::span<const NumberFlag> device_flags() {
  return kDevices;
}
std::span<const SwitchFlag> switch_flags() {
  return kSwitches;
}
std::span<const WordFlag> word_flags() {
  return kWords;
}
std::span<const ListFlag> list_flags() {
  return kLists;
}
std::span<const UnmodelledFlag> unmodelled_flags() {
  return kUnmodelled;
}
std::span<const RefusedFlag> refused_flags() {
  return kRefused;
}

}  // namespace prequel
