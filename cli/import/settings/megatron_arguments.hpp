#pragma once

/// Understands the command lines of Megatron-LM, Megatron-DeepSpeed and their launchers.

#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// A flag with its value, as command lines, configurations and dumps of arguments say it.
struct SaidFlag {
  std::string flag, value;
  std::string key{};  ///< of the configuration that says it
};
using SaidFlags = std::vector<SaidFlag>;

/// Reads flags into `job`; unknown ones are listed as ignored, a known one whose value still holds
/// a `$` as unresolved. Throws InputError, naming `file` and flag, for a value that is no number
/// where one is needed, and for what is not priced.
void read_flags(const std::string& file, const SaidFlags& flags, Facts& job,
                NameSource source = NameSource::flag);

/// Reads `--flag value`, `--flag=value` and `--flag` from the words of a command line; other words
/// are passed over.
void read_megatron_arguments(const std::string& file, const std::vector<std::string>& words,
                             Facts& job);

/// Tests whether a word is the path of a configuration.
bool is_config_path(std::string_view word);

/// Tests whether there is a reader of values that data/import/ may name so.
bool is_value_reader(const ForeignNames& names, std::string_view reader);

/// Reads what stands behind a flag by the reader, or into the field, that data/import/ names for
/// it. Returns whether all of it is known.
bool take_list(const std::string& name, const std::string& flag,
               const std::vector<std::string>& words, Facts& job);

/// Tests whether there is such a reader.
bool is_list_reader(const ForeignNames& names, std::string_view name);

/// Reads a preference or a reward that a program's own name tells, as TRL's kto.py; returns whether
/// one does.
bool takes_objective_of(std::string_view program, Facts& job);

/// Reads a flag or key (`--lora-rank`) of what learns by the reader that data/import/ names for it;
/// false where there is none. Words that are known and not priced are listed as left out.
bool take_tuning(std::string_view name, const std::string& flag, const std::string& value,
                 Facts& job);

}  // namespace prequel
