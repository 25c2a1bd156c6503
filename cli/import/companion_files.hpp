#pragma once

/// Files that scripts and configurations name and that lie where they name them: a DeepSpeed JSON,
/// an accelerate YAML, a model's folder, a script that is sourced.

#include <optional>
#include <string>
#include <vector>

#include "cli/import/named_inputs.hpp"
#include "cli/import/source_files.hpp"

namespace prequel {

/// Adds the files that the others name (file_beside says where they may lie), and those that these
/// name; not where one of the same name, or what it says, is there already. Throws InputError for
/// one that is there and cannot be read.
void add_companions(std::vector<Source>& sources, const ImportNames& names);

/// The path of the file that the file `by` calls `name`: relative to the folder of `by` or, from
/// there upwards, to one of those around it, the nearest first. Folders end with the repository's
/// (which has `.git`), without one with the working folder if `by` is in it, else with its own. A
/// begin of the name that only a run would tell (`$ROOT/configs/zero3.json`) may be any of them.
/// Nothing for what is no regular file, or, with links resolved, outside of those folders.
std::optional<std::string> file_beside(const std::string& name, const std::string& by);

}  // namespace prequel
