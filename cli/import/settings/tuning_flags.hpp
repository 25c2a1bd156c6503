#pragma once

/// What trainers of adapters call them: LLaMA-Factory, axolotl, torchtune, TRL, ms-swift, PEFT's
/// own `adapter_config.json` and NeMo.

#include <string>

namespace prequel {

struct ImportedJob;

/// Reads a flag or key (`--lora-rank`) of what learns; false where it is another's. Words that are
/// known and not priced are listed as left out.
/// Reads a preference or a reward as the plan's objective; returns whether the word is one.
bool take_objective(const std::string& flag, const std::string& value, ImportedJob& job);

bool take_tuning(const std::string& flag, const std::string& value, ImportedJob& job);

/// Fills what such a job leaves to its program: LLaMA-Factory's and PEFT's rank of 8.
void assume_tuning_defaults(ImportedJob& job);

}  // namespace prequel
