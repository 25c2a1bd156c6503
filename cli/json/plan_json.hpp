#pragma once

/// Parts of a prediction's document that other documents have too.

#include <nlohmann/json_fwd.hpp>

#include "models/job/model_shape.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {

nlohmann::ordered_json plan_json(const Plan& plan);
/// Layers, hidden size and heads.
nlohmann::ordered_json shape_json(const ModelShape& shape);

/// Seconds, by what they are spent on.
nlohmann::ordered_json breakdown_json(const Breakdown& parts);
/// Seconds of communication that keep nothing waiting.
nlohmann::ordered_json hidden_json(const HiddenTime& hidden);

/// `tflops_per_gpu`, `mfu` and `hfu`.
nlohmann::ordered_json rates_json(const Prediction& prediction, const Plan& plan);

}  // namespace prequel
