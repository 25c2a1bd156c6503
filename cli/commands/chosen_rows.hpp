#pragma once

/// The measurements that `calibrate check` and `calibrate fit` are asked about.

#include <string>
#include <vector>

#include "calibrate/fit/measurement_file.hpp"
#include "cli/flags/common_options.hpp"

namespace prequel {

/// Reads the files, keeps the rows that meet all filters (`--where`), and names on stderr what
/// could not be read. Throws InputError when nothing is left.
MeasurementFile read_chosen_rows(const CommonOptions& common, const std::vector<std::string>& files,
                                 const std::vector<std::string>& where);

}  // namespace prequel
