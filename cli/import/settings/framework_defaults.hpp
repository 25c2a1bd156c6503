#pragma once

/// Defaults of frameworks that follow from more than one setting, and models by their names.

#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

class Library;

/// Fills what nanoGPT's configuration leaves to train.py, and shares accumulation steps out among
/// ranks, where it is what trains.
void assume_nanogpt_defaults(Facts& job);

/// Puts the shape of the model that family and flavour name (`llama3`, `8B`) into the job where
/// `library` has it; else the job names the model alone.
void look_up_flavour(const Library* library, Facts& job);

/// Tests whether files hold torchtitan's settings.
bool is_torchtitan(const Facts& job);

/// Derives the plan from torchtitan's settings, and assumes its defaults for those left out. Does
/// nothing to other jobs.
void assume_torchtitan_defaults(Facts& job);

/// Tests whether a key of a configuration is MaxText's alone, so that `assume_maxtext_defaults`
/// reads it.
bool is_maxtext_key(std::string_view key);

/// Derives degrees, batches, sharding and recomputation from the keys that were noted (facts
/// `maxtext.KEY`), with the defaults of MaxText's base.yml.
void assume_maxtext_defaults(Facts& job);

/// Fills in what Megatron does where no flag asks for anything else: no recomputation, ZeRO 0
/// (unless DeepSpeed trains), no sequence parallelism, the width of a gated MLP, keys and values
/// for all heads. Notes as assumed what a user could have meant otherwise.
void assume_megatron_defaults(Facts& job);

}  // namespace prequel
