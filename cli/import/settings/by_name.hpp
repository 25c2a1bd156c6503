#pragma once

/// Meanings of flags and keys that nothing knows, by their names, where nothing known says the
/// same.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Returns the meaning of a number by its flag's name (`--my-micro-batch 4`, `--decoder-embed-dim
/// 2048`), or of a switch or a word: `--use_grad_ckpt`, `compute_dtype: bf16`. Nothing where it may
/// belong to something else: evaluation, generation, another model.
std::optional<Guess> guess_by_name(const ForeignNames& names, const std::string& flag,
                                   const std::string& value);

/// Takes those where nothing that is known says the same, and tells so.
void take_by_names(Facts& job);

/// The name alone of a flag or key, without its section and what stands behind it: `--moe-ffn-size
/// 4` and `model.moe_ffn_size` are one.
std::string own_name(std::string_view entry);

/// Tests whether one of the parts is in a name.
bool has_part(std::string_view name, const std::vector<std::string>& parts);

/// Moves what was ignored from `first` on to what is left out where its name is of the model's
/// shape, of the layout or of what is kept in memory.
void tell_by_names(std::size_t first, Facts& job);

}  // namespace prequel
