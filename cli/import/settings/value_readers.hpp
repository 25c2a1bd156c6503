#pragma once

/// Readers of values that must be worked out: lists of words, and what learns in fine-tuning.

#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Reads what stands behind a flag by the reader, or into the field, that data/import/ names for
/// it. Returns whether all of it is known.
bool take_list(const std::string& name, const std::string& flag, std::vector<std::string> words,
               Facts& job);

/// Tests whether there is such a reader.
bool is_list_reader(std::string_view name);

/// Reads a preference or a reward that a program's own name tells, as TRL's kto.py; returns whether
/// one does.
bool takes_objective_of(std::string_view program, Facts& job);

/// Reads a flag or key (`--lora-rank`) of what learns by the reader that data/import/ names for it;
/// false where there is none. Words that are known and not priced are listed as left out.
bool take_tuning(std::string_view name, const std::string& flag, const std::string& value,
                 Facts& job);

}  // namespace prequel
