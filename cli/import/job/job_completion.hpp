#pragma once

/// Settings of a job that follow from others (degrees, batches, chunks, layouts), and combinations
/// that the framework itself would refuse to start with.

#include <cstdint>
#include <string>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Derives what follows from what was said (dp, nodes, vpp, batch sizes) and notes it as assumed.
void complete(Facts& job);

/// Holds what scripts and configs say against the assertions of Megatron-LM, Megatron-DeepSpeed and
/// DeepSpeed: two words on one batch size, batch sizes that do not multiply to one another, chunks
/// that do not divide a stage, flags that exclude or need each other. `job` is completed. Throws
/// InputError, beginning with `origin`, with all of them.
void refuse_contradictions(const Facts& job, const std::string& origin);

}  // namespace prequel
