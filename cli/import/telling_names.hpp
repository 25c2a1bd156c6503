#pragma once

/// Flags and keys that nothing reads, though their names are of what predictions rest on.

#include <cstddef>

#include "cli/import/imported_job.hpp"

namespace prequel {

/// Moves what was ignored from `first` on to what is left out where its name is of the model's
/// shape, of the layout or of what is kept in memory.
void tell_by_names(std::size_t first, ImportReport& report);

}  // namespace prequel
