#pragma once

/// Flags and keys that nothing reads, though their names are of what predictions rest on.

#include <cstddef>
#include <optional>
#include <string>

#include "cli/import/imported_job.hpp"

namespace prequel {

/// What a flag that nothing reads says by its name (`--my-micro-batch 4`); nothing where it may be
/// of something else: evaluation, generation, another model.
std::optional<NumberByName> number_by_name(const std::string& flag, const std::string& value);

/// What a switch or a word that nothing reads does by its name: `--use_grad_ckpt`,
/// `compute_dtype: bf16`.
std::optional<EffectByName> effect_by_name(const std::string& flag, const std::string& value);

/// Takes those where nothing that is known says the same, and tells so.
void take_by_names(ImportedJob& job);

/// What a batch is that some programs count by the device and some over all, and one in tokens.
void settle_batches(ImportedJob& job);

/// Moves what was ignored from `first` on to what is left out where its name is of the model's
/// shape, of the layout or of what is kept in memory.
void tell_by_names(std::size_t first, ImportReport& report);

}  // namespace prequel
