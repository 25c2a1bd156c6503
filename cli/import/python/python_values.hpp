#pragma once

/// Configurations that are Python's assignments: nanoGPT's `batch_size = 12`, InternEvo's
/// `parallel = dict(tensor=dict(size=8))`. They are read, never run.

#include <map>
#include <string>
#include <string_view>

namespace prequel {

/// Tests whether the first line of code is one of Python's: an import, or an assignment that no
/// shell has.
bool looks_like_python(std::string_view text);

/// The values by their paths: literals and arithmetic of them, names assigned before, tuples,
/// lists, dicts, and what constructors are given by name. Other values stand as `$` and their text.
/// Throws InputError that names the line of a statement that is no assignment, which makes a
/// program.
std::map<std::string, std::string> python_values(const std::string& file, std::string_view text);

}  // namespace prequel
