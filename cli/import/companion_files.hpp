#pragma once

/// Files that scripts and configurations name and that lie where they name them: a DeepSpeed JSON,
/// an accelerate YAML, a model's folder, a script that is sourced.

#include <vector>

#include "cli/import/named_inputs.hpp"
#include "cli/import/source_files.hpp"

namespace prequel {

/// Adds the files that the others name (file_beside says where they may lie), and those that these
/// name; not where one of the same name, or what it says, is there already. Throws InputError for
/// one that is there and cannot be read.
void add_companions(std::vector<Source>& sources, const ImportNames& names);

}  // namespace prequel
