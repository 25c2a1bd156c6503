#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/measured_runs.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// The rows of tables of measured runs, which become inputs of the answer; `-` is stdin. Throws
/// InputError, too, for a table without a row.
std::vector<MeasuredRun> read_tables(const Library& library, const std::vector<std::string>& files);

}  // namespace prequel
