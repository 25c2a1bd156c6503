#pragma once

/// Text, JSON and CSV of `prequel calibrate check`, `fit` and `runs`.

#include <string>
#include <vector>

#include "calibrate/fit/check.hpp"
#include "calibrate/fit/fit.hpp"
#include "cli/calibrate/runs_answer.hpp"
#include "cli/json/answer_json.hpp"

namespace prequel {

std::string check_text(const Check& check);
std::string check_json(const Check& check);
std::string check_csv(const Check& check);

std::string fit_text(const std::vector<FitReport>& reports);
std::string fit_json(const std::vector<FitReport>& reports);

/// The document `prequel/run-fit/1`.
std::string run_fit_json(const RunsAnswer& answer, const Context& context);

std::string run_fit_text(const RunsAnswer& answer);

}  // namespace prequel
