#pragma once

#include <string_view>

#include "models/job/inputs.hpp"

namespace prequel {

/// Prints the text for the target of that name on stdout and, unless `quiet`, what it leaves out on
/// stderr.
void print_emitted(std::string_view target, const Scenario& scenario, bool quiet);

}  // namespace prequel
