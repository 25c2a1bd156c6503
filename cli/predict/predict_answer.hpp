#pragma once

/// Answers of `prequel predict`, made without input or output of their own.

#include "cli/predict/predict_options.hpp"
#include "cli/predict/prediction_format.hpp"
#include "cli/text/tell.hpp"

namespace prequel {

struct PredictAnswer {
  Job job;
  Scenario scenario;
  Prediction prediction;  ///< its warnings begin with those of the plan
  PredictionDetails details;

  /// Tests whether the answer is "no": the plan is out of memory.
  [[nodiscard]] bool is_no() const { return !prediction.fits; }
  /// Tests whether the plan fits beyond reasonable doubt: neither tight nor out of memory.
  [[nodiscard]] bool fits_surely() const {
    return prediction.verdict == MemoryVerdict::fits && prediction.fits;
  }
};

/// Reads what the options name and predicts it; `tell` hears what was made of other tools' files,
/// `progress` of samples with jitter. Throws InputError.
PredictAnswer answer_predict(const Library& library, const PredictOptions& options,
                             const Tell& tell, const Progress& progress);

/// Finds what to change so that a plan which may not fit does with 95 %, the cheapest in time;
/// nothing where the plan is sure to fit, or none near it is.
std::optional<SurePlan> sure_plan(const Library& library, const PredictAnswer& answer);

/// The document `prequel/prediction/1` of an answer.
std::string prediction_json(const PredictAnswer& answer);

}  // namespace prequel
