#pragma once

/// Error statistics as the JSON answers of several commands state them.

#include <nlohmann/json_fwd.hpp>

#include "calibrate/statistics/error_statistics.hpp"

namespace prequel {

/// `n`, `mape`, `median`, `p90`, `max` and `bias`, as fractions.
nlohmann::ordered_json errors_json(const ErrorStatistics& errors);

/// Shares of the rows that lie in their interval of each level.
nlohmann::ordered_json levels_json(const Coverage& coverage);

/// `n`, and how many of them lie in each interval.
nlohmann::ordered_json covered_json(const Coverage& coverage);

}  // namespace prequel
