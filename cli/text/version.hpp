#pragma once

/// Name, version and build of this program.

#include <string>

#include "models/job/library.hpp"

namespace prequel {

/// "prequel 0.2.0", for files that are written.
std::string version();

/// `version`, the commit where the build knows it, compiler, build type and data folder, a line
/// each.
std::string build_facts(const Library& library);

}  // namespace prequel
