#pragma once

/// nanoGPT's train.py: its defaults, and how it counts batches.

#include "cli/import/job/imported_job.hpp"

namespace prequel {

inline constexpr const char* kNanoGpt = "nanoGPT";  ///< among what a job says

/// Fills what its configuration leaves to train.py, and shares accumulation steps out among ranks,
/// where it is what trains.
void assume_nanogpt_defaults(ImportedJob& job);

}  // namespace prequel
