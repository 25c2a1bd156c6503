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
};

/// Reads what the options name and predicts it; `tell` hears what was made of other tools' files,
/// `progress` of samples with jitter. Throws InputError.
PredictAnswer answer_predict(const Library& library, const PredictOptions& options,
                             const Tell& tell, const Progress& progress);

/// The document `prequel/prediction/1` of an answer.
std::string prediction_json(const PredictAnswer& answer);

}  // namespace prequel
