#pragma once

/// A validation as people and programs read it.

#include <optional>
#include <string>
#include <vector>

#include "calibrate/runs/gap.hpp"
#include "calibrate/validate/validation.hpp"
#include "cli/json/answer_json.hpp"

namespace prequel {

/// Groups as a table, the worst rows with a guess why, what alone could explain the gap, rows
/// without a prediction with the reason; lines of at most `width` characters (0: any).
std::string validation_text(const std::vector<ValidatedRun>& runs,
                            const std::vector<ValidationGroup>& groups, int worst,
                            std::size_t width = 0, const std::vector<GapCause>& causes = {});

/// The document `prequel/validation/1`.
std::string validation_json(const std::vector<ValidatedRun>& runs,
                            const std::vector<ValidationGroup>& groups,
                            const std::vector<GapCause>& causes = {},
                            const std::optional<Context>& context = {});

/// One row a run.
std::string validation_csv(const std::vector<ValidatedRun>& runs);

}  // namespace prequel
