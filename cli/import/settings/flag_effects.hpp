#pragma once

/// Effects on a job of flags of more than one kind: a switch, a word after a flag, a list of words.

#include <cstdint>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/settings/megatron_flags.hpp"

namespace prequel {

/// fp8 and fp4 go with a type for what is in neither.
void products_in(ImportedJob& job, Precision precision);
/// fp4 goes over it.
void products_in_fp8(ImportedJob& job);
/// Optimizer states at least, as ZeRO 1 shards them.
void distribute_optimizer(ImportedJob& job);
/// An MLP of three products.
void gated(ImportedJob& job);
/// The same, gated by GELU.
void gated_by_gelu(ImportedJob& job);
/// Megatron's --swiglu narrows the MLP so that it keeps the parameters of a plain one.
void gated_in_two_thirds(ImportedJob& job);
/// Llama's block, where a script names the family and gives sizes alone.
void llama_block(ImportedJob& job);
/// Positions by turned queries and keys.
void rotary(ImportedJob& job);
/// Weights and states in 16 bits alone, without the optimizer's own copy.
void all_in_bf16(ImportedJob& job);
/// Whole layers are computed again for the backward pass.
void recompute_all(ImportedJob& job);
/// Optimizer states and parameters are kept in host memory.
void offload_all(ImportedJob& job);

/// Recipes of NeMo and Bridge name all of it in one word.
template <Fp8Recipe kRecipe>
void mixed(ImportedJob& job) {
  job.plan.precision = kRecipe == Fp8Recipe::nvfp4 ? Precision::fp4 : Precision::fp8;
  job.plan.fp8_recipe = kRecipe;
}

/// The flex dispatcher's backend, or the older switch that stands for it.
template <Dispatcher kBackend>
void flexes(ImportedJob& job) {
  job.said[kFlexBackend] = static_cast<std::int64_t>(kBackend);
}

/// Two chunks a stage, in a V (arXiv 2405.15362), in all of 1F1B's memory or in less.
template <Schedule kSchedule>
void in_a_v(ImportedJob& job) {
  job.plan.schedule = kSchedule;
  job.plan.vpp = 2;
}

}  // namespace prequel
