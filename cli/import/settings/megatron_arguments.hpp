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

/// Tests whether there is a reader of values that data/import/ may name so.
bool is_value_reader(const ForeignNames& names, std::string_view reader);

}  // namespace prequel
