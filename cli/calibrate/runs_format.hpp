#pragma once

/// The forms of what `prequel calibrate runs` answers.

#include <string>

#include "cli/calibrate/runs_answer.hpp"
#include "cli/json/answer_json.hpp"

namespace prequel {

/// The document `prequel/run-fit/1`.
std::string run_fit_json(const RunsAnswer& answer, const Context& context);

std::string run_fit_text(const RunsAnswer& answer);

}  // namespace prequel
