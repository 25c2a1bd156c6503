#pragma once

/// Text, JSON and CSV of `prequel calibrate check` and `prequel calibrate fit`.

#include <string>
#include <vector>

#include "calibrate/fit/check.hpp"
#include "calibrate/fit/fit.hpp"

namespace prequel {

std::string check_text(const Check& check);
std::string check_json(const Check& check);
std::string check_csv(const Check& check);

std::string fit_text(const std::vector<FitReport>& reports);
std::string fit_json(const std::vector<FitReport>& reports);

}  // namespace prequel
