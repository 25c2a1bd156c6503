#pragma once

/// HTML reports: one file each that opens without a network.

#include <string>
#include <vector>

#include "calibrate/validate/validation.hpp"
#include "cli/predict/predict_answer.hpp"
#include "sim/search/found_plan.hpp"

namespace prequel {

/// The numbers, the timeline, memory, breakdown and sensitivity of a prediction. Throws InputError
/// where this build has no reports, as do all of these.
std::string prediction_report(const PredictAnswer& answer);

/// Predicted against measured, and the residuals by each column of the runs.
std::string validation_report(const std::vector<ValidatedRun>& runs,
                              const std::vector<ValidationGroup>& groups);

/// The Pareto chart and the table of plans of a `prequel/search/1` document, with every plan that
/// fits where it is known.
std::string search_report(const std::string& search_json, const std::vector<FoundPlan>& cloud = {});

}  // namespace prequel
