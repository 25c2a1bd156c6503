#pragma once

/// Reads what nccl-tests prints: `all_reduce_perf` and its sisters.

#include <iosfwd>
#include <string>

#include "calibrate/readings/measurement.hpp"

namespace prequel {

/// A text log. Columns are named by the header line, so all three eras of it are read (root and
/// redop both, one or none); NCCL_DEBUG lines may stand anywhere, in the middle of a row too; a
/// row that is cut off or contradicts itself is left out and named. The operation is told by the
/// log's or file's name for it (`all_gather_perf`), else by busbw / algbw; the ranks by their
/// lines, else by that ratio.
MeasurementFile read_nccl_log(std::istream& in, const std::string& file);

/// The JSON that `-J` writes (2025 on).
MeasurementFile read_nccl_json(std::istream& in, const std::string& file);

}  // namespace prequel
