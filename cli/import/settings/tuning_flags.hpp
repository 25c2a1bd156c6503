#pragma once

/// Names of adapters' settings by trainer: LLaMA-Factory, axolotl, torchtune, TRL, ms-swift, PEFT's
/// own `adapter_config.json` and NeMo.

#include <string>
#include <string_view>

namespace prequel {

struct ImportedJob;

/// Reads a preference or a reward as the plan's objective; returns whether the word is one.
bool take_objective(const std::string& flag, const std::string& value, ImportedJob& job);

/// Reads a preference or a reward that a program's own name tells, as TRL's kto.py; returns whether
/// one does.
bool takes_objective_of(std::string_view program, ImportedJob& job);

/// Reads a flag or key (`--lora-rank`) of what learns by the reader that data/import/ names for it;
/// false where there is none. Words that are known and not priced are listed as left out.
bool take_tuning(const std::string& name, const std::string& flag, const std::string& value,
                 ImportedJob& job);

/// Tests whether there is such a reader.
bool is_tuning_reader(std::string_view name);

}  // namespace prequel
