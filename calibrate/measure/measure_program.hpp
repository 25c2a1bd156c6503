#pragma once

/// prequel-measure as a function.

#include "calibrate/measure/sampling.hpp"

namespace prequel {

/// Measures as the arguments ask; what is wrong is said on stderr. The budget is kept by `clock`.
/// Returns the exit status.
int run_measure_program(int argc, char** argv, const Clock& clock);

}  // namespace prequel
