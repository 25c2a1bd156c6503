#pragma once

/// Understands configurations in TOML, as torchtitan has them.

#include <string>
#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Reads a configuration into `job`, as `read_config_values` does. Throws InputError, naming
/// `file`, for what is no TOML or over 1 MiB.
void read_toml_config(const std::string& file, std::string_view text, ImportedJob& job);

}  // namespace prequel
