#pragma once

/// Settings of a job that follow from others: degrees, batches, chunks, layouts.

#include <cstdint>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Returns the number of units that the stages of a pipeline share out: layers, and embedding and
/// head where they count as one.
std::int64_t pipeline_units(const ImportedJob& job);

/// Derives devices from nodes and the devices of a node, and nodes from those.
void complete_devices(ImportedJob& job);
/// Derives what follows from what was said (dp, nodes, vpp, batch sizes) and notes it as assumed.
void complete(ImportedJob& job);

}  // namespace prequel
