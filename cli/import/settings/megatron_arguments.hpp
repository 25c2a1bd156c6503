#pragma once

/// Understands the command lines of Megatron-LM, Megatron-DeepSpeed and their launchers.

#include <string>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Reads `--flag value`, `--flag=value` and `--flag` from the words of a command line into `job`;
/// other words are passed over, unknown flags listed as ignored. A known flag whose value still
/// holds a `$` is listed as unresolved. Throws InputError, naming `file` and flag, for a value
/// that is no number where one is needed, and for what is not priced.
void read_megatron_arguments(const std::string& file, const std::vector<std::string>& words,
                             ImportedJob& job, NameSource source = NameSource::flag);

}  // namespace prequel
