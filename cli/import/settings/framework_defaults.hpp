#pragma once

/// Defaults of frameworks that follow from more than one setting, and models by their names.

#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

class Library;

/// Puts the shape of the model that family and flavour name (`llama3`, `8B`) into the job where
/// `library` has it; else the job names the model alone.
void look_up_flavour(const Library* library, Facts& job);

/// Tests whether a key of a configuration is MaxText's alone, noted as a fact
/// `maxtext.KEY`.
bool is_maxtext_key(std::string_view key);

/// Fills in what Megatron does where no flag asks for anything else: no recomputation, ZeRO 0
/// (unless DeepSpeed trains), no sequence parallelism, the width of a gated MLP, keys and values
/// for all heads. Notes as assumed what a user could have meant otherwise.
void assume_megatron_defaults(Facts& job);

}  // namespace prequel
