#pragma once

/// Configurations in Python that are plain assignments: nanoGPT's, InternEvo's.

#include <string>
#include <string_view>

#include "cli/import/imported_job.hpp"

namespace prequel {

/// Reads its values into `job`, as those of other configurations. Throws InputError for programs.
void read_python_config(const std::string& file, std::string_view text, ImportedJob& job);

/// What nanoGPT's train.py has by default, and how it counts its batches, where it is what trains.
void assume_nanogpt_defaults(ImportedJob& job);

}  // namespace prequel
