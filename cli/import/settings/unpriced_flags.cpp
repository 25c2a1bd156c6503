#include "cli/import/settings/megatron_flags.hpp"

namespace prequel {
namespace {

constexpr UnmodelledFlag kUnmodelled[] = {
    {"--align-grad-reduce"},
    {"--checkpoint-in-cpu"},
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
    {"--export-kd-teacher-load"},
    {"--num-layers-teacher"},
};

}  // namespace

std::span<const UnmodelledFlag> unmodelled_flags() {
  return kUnmodelled;
}

}  // namespace prequel
