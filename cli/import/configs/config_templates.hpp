#pragma once

/// Templates of configurations, which scripts fill by `sed` or `envsubst`.

#include <string>
#include <string_view>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/shell/shell_state.hpp"

namespace prequel {

/// Notes what a word says of `sed`: `s/WORD/VALUE/`, with any sign, and one behind the other.
void remember_substitutions(std::string_view word, ImportedJob& job);

/// A template of JSON as `sed` fills it by what was noted, and `envsubst` by the script's
/// variables. Throws InputError for what grows beyond 16 MiB.
std::string filled_template(const std::string& text, const ImportedJob& job,
                            const ShellState& state);

}  // namespace prequel
