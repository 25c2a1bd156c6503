#pragma once

/// Rules of data/import/rules.json: what follows from what the files of a job say.
///
/// A condition is a flag, a key or a field that is said (`--fp16`, `plan.zero`), a comparison
/// (`plan.zero=3`, `model.num_experts>1`, `moments.first!=moments.second`), a text that holds
/// another (`model_named~gptq`, `name~^use_`, `name~ckpt$`), or arithmetic of fields
/// (`{devices}%{plan.tp:1}==0`), which does not hold where one of them is not said. `!` before it
/// turns it round; `|` parts alternatives.

#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Tests a condition.
bool holds(std::string_view condition, const Facts& job);

/// Tests whether all of a rule's conditions hold.
bool applies(const Rule& rule, const Facts& job);

/// Follows the rules of one step in their order: sets fields and adds lines to the report.
void follow_rules(std::string_view step, Facts& job);

/// Tests whether a word switches off: `false`, `none`, `no`.
bool switches_off(const std::string& value);

/// Follows the first rule of a reader of values that applies. Its conditions ask for the `flag`,
/// the `value` behind it (`true` where there is none), the `word` in small letters, `on` and `off`.
/// Returns false where none applies.
bool read_by_rules(std::string_view reader, const std::string& flag, const std::string& said,
                   Facts& job);

/// Returns the lines of a step's rules that apply.
std::vector<std::string> lines_of_rules(std::string_view step, const Facts& job);

}  // namespace prequel
