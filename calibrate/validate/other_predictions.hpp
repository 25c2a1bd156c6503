#pragma once

/// Predictions of another tool beside the same measured runs, scored as prequel's own are.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/validate/validation.hpp"

namespace prequel {

/// The prediction of another tool for one run.
struct OtherPrediction {
  std::string id;
  std::optional<double> sec_per_iter;
  std::optional<double> low, high;  ///< of its interval of 80 %, both or none
  std::optional<double> mem_gib;    ///< peak of the fullest device
};

/// Reads a table with the columns `id` and `sec_per_iter`, and if the tool has them `low`, `high`
/// and `mem_gib`; an empty cell: no answer. Throws InputError for another column, a repeated id, a
/// number that is not positive, or half an interval.
std::vector<OtherPrediction> read_other_predictions(std::istream& in, const std::string& file);

/// Puts these predictions in the place of prequel's: rows that they leave out are not answered,
/// whatever prequel says of them; verdicts on memory stay prequel's. Throws InputError where an id
/// is of no row.
void replace_predictions(std::vector<ValidatedRun>& runs,
                         const std::vector<OtherPrediction>& predictions);

}  // namespace prequel
