#pragma once

/// Configurations in Python that are plain assignments: nanoGPT's, InternEvo's.

#include <string>
#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Reads its values into `job`, as those of other configurations. Throws InputError for programs.
void read_python_config(const std::string& file, std::string_view text, ImportedJob& job);

}  // namespace prequel
