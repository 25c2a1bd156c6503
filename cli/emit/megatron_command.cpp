#include <fmt/format.h>

#include "cli/emit/emitted_plan.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/groups.hpp"

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

  void add_shape() {
    line("--num-layers", model_.layers);
    line("--hidden-size", model_.hidden);
    line("--num-attention-heads", model_.heads);
    if (model_.kv_heads != model_.heads) {
      line(fmt::format("--group-query-attention --num-query-groups {}", model_.kv_heads));
    }
    if (model_.head_dim * model_.heads != model_.hidden) line("--kv-channels", model_.head_dim);
    line("--ffn-hidden-size", model_.ffn_hidden);
    line("--vocab-size", model_.vocab);
    line("--max-position-embeddings", model_.max_positions);
  }

  void add_kind_of_model() {
    if (model_.mlp == Mlp::swiglu) line("--swiglu");
    if (model_.norm == Norm::rms_norm) line("--normalization RMSNorm");
    if (!model_.linear_bias) line("--disable-bias-linear");
    if (!model_.tied_embeddings) line("--untie-embeddings-and-output-weights");
    switch (model_.position) {
      case PositionEmbedding::learned: break;
      case PositionEmbedding::rope: line("--position-embedding-type rope"); break;
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
    if (plan_.cp > 1 && plan_.cp_comm != ContextComm::p2p) {
      leave_out("cp_comm",
                fmt::format("releases that have it take --cp-comm-type {}", name(plan_.cp_comm)));
    }
    if (model_.has_experts()) {
      line("--expert-model-parallel-size", plan_.ep);
      leave_out("model", "the flags of its experts");
    }
    add_schedule();
    if (plan_.sequence_parallel) line("--sequence-parallel");
    const bool embedding_too = plan_.stage_split == StageSplit::embedding_as_layer;
    if (embedding_too && deepspeed_) {
      line("--pp-partition-method 'type:transformer|embedding'");
    } else if (embedding_too) {
      line("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
    } else if (!deepspeed_ && model_.layers % (plan_.pp * plan_.vpp) != 0) {
      leave_out("layers", fmt::format("Megatron-LM needs a multiple of pp {} x vpp {}, not {}",
                                      plan_.pp, plan_.vpp, model_.layers));
    }
  }

  void add_schedule() {
    if (plan_.pp == 1) return;
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
    const bool known = plan_.schedule == Schedule::one_f_one_b ||
                       (plan_.schedule == Schedule::interleaved && !deepspeed_);
    if (!known) {
      leave_out("schedule", fmt::format("Megatron has no {}; it runs 1f1b", name(plan_.schedule)));
    }
  }

  void add_memory() {
    if (plan_.recompute == Recompute::full) {
      line(deepspeed_ ? fmt::format("--checkpoint-activations --checkpoint-num-layers {} "
                                    "--deepspeed-activation-checkpointing",
                                    plan_.recompute_layers)
                      : fmt::format("--recompute-granularity full --recompute-method uniform "
                                    "--recompute-num-layers {}",
                                    plan_.recompute_layers));
    } else if (plan_.recompute == Recompute::selective) {
      if (deepspeed_) {
        leave_out("recompute", "Megatron-DeepSpeed recomputes whole layers or nothing");
        leave_out("recompute_modules", "as recompute");
      } else {
        line("--recompute-granularity selective");
        if (!plan_.recompute_modules.empty()) {
          leave_out("recompute_modules",
                    fmt::format("releases that have it take --recompute-modules {}",
                                cell_of(plan_.recompute_modules)));
        }
      }
    }
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
    if (plan_.zero == 1) line("--use-distributed-optimizer");
    if (plan_.zero == 1 && plan_.sharding_group == ShardingGroup::node) {
      line(fmt::format("--num-distributed-optimizer-instances {}",
                       shard_groups(plan_, GroupAxis::data).copies.size));
    }
    if (plan_.zero > 1) {
      leave_out("zero", fmt::format("Megatron-LM shards the optimizer only, as ZeRO 1; stage {} "
                                    "is for DeepSpeed or FSDP",
                                    plan_.zero));
    }
    if (plan_.offload == Offload::optimizer) line("--optimizer-cpu-offload");
    if (plan_.offload == Offload::optimizer_params) {
      leave_out("offload", "Megatron-LM keeps parameters on the device; DeepSpeed and FSDP do not");
    }
    add_overlap();
  }

  /// What is predicted to overlap; parameters are gathered beside the first forward passes where
  /// gradients are reduced beside the last backward ones.
  void add_overlap() {
    const GradientOverlap overlap = scenario_.software.communication.gradient_overlap;
    if (overlap == GradientOverlap::none ||
        (overlap == GradientOverlap::no_pipeline && plan_.pp > 1)) {
      return;
    }
    line("--overlap-grad-reduce");
    if (plan_.zero == 1) line("--overlap-param-gather");
  }

  void add_precision() {
    if (plan_.precision == Precision::fp16) line("--fp16");
    if (plan_.precision == Precision::bf16) line("--bf16");
    if (plan_.precision == Precision::tf32) {
      leave_out("precision", "torch.backends.cuda.matmul.allow_tf32 in the program");
    }
    if (plan_.grad_precision == Precision::fp32 && plan_.precision != Precision::fp32) {
      line("--accumulate-allreduce-grads-in-fp32");
    } else if (plan_.grad_precision != plan_.precision) {
      leave_out("grad_precision", "Megatron has gradients in the precision of products or fp32");
    } else if (plan_.grad_precision == Precision::bf16 && !deepspeed_) {
      line("--grad-reduce-in-bf16");
    }
    switch (plan_.attention) {
      case AttentionKind::flash: line("--use-flash-attn"); break;
      case AttentionKind::unfused: line("--no-masked-softmax-fusion"); break;
      case AttentionKind::fused_softmax:
        if (!deepspeed_) {
          leave_out("attention",
                    "the fused softmax is what Megatron-LM took by itself up to 2023; later "
                    "releases choose flash attention");
        }
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
