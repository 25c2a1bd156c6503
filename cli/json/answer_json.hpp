#pragma once

/// Parts that the documents of several answers have.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibrate/runs/gap_cause.hpp"
#include "calibrate/statistics/error_statistics.hpp"
#include "models/job/library.hpp"
#include "models/job/model_shape.hpp"
#include "sim/answer/interval.hpp"
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

/// The origin of an answer: its call and its files.
struct Context {
  std::string command;  ///< the call of prequel that gives this answer
  std::vector<InputFile> inputs;
};

/// The member `context` of answers.
nlohmann::ordered_json context_json(const Context& context);

}  // namespace prequel
