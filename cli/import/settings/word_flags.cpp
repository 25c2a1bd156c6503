#include "cli/import/settings/megatron_flags.hpp"

#include "cli/import/settings/flag_effects.hpp"

namespace prequel {
namespace {

template <Fp8Recipe kRecipe>
void scaled(ImportedJob& job) {
  job.plan.fp8_recipe = kRecipe;
}

template <Dispatcher kDispatcher>
void dispatches(ImportedJob& job) {
  job.plan.dispatcher = kDispatcher;
}

template <Precision kFormat>
void first_moment(ImportedJob& job) {
  job.moments[0] = kFormat;
}

template <Precision kFormat>
void second_moment(ImportedJob& job) {
  job.moments[1] = kFormat;
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

/// Megatron of 2021 had a method alone; beside a granularity, as NeMo has both, it says which
/// layers.
void recompute_by_method(ImportedJob& job) {
  if (!job.says("--activations-checkpoint-granularity")) recompute_all(job);
}

void recompute_first(ImportedJob& job) {
  recompute_by_method(job);
  job.recomputes_first_layers = true;
}

void adam_of_8_bits(ImportedJob& job) {
  job.plan.optimizer = Optimizer::adam_8bit;
}

/// Keeps optimizer states in host memory, and parameters where these already are.
void offload_optimizer(ImportedJob& job) {
  if (job.plan.offload != Offload::optimizer_params) job.plan.offload = Offload::optimizer;
}

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
    {"--activation", "geglu", gated_by_gelu},
    {"--activation", "fast-geglu", gated_by_gelu},
    {"--mlp-type", "llama", llama_mlp},
    {"--mlp-type", "gated", gated},  // StableLM's
    {"--ffn-type", "swiglu", gated},  // open_lm's, as are the next two
    {"--ffn-type", "swiglu_torch", gated},
    {"--ffn-type", "gelu", [](ImportedJob&) {}},
    {"--ffn-type", "mptglu", gated},
    {"--ffn-type", "mptgeglu", gated_by_gelu},
    {"--ffn-type", "mptmlp", [](ImportedJob&) {}},
    {"--decoder-block", "llama2", llama_block},
    {"--decoder-block", "llama", llama_block},
    {"--decoder-block", "gpt2", [](ImportedJob&) {}},
    {"--decoder-block", "mistral", llama_block},
    {"--decoder-block", "$SupervisedFinetune",
     [](ImportedJob& job) { job.said.try_emplace(kXtuner, 1); }},
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
    {"--glu-activation", "geglu", gated_by_gelu},
    {"--glu-activation", "reglu", gated},
    {"--glu-activation", "liglu", gated},
    {"--attention-head-type", "multihead", [](ImportedJob&) {}},
    {"--attention-head-type", "mha", [](ImportedJob&) {}},
    {"--attention-head-type", "gqa", [](ImportedJob&) {}},  // beside their number
    {"--attention-head-type", "mqa", [](ImportedJob& job) { job.model.kv_heads = 1; }},
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
    {"--dsa-kernel-backend", "none",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::unfused; }},
    {"--dsa-kernel-backend", "tilelang",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--dsa-kernel-backend", "cudnn",
     [](ImportedJob& job) { job.plan.attention = AttentionKind::flash; }},
    {"--cross-entropy-fusion-impl", "native", [](ImportedJob&) {}},
    {"--cross-entropy-fusion-impl", "te", [](ImportedJob& job) { job.plan.loss = LossForm::fused; }},
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
    {"--sharding-strategy", "stage1", distribute_optimizer},  // PaddleNLP's
    {"--sharding-strategy", "stage2", [](ImportedJob& job) { job.plan.zero = 2; }},
    {"--sharding-strategy", "stage3", [](ImportedJob& job) { job.plan.zero = 3; }},
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
    {"--feed-forward", "gated", gated},  // TencentPretrain's, as is the next
    {"--layernorm", "rms", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--layer-norm-type", "rms", [](ImportedJob& job) { job.model.norm = Norm::rms_norm; }},
    {"--layer-norm-type", "default", [](ImportedJob& job) { job.model.norm = Norm::layer_norm; }},
    // MindSpeed
    {"--context-parallel-algo", "megatron_cp_algo",
     [](ImportedJob& job) { job.plan.cp_comm = ContextComm::p2p; }},
    {"--context-parallel-algo", "ulysses_cp_algo",
     [](ImportedJob& job) { job.plan.cp_comm = ContextComm::a2a; }},
    {"--schedules-method", "dualpipev", in_a_v<Schedule::dualpipe_v>},
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
    {"--precision", "amp_bfloat16", [](ImportedJob& job) { products_in(job, Precision::bf16); }},
    {"--precision", "amp_fp16", [](ImportedJob& job) { products_in(job, Precision::fp16); }},
    {"--precision", "fp32", [](ImportedJob& job) { products_in(job, Precision::fp32); }},
    {"--optimizer", "mcore_distributed_optim", distribute_optimizer},
    {"--optimizer", "adamW", [](ImportedJob&) {}},
    {"--optimizer", "adamw_8bit", adam_of_8_bits},
    {"--optimizer", "adamw_bnb_8bit", adam_of_8_bits},
    {"--optimizer", "paged_adamw_8bit",
     [](ImportedJob& job) { job.plan.optimizer = Optimizer::adam_paged; }},
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

}  // namespace

std::span<const WordFlag> word_flags() {
  return kWords;
}

}  // namespace prequel
