#pragma once

/// Parts of a prediction's document that other documents have too.

#include <nlohmann/json_fwd.hpp>

#include "sim/answer/prediction.hpp"

namespace prequel {

nlohmann::ordered_json plan_json(const Plan& plan);

/// Seconds, by what they are spent on.
nlohmann::ordered_json breakdown_json(const Breakdown& parts);
nlohmann::ordered_json hidden_json(const HiddenTime& hidden);

}  // namespace prequel
