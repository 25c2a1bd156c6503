#pragma once

/// What flags and keys that nothing knows say by their names, where nothing known says it.

#include <optional>
#include <string>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// What a number is of by its flag's name (`--my-micro-batch 4`, `--decoder-embed-dim 2048`);
/// nothing where it may be of something else: evaluation, generation, another model.
std::optional<NumberByName> number_by_name(const ForeignNames& names, const std::string& flag,
                                           const std::string& value);

/// What a switch or a word does by its flag's name: `--use_grad_ckpt`, `compute_dtype: bf16`.
std::optional<EffectByName> effect_by_name(const std::string& flag, const std::string& value);

/// Takes those where nothing that is known says the same, and tells so.
void take_by_names(ImportedJob& job);

/// What a batch is that some programs count by the device and some over all, and one in tokens.
void settle_batches(ImportedJob& job);

}  // namespace prequel
