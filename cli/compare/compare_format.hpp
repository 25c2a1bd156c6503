#pragma once

/// The forms of what `prequel compare` answers.

#include <string>

#include "cli/compare/compare_answer.hpp"
#include "cli/json/answer_json.hpp"
#include "cli/text/terminal.hpp"

namespace prequel {

/// The document `prequel/job-comparison/1`.
std::string compare_json(const CompareAnswer& answer, const Context& context);

std::string compare_text(const CompareAnswer& answer, const Terminal& terminal);

}  // namespace prequel
