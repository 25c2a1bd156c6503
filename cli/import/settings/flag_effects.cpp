#include "cli/import/settings/flag_effects.hpp"

#include <algorithm>

namespace prequel {

void products_in(ImportedJob& job, Precision precision) {
  if (!is_quantized(job.plan.precision.value_or(precision))) job.plan.precision = precision;
}

void products_in_fp8(ImportedJob& job) {
  if (job.plan.precision != Precision::fp4) job.plan.precision = Precision::fp8;
}

void distribute_optimizer(ImportedJob& job) {
  job.plan.zero = std::max<std::int64_t>(1, job.plan.zero.value_or(1));
}

void gated(ImportedJob& job) {
  job.model.mlp = Mlp::swiglu;
}

void gated_by_gelu(ImportedJob& job) {
  job.model.mlp = Mlp::geglu;
}

void gated_in_two_thirds(ImportedJob& job) {
  gated(job);
  job.narrowed_mlp = true;
}

void llama_block(ImportedJob& job) {
  gated(job);
  job.model.norm = Norm::rms_norm;
  job.model.position = PositionEmbedding::rope;
  job.model.linear_bias = job.model.tied_embeddings = false;
}

void rotary(ImportedJob& job) {
  job.model.position = PositionEmbedding::rope;
}

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

void offload_all(ImportedJob& job) {
  job.plan.offload = Offload::optimizer_params;
}

}  // namespace prequel
