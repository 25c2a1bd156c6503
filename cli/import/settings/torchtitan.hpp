#pragma once

/// Meaning of torchtitan's settings: its defaults, its counts of batches, its models by name.

#include "cli/import/job/imported_job.hpp"

namespace prequel {

class Library;

/// Puts the shape of the model that family and flavour name (`llama3`, `8B`) into the job where
/// `library` has it; else the job names the model alone.
void look_up_flavour(const Library* library, ImportedJob& job);

/// Derives the plan from torchtitan's settings, and assumes its defaults for those left out. Does
/// nothing to other jobs.
void assume_torchtitan_defaults(ImportedJob& job);

}  // namespace prequel
