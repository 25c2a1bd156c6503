#pragma once

/// The `interval` object of JSON answers.

#include <nlohmann/json_fwd.hpp>

#include "sim/answer/interval.hpp"

namespace prequel {

/// {"level", "sec_per_iter": [low, high], "memory_gib": [low, high], "fits_probability", "sources",
/// "basis"}
nlohmann::ordered_json interval_json(const Interval& interval);

}  // namespace prequel
