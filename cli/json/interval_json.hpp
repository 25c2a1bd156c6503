#pragma once

/// How sure an answer is, how far off answers were, and what could explain a gap to what was
/// measured, in JSON answers.

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibrate/runs/gap_cause.hpp"
#include "calibrate/statistics/error_statistics.hpp"
#include "sim/answer/interval.hpp"

namespace prequel {

/// {"level", "sec_per_iter": [low, high], "memory_gib": [low, high], "fits_probability", "sources",
/// "basis"}
nlohmann::ordered_json interval_json(const Interval& interval);

/// Doubts of an answer and their shares of its variance.
nlohmann::ordered_json sources_json(const std::vector<SpreadSource>& sources);

/// [{"cause", "probability", "path", "times", "low", "high"}, …]
nlohmann::ordered_json causes_json(const std::vector<GapCause>& causes);

/// `n`, `mape`, `median`, `p90`, `max` and `bias`, as fractions.
nlohmann::ordered_json errors_json(const ErrorStatistics& errors);

/// Shares of the rows that lie in their interval of each level.
nlohmann::ordered_json levels_json(const Coverage& coverage);

/// `n`, and how many of them lie in each interval.
nlohmann::ordered_json covered_json(const Coverage& coverage);

}  // namespace prequel
