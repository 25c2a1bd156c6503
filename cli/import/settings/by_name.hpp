#pragma once

/// Meanings of flags and keys that nothing knows, by their names, where nothing known says the
/// same.

#include <optional>
#include <string>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Returns the meaning of a number by its flag's name (`--my-micro-batch 4`, `--decoder-embed-dim
/// 2048`); nothing where it may belong to something else: evaluation, generation, another model.
std::optional<NumberByName> number_by_name(const ForeignNames& names, const std::string& flag,
                                           const std::string& value);

/// Returns the effect of a switch or a word by its flag's name: `--use_grad_ckpt`, `compute_dtype:
/// bf16`.
std::optional<EffectByName> effect_by_name(const std::string& flag, const std::string& value);

/// Takes those where nothing that is known says the same, and tells so.
void take_by_names(ImportedJob& job);

/// Settles a batch that some programs count by the device and some over all, and one in tokens.
void settle_batches(ImportedJob& job);

}  // namespace prequel
