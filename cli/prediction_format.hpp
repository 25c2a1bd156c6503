#pragma once

/// A prediction as people and programs read it.

#include <optional>
#include <string>

#include "models/library.hpp"
#include "sim/prediction.hpp"

namespace prequel {

/// The table for people: numbers with units, memory per stage, the breakdown as a bar chart.
std::string prediction_text(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured);

/// The document `prequel/prediction/1`.
std::string prediction_json(const Scenario& scenario, const Prediction& prediction,
                            const std::optional<Measured>& measured);

/// "fits", "tight" or "oom".
std::string_view name(MemoryVerdict verdict);

}  // namespace prequel
