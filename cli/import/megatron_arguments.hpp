#pragma once

/// Understands the command lines of Megatron-LM, Megatron-DeepSpeed and their launchers.

#include <string>
#include <vector>

#include "cli/import/imported_job.hpp"

namespace prequel {

/// Reads `--flag value`, `--flag=value` and `--flag` from the words of a command line into `job`;
/// other words are passed over, unknown flags listed as ignored. A known flag whose value still
/// holds a `$` is listed as unresolved. Throws InputError, naming `file` and flag, for a value
/// that is no number where one is needed, and for a mixture of experts.
void read_megatron_arguments(const std::string& file, const std::vector<std::string>& words,
                             ImportedJob& job);

/// Fills in what Megatron does where no flag asks for anything else: no recomputation, ZeRO 0
/// (unless DeepSpeed trains), no sequence parallelism, the width of a gated MLP, keys and values
/// for all heads. Notes as assumed what a user could have meant otherwise.
void assume_megatron_defaults(ImportedJob& job);

}  // namespace prequel
