#pragma once

/// Flags whose value is a list of words that must be worked out.

#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Reads what stands behind a flag by the reader, or into the field, that data/import/ names for
/// it. Returns whether all of it is known.
bool take_list(const std::string& name, const std::string& flag, std::vector<std::string> words,
               ImportedJob& job);

/// Tests whether there is such a reader.
bool is_list_reader(std::string_view name);

}  // namespace prequel
