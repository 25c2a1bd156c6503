#include <algorithm>

#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layout.hpp"
#include "models/plan/overlap.hpp"
#include "models/plan/router_balance.hpp"
#include "models/shape/layer_pattern.hpp"

namespace prequel {
namespace {

/// Flags as in Megatron-LM's megatron/training/arguments.py and, where they differ, in that of
/// Megatron-DeepSpeed.
class MegatronCommand {
 public:
  explicit MegatronCommand(const Scenario& scenario)
      : scenario_(scenario),
        model_(scenario.model),
        plan_(scenario.plan),
        deepspeed_(scenario.software.framework == "megatron-deepspeed") {}

  EmittedPlan emit() {
    if (scenario_.software.host.launch == Launch::blocking) {
      emitted_.text = "export CUDA_LAUNCH_BLOCKING=1\n";
    }
    // Megatron-LM asks for it before Blackwell, where collectives of a layer run beside its
    // products.
    if (!deepspeed_ && (plan_.tp > 1 || plan_.cp > 1) && !plan_.overlap.has(Overlapped::ep)) {
      emitted_.text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
    }
    emitted_.text += fmt::format("torchrun --nnodes {} --nproc-per-node {} pretrain_gpt.py",
                                 plan_.nodes, plan_.gpus / plan_.nodes);
    add_shape();
    add_kind_of_model();
    add_batch();
    add_degrees();
    add_memory();
    add_precision();
    emitted_.text += '\n';
    if (!deepspeed_ && scenario_.software.framework != "megatron-lm") {
      leave_out("software", "predicted for " + scenario_.software.name + ", not for Megatron");
    }
    return std::move(emitted_);
  }

 private:
  void line(const std::string& flags) { emitted_.text += " \\\n  " + flags; }
  void line(const char* flag, std::int64_t value) { line(fmt::format("{} {}", flag, value)); }
  void leave_out(std::string field, std::string why) {
    emitted_.left_out.push_back({std::move(field), std::move(why)});
  }

  /// Sublayers by letters; other mixers as far as Megatron-LM has flags for them.
  void add_mixers() {
    const std::string letters = pattern_letters(model_.pattern);
    if (!letters.empty()) {
      std::string pattern = letters;
      for (std::int64_t depth = 0; depth < model_.next_token_layers; ++depth) {
        pattern += "/" + pattern_letters(model_.next_token_pattern);
      }
      line(fmt::format("--hybrid-layer-pattern '{}'", pattern));
    } else if (!add_attention_variant() && (!model_.mixers.empty() || !model_.pattern.empty())) {
      leave_out("layer_types", "mixers of single layers, as the model's recipe");
    }
    if (const StateSpace& state = model_.state_space; state.heads > 0) {
      line(
          fmt::format("--mamba-num-heads {} --mamba-head-dim {} --mamba-state-dim {} "
                      "--mamba-num-groups {}",
                      state.heads, state.head_dim, state.state, state.groups));
    }
    if (const LinearAttention& linear = model_.linear_attention; linear.key_heads > 0) {
      line(
          fmt::format("--linear-num-key-heads {} --linear-num-value-heads {} "
                      "--linear-key-head-dim {} --linear-value-head-dim {}",
                      linear.key_heads, linear.value_heads, linear.key_dim, linear.value_dim));
    }
    // Megatron-LM has no flags for the indexers of other attention than latent one.
    if (const Indexer& indexer = model_.indexer; indexer.heads > 0 && model_.is_latent()) {
      line(fmt::format("--dsa-indexer-n-heads {} --dsa-indexer-head-dim {} --dsa-indexer-topk {}",
                       indexer.heads, indexer.head_dim, indexer.top_k));
      line(fmt::format("--dsa-kernel-backend {}",
                       plan_.attention == AttentionKind::flash ? "tilelang" : "none"));
    }
    if (model_.output_gate) line("--attention-output-gate");
    if (model_.repeats_next_token) line("--mtp-use-repeated-layer");
    if (model_.experts.latent > 0) line("--moe-latent-size", model_.experts.latent);
    if (model_.streams > 1) leave_out("hc_mult", "hyper-connections, as the model's recipe");
  }

  /// Layers of sparse attention alone, or of delta nets up to the last of every so many. False
  /// where the list of mixers is another.
  bool add_attention_variant() {
    const auto count_of = [&](Mixer mixer) {
      return std::ranges::count(model_.mixers, mixer, &LayerKind::mixer);
    };
    const std::int64_t all = std::ssize(model_.mixers);
    if (all == 0) return false;
    if (count_of(Mixer::sparse) == all) {
      line("--experimental-attention-variant dsa");
      return true;
    }
    const bool ends_full = model_.mixers.back().mixer == Mixer::attention &&
                           model_.mixers.back().span == AttentionSpan::full;
    if (all == 1 || !ends_full || count_of(Mixer::delta_net) != all - 1) return false;
    line(fmt::format("--experimental-attention-variant gdn --linear-attention-freq {}", all));
    return true;
  }

  void add_shape() {
    line("--num-layers", model_.layers);
    add_mixers();
    line("--hidden-size", model_.hidden);
    line("--num-attention-heads", model_.heads);
    model_.is_latent() ? add_latent_attention() : add_heads();
    line("--ffn-hidden-size", model_.ffn_hidden);
    line("--vocab-size", model_.vocab);
    // Megatron-LM refuses longer sequences, also of models whose positions are not learned.
    const bool learned = model_.position == PositionEmbedding::learned;
    line("--max-position-embeddings",
         learned ? model_.max_positions : std::max(model_.max_positions, plan_.seq_len));
    if (model_.next_token_layers > 0) line("--mtp-num-layers", model_.next_token_layers);
    if (model_.window > 0) line(fmt::format("--window-size {},0", model_.window));
    if (model_.window > 0 && model_.full_every > 0) {
      line("--window-attn-skip-freq", model_.full_every);
    }
    if (model_.chunk > 0) {
      leave_out("attention_chunk_size", "Megatron-LM has no flag for attention in chunks");
    }
  }

  void add_heads() {
    if (model_.kv_heads != model_.heads) {
      line(fmt::format("--group-query-attention --num-query-groups {}", model_.kv_heads));
    }
    if (model_.head_dim * model_.heads != model_.hidden) line("--kv-channels", model_.head_dim);
    if (model_.qk_norm) line("--qk-layernorm");
  }

  void add_latent_attention() {
    const LatentAttention& latent = model_.latent;
    line("--multi-latent-attention --qk-layernorm");
    if (latent.q_rank > 0) line("--q-lora-rank", latent.q_rank);
    line("--kv-lora-rank", latent.kv_rank);
    line("--qk-head-dim", latent.nope);
    line("--qk-pos-emb-head-dim", latent.rope);
    line("--v-head-dim", latent.value);
  }

  void add_kind_of_model() {
    switch (model_.mlp) {
      case Mlp::gelu: break;
      case Mlp::swiglu: line("--swiglu"); break;
      case Mlp::squared_relu: line("--squared-relu"); break;
      case Mlp::geglu:
      case Mlp::relu: leave_out("mlp", "Megatron-LM has gelu, swiglu and the square of relu");
    }
    if (model_.norm == Norm::rms_norm) line("--normalization RMSNorm");
    if (!model_.linear_bias) line("--disable-bias-linear");
    if (model_.qkv_bias && !model_.linear_bias) line("--add-qkv-bias");
    if (model_.attention_sinks) line("--softmax-type learnable");
    if (!model_.tied_embeddings) line("--untie-embeddings-and-output-weights");
    if (model_.post_norms) leave_out("post_norms", "Megatron-LM has norms before its layers alone");
    if (model_.parallel_block) leave_out("parallel_block", "Megatron-LM's layers come in a row");
    if (model_.score_cap || model_.logit_cap) {
      leave_out("attn_logit_softcapping", "Megatron-LM has no soft-caps");
    }
    add_experts();
    switch (model_.position) {
      case PositionEmbedding::learned: break;
      case PositionEmbedding::rope:
        line("--position-embedding-type rope");
        leave_out("position", "the base of its rotations and their scaling, as the model's config");
        break;
      case PositionEmbedding::none: line("--position-embedding-type none"); break;
      case PositionEmbedding::alibi:
        if (deepspeed_) {
          line("--position-embedding-type alibi");
        } else {
          leave_out("position", "Megatron-LM has no ALiBi");
        }
    }
    if (!model_.embedding_norm) return;
    if (deepspeed_) {
      line("--embed-layernorm");
    } else {
      leave_out("embedding_norm", "Megatron-LM has no norm behind the embedding");
    }
  }

  void add_experts() {
    if (!model_.has_experts()) return;
    const Experts& experts = model_.experts;
    if (deepspeed_) {
      leave_out("model", "the flags of its experts");
      return;
    }
    line("--num-experts", experts.count);
    line("--moe-router-topk", experts.top_k);
    if (experts.hash_layers > 0) {
      leave_out("num_hash_layers", "experts that a table chooses, as the model's recipe");
    }
    if (experts.zero > 0) leave_out("num_zero_experts", "Megatron-LM has no flag for them");
    if (experts.shortcut) leave_out("moe_shortcut", "Megatron-LM has no flag for it");
    line("--moe-ffn-hidden-size", experts.ffn_hidden);
    if (experts.shared_hidden > 0) {
      line("--moe-shared-expert-intermediate-size", experts.shared_hidden);
    }
    if (experts.shared_gate) line("--moe-shared-expert-gate");
    if (experts.first_dense > 0 || experts.every > 1) {
      // Megatron counts the layers of its `N` from another end: a list says it without doubt.
      const std::int64_t rounds = (model_.layers - experts.first_dense) / experts.every;
      const std::int64_t rest = model_.layers - experts.first_dense - rounds * experts.every;
      line(fmt::format("--moe-layer-freq '([0]*{}+([0]*{}+[1])*{}+[0]*{})'", experts.first_dense,
                       experts.every - 1, rounds, rest));
    }
    if (experts.groups > 1) {
      line(fmt::format("--moe-router-num-groups {} --moe-router-group-topk {}", experts.groups,
                       experts.groups_chosen));
    }
    if (scenario_.software.kernels.grouped_products) line("--moe-grouped-gemm");
    leave_out("model", "how its router scores and balances experts, as the model's config");
    if (plan_.router_balance == kForcedBalance) {
      leave_out("router_balance",
                "forced: predicted as if experts got equal loads, which "
                "--moe-router-force-load-balancing does in benchmarks; with it nothing is learnt");
    } else if (const auto factor = capacity_factor(plan_.router_balance)) {
      line(fmt::format("--moe-expert-capacity-factor {} --moe-pad-expert-input-to-capacity",
                       *factor));
    } else {
      leave_out("router_balance",
                fmt::format("{}: routers balance as they learn to; no flag says how far",
                            plan_.router_balance));
    }
  }

  void add_batch() {
    line("--seq-length", plan_.seq_len);
    line("--micro-batch-size", plan_.mbs);
    line("--global-batch-size", plan_.gbs);
  }

  void add_degrees() {
    line("--tensor-model-parallel-size", plan_.tp);
    line("--pipeline-model-parallel-size", plan_.pp);
    if (plan_.cp > 1) {
      line(deepspeed_ ? "--ds-sequence-parallel-size" : "--context-parallel-size", plan_.cp);
    }
    if (plan_.cp_comm != ContextComm::p2p && !deepspeed_) {
      line(fmt::format("--cp-comm-type {}", plan_.cp_comm == ContextComm::all_gather
                                                ? "all_gather"
                                                : name(plan_.cp_comm)));
    } else if (plan_.cp_comm != ContextComm::p2p) {
      leave_out("cp_comm", "Megatron-DeepSpeed exchanges heads for tokens (a2a)");
    }
    if (plan_.cp > 1 && plan_.cp_comm == ContextComm::a2a_p2p && !deepspeed_) {
      leave_out("cp_comm",
                "a2a+p2p: --hierarchical-context-parallel-sizes, the ranks that exchange "
                "heads and those of the ring");
    }
    if (model_.has_experts() && !deepspeed_) add_expert_ranks();
    if (!plan_.layout.empty() && !deepspeed_) {
      line(fmt::format("--pipeline-model-parallel-layout '{}'", plan_.layout));
    } else if (is_spelt()) {
      line(fmt::format("--pipeline-model-parallel-layout '{}'",
                       layout_of(chunks_of_plan(model_, plan_, scenario_.software))));
      leave_out("layout", fmt::format("as {} deals {} layers, which Megatron-LM does if it is "
                                      "spelt alone",
                                      scenario_.software.name, model_.layers));
    } else if (!plan_.layout.empty()) {
      leave_out("layout", "Megatron-DeepSpeed deals layers by itself");
    }
    add_schedule();
    if (plan_.sequence_parallel) line("--sequence-parallel");
    const bool embedding_too = plan_.stage_split == StageSplit::embedding_as_layer;
    if (embedding_too && deepspeed_) {
      line("--pp-partition-method 'type:transformer|embedding'");
    } else if (embedding_too) {
      line("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
    }
  }

  /// Layers that Megatron-LM would not deal as the stack does.
  [[nodiscard]] bool is_spelt() const {
    return !deepspeed_ && plan_.pp > 1 && plan_.layout.empty() &&
           plan_.stage_split == StageSplit::blocks && model_.layers % (plan_.pp * plan_.vpp) != 0;
  }

  void add_expert_ranks() {
    line("--expert-model-parallel-size", plan_.ep);
    line("--expert-tensor-parallel-size", plan_.etp);
    switch (plan_.dispatcher) {
      case Dispatcher::allgather:
      case Dispatcher::alltoall:
        return line(fmt::format("--moe-token-dispatcher-type {}", name(plan_.dispatcher)));
      case Dispatcher::deepep:
      case Dispatcher::hybridep:
        return line(fmt::format("--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend {}",
                                name(plan_.dispatcher)));
      case Dispatcher::uccl:
        line("--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep");
        return leave_out("dispatcher",
                         "uccl is installed in DeepEP's place; Megatron-LM calls it by that name");
    }
  }

  void add_schedule() {
    if (plan_.pp == 1) return;
    if (!plan_.layout.empty() || is_spelt()) return add_order();
    // Embedding and head count as layers of a chunk, where they count.
    const std::int64_t units =
        model_.layers + (plan_.stage_split == StageSplit::embedding_as_layer ? 2 : 0);
    if (plan_.vpp > 1 && deepspeed_) {
      leave_out("vpp", "Megatron-DeepSpeed's pipeline has one chunk of layers a stage");
    } else if (plan_.vpp > 1 && units % (plan_.pp * plan_.vpp) == 0) {
      line("--num-layers-per-virtual-pipeline-stage", units / (plan_.pp * plan_.vpp));
    } else if (plan_.vpp > 1) {
      line("--num-virtual-stages-per-pipeline-rank", plan_.vpp);
    }
    if (plan_.vpp > 1 && plan_.vpp_group > 0 && !deepspeed_) {
      line("--microbatch-group-size-per-virtual-pipeline-stage", plan_.vpp_group);
    }
    add_order();
  }

  void add_order() {
    const bool known = plan_.schedule == Schedule::one_f_one_b ||
                       (plan_.schedule == Schedule::interleaved && !deepspeed_);
    if (!known) {
      leave_out("schedule", fmt::format("Megatron has no {}; it runs 1f1b", name(plan_.schedule)));
    }
  }

  void add_memory() {
    if (deepspeed_ && plan_.recompute == Recompute::full && plan_.recompute_first > 0) {
      leave_out("recompute_first", "Megatron-DeepSpeed recomputes all layers or none");
    }
    if (plan_.recompute == Recompute::full) {
      line(deepspeed_ ? fmt::format("--checkpoint-activations --checkpoint-num-layers {} "
                                    "--deepspeed-activation-checkpointing",
                                    plan_.recompute_layers)
           : plan_.recompute_first > 0
               ? fmt::format("--recompute-granularity full --recompute-method block "
                             "--recompute-num-layers {}",
                             plan_.recompute_first)
               : fmt::format("--recompute-granularity full --recompute-method uniform "
                             "--recompute-num-layers {}",
                             plan_.recompute_layers));
      if (plan_.distribute_saved_activations) {
        line(deepspeed_ ? "--partition-activations" : "--distribute-saved-activations");
      }
    } else if (plan_.recompute == Recompute::selective) {
      if (deepspeed_) {
        leave_out("recompute", "Megatron-DeepSpeed recomputes whole layers or nothing");
        leave_out("recompute_modules", "as recompute");
      } else {
        line("--recompute-granularity selective");
      }
    }
    add_modules();
    if (deepspeed_) {
      line(
          fmt::format("--deepspeed --deepspeed_config ds_config.json --zero-stage {}", plan_.zero));
      leave_out("ds_config.json", "--emit deepspeed prints it");
      if (plan_.zero == 0 && plan_.precision == Precision::bf16) {
        leave_out("zero",
                  "DeepSpeed's bf16 optimizer shards its states at stage 0, as ZeRO 1 does");
      }
      if (plan_.offload != Offload::none) leave_out("offload", "ds_config.json says it");
      return;
    }
    const bool muon = plan_.optimizer == Optimizer::muon;
    if (plan_.zero == 1 && !muon) line("--use-distributed-optimizer");
    const std::int64_t instances = shard_groups(plan_, GroupAxis::data).copies.size;
    if (plan_.zero == 1 && instances > 1) {
      line("--num-distributed-optimizer-instances", instances);
    } else if (plan_.sharding_group == ShardingGroup::node) {
      leave_out("sharding_group", plan_.zero == 1 ? "node: one node is all there is"
                                                  : "Megatron-LM shards by nodes what ZeRO 1 does");
    }
    if (plan_.zero > 1) {
      leave_out("zero", fmt::format("Megatron-LM shards the optimizer only, as ZeRO 1; stage {} "
                                    "is for DeepSpeed or FSDP",
                                    plan_.zero));
    }
    if (plan_.offload == Offload::optimizer) line("--optimizer-cpu-offload");
    if (plan_.optimizer_offload > 0) {
      line(fmt::format("--optimizer-cpu-offload --optimizer-offload-fraction {}",
                       plan_.optimizer_offload));
    }
    if (plan_.offload == Offload::optimizer_params) {
      leave_out("offload", "Megatron-LM keeps parameters on the device; DeepSpeed and FSDP do not");
    }
    add_optimizer();
    add_loss();
    add_overlap();
    add_graphs();
  }

  /// Adds modules that are computed again or wait in host memory, by Megatron's names.
  void add_modules() {
    const WordSet<RecomputeModule> again = plan_.recompute_modules;
    const bool named = !again.empty() && plan_.recompute == Recompute::selective;
    if (deepspeed_) {
      if (!plan_.offload_modules.empty()) {
        leave_out("offload_modules", "Megatron-DeepSpeed keeps activations on the device");
      }
      if (plan_.offload_layers > 0) {
        leave_out("offload_layers", "Megatron-DeepSpeed keeps activations on the device");
      }
      return;
    }
    if (named && !again.has(RecomputeModule::operators) && !again.has(RecomputeModule::blocks)) {
      line("--recompute-modules " + cell_of(again));
    } else if (!again.empty()) {
      leave_out("recompute_modules",
                named ? fmt::format("{}: Megatron-LM has modules", cell_of(again))
                      : fmt::format("no effect with recompute {}", name(plan_.recompute)));
    }
    if (plan_.offload_layers > 0) line("--cpu-offloading-num-layers", plan_.offload_layers);
    if (plan_.offload_modules.empty()) return;
    line("--fine-grained-activation-offloading --offload-modules " +
         cell_of(plan_.offload_modules));
  }

  void add_optimizer() {
    if (plan_.optimizer == Optimizer::muon) {
      line(plan_.zero == 1 ? "--optimizer dist_muon" : "--optimizer muon");
    }
    if (plan_.optimizer_offload > 0 || plan_.offload == Offload::optimizer ||
        plan_.moments_precision != Precision::fp32) {
      line("--use-precision-aware-optimizer");
    }
    if (plan_.moments_precision == Precision::fp32) return;
    if (plan_.moments_precision == Precision::bf16 || plan_.moments_precision == Precision::fp16 ||
        plan_.moments_precision == Precision::fp8) {
      line(
          fmt::format("--exp-avg-dtype {0} --exp-avg-sq-dtype {0}", name(plan_.moments_precision)));
    } else {
      leave_out("moments_precision", "Megatron-LM has fp32, bf16, fp16 and fp8");
    }
  }

  void add_loss() {
    if (plan_.master_weights == MasterWeights::none) {
      leave_out("master_weights", "Megatron updates a copy of the weights in fp32");
    }
    if (keeps_8_bits(plan_.optimizer) || updates_in_backward(plan_.optimizer)) {
      leave_out("optimizer", fmt::format("{}: Megatron has Adam's states in one format on the "
                                         "device, and updates at the end of a step",
                                         name(plan_.optimizer)));
    }
    if (plan_.loss == LossForm::whole) return;
    if (deepspeed_ || plan_.loss == LossForm::chunked) {
      return leave_out("loss", fmt::format("{}: Megatron{} has no flag for it", name(plan_.loss),
                                           deepspeed_ ? "-DeepSpeed" : "-LM"));
    }
    line(fmt::format("--cross-entropy-loss-fusion --cross-entropy-fusion-impl {}",
                     plan_.loss == LossForm::fused ? "te" : "native"));
  }

  void add_graphs() {
    const WordSet<GraphedModule> graphs = plan_.cuda_graphs;
    if (graphs.empty()) return;
    if (graphs.has(GraphedModule::full)) {
      line("--cuda-graph-impl local --cuda-graph-scope full_iteration");
      if (graphs != WordSet<GraphedModule>{GraphedModule::full}) {
        leave_out("cuda_graphs", "a graph of the whole iteration has all modules in it");
      }
      return;
    }
    line("--cuda-graph-impl transformer_engine --cuda-graph-scope " + cell_of(graphs));
  }

  /// Adds flags for predicted overlap. Parameters are gathered beside the first forward passes
  /// where gradients are reduced beside the last backward ones.
  void add_overlap() {
    using enum Overlapped;
    constexpr std::pair<Overlapped, const char*> kFlags[] = {
        {tp, "--tp-comm-overlap"},
        {ep, "--overlap-moe-expert-parallel-comm"},
        {wgrad, "--delay-wgrad-compute"},
        {shared_experts, "--moe-shared-expert-overlap"}};
    for (const auto& [work, flag] : kFlags) {
      if (!plan_.overlap.has(work)) continue;
      if (work == tp && !(plan_.tp > 1 && plan_.sequence_parallel)) {
        leave_out("overlap", "tp: Megatron-LM has it with sequence parallelism over tensor ranks");
      } else {
        line(flag);
      }
    }
    const auto says = [this](Overlapped word, Overlapped opposite) {
      return plan_.overlap.has(word) || plan_.overlap.has(opposite);
    };
    if (says(grads, no_grads) || says(params, no_params)) {
      leave_out("overlap", "grads, params: by their flags, whose absence switches them off");
    }
    if (plan_.overlap.has(p2p)) {
      leave_out("overlap", "p2p: Megatron-LM has it by itself, of interleaved schedules alone");
    }
    if (plan_.overlap.has(no_p2p)) line("--no-overlap-p2p-communication");
    if (!reduces_beside(plan_, scenario_.software)) return;
    if (plan_.optimizer == Optimizer::muon) {
      return leave_out("overlap", "gradients: Megatron-LM's Muon reduces them after the passes");
    }
    line("--overlap-grad-reduce");
    if (plan_.zero == 1 && gathers_beside(plan_, scenario_.software)) {
      line("--overlap-param-gather");
    }
  }

  void add_precision() {
    if (plan_.precision == Precision::fp16) line("--fp16");
    const bool narrow = is_quantized(plan_.precision);
    if (plan_.precision == Precision::bf16 || (narrow && !deepspeed_)) line("--bf16");
    if (plan_.precision == Precision::fp32) {
      leave_out("precision", "fp32: Megatron trains in it where no flag says another");
    }
    if (plan_.precision == Precision::tf32) {
      leave_out("precision", "torch.backends.cuda.matmul.allow_tf32 in the program");
    }
    if (narrow && deepspeed_) leave_out("precision", "Megatron-DeepSpeed has fp16 and bf16");
    if (!deepspeed_) add_narrow_formats();
    // A stack that casts tokens by itself does so for narrow products alone.
    const auto& casts = scenario_.software.defaults.dispatch_precision;
    const bool by_stack = narrow && casts && exchanges_tokens(plan_, scenario_.model);
    if (plan_.dispatch_precision != (by_stack ? *casts : activation_precision(plan_))) {
      leave_out("dispatch_precision", "Megatron's dispatchers carry tokens as layers hand them on");
    }
    if (plan_.fp8_activation_store && deepspeed_) {
      leave_out("fp8_activation_store", "Megatron-DeepSpeed keeps activations as they are");
    }
    const Precision other = narrow ? Precision::bf16 : plan_.precision;
    if (plan_.grad_precision == Precision::fp32 && other != Precision::fp32) {
      line("--accumulate-allreduce-grads-in-fp32");
    } else if (plan_.grad_precision == other && bytes_per_element(other) >= 4) {
      leave_out("grad_precision", "fp32: as products, where no flag says another");
    } else if (plan_.grad_precision != other) {
      leave_out("grad_precision", "Megatron has gradients in the precision of products or fp32");
    } else if (plan_.grad_precision == Precision::bf16 && !deepspeed_) {
      line("--grad-reduce-in-bf16");
    }
    switch (plan_.attention) {
      case AttentionKind::flash: line("--use-flash-attn"); break;
      case AttentionKind::unfused:
        line(deepspeed_ ? "--no-masked-softmax-fusion" : "--attention-backend unfused");
        break;
      case AttentionKind::fused_softmax:
        if (!deepspeed_) {
          leave_out("attention",
                    "the fused softmax is what Megatron-LM took by itself up to 2023; later "
                    "releases choose flash attention");
        }
    }
  }

  /// Products in 8 or 4 bits, and how tensors are scaled to them.
  void add_narrow_formats() {
    const auto left = [this] {
      leave_out("fp8_recipe", fmt::format("{}: Megatron-LM has no such recipe of {}",
                                          name(plan_.fp8_recipe), name(plan_.precision)));
    };
    if (plan_.fp8_activation_store) line("--activation-func-fp8-input-store");
    if (plan_.fp8_attention) {
      leave_out("fp8_attention",
                "TransformerConfig.fp8_dot_product_attention, which no argument sets");
    }
    if (plan_.precision == Precision::fp8) {
      line("--fp8-format hybrid");
      switch (plan_.fp8_recipe) {
        case Fp8Recipe::none: break;
        case Fp8Recipe::delayed: line("--fp8-recipe delayed"); break;
        case Fp8Recipe::current: line("--fp8-recipe tensorwise"); break;
        case Fp8Recipe::block: line("--fp8-recipe blockwise"); break;
        case Fp8Recipe::mxfp8: line("--fp8-recipe mxfp8"); break;
        case Fp8Recipe::nvfp4:
        case Fp8Recipe::rowwise: left();
      }
      if (plan_.fp8_param_gather) line("--fp8-param-gather");
    } else if (plan_.precision == Precision::fp4) {
      line("--fp4-format e2m1");
      if (plan_.fp8_recipe == Fp8Recipe::nvfp4) {
        line("--fp4-recipe nvfp4");
      } else if (plan_.fp8_recipe != Fp8Recipe::none) {
        left();
      }
      if (plan_.fp8_param_gather) line("--fp4-param-gather");
    } else if (plan_.fp8_param_gather) {
      leave_out("fp8_param_gather",
                fmt::format("no effect with precision {}", name(plan_.precision)));
    } else if (plan_.fp8_recipe != Fp8Recipe::none) {
      leave_out("fp8_recipe", fmt::format("no effect with precision {}", name(plan_.precision)));
    }
  }

  const Scenario& scenario_;
  const Transformer& model_;
  const Plan& plan_;
  bool deepspeed_;
  EmittedPlan emitted_;
};

}  // namespace

EmittedPlan emit_megatron(const Scenario& scenario) {
  return MegatronCommand(scenario).emit();
}

}  // namespace prequel
