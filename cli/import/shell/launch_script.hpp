#pragma once

/// Reads bash launch scripts without running them: variables, arrays, arithmetic, continued lines,
/// functions, here-documents and `#SBATCH` lines. Where the tests of branches compare known values,
/// the branch that runs is read; else one alternative is read, and the report lists all. `while`
/// runs as often as its test says where that is known; other loops are read once, for their last
/// value.

#include <string>
#include <string_view>

#include "cli/import/shell/script_inputs.hpp"
#include "cli/import/shell/shell_state.hpp"

namespace prequel {

/// Where a script starts that is given these. Throws InputError for what is not NAME=VALUE.
ShellState shell_state(const ScriptInputs& inputs);

/// Throws InputError for scripts that expand to more than 4 MiB.
LaunchScript read_launch_script(const std::string& file, std::string_view text,
                                const ShellState& before = {}, const Choices& choices = {});

/// Throws InputError, naming what decides, where the alternatives of an open chain give the model
/// different layers or widths.
void refuse_open_sizes(const std::string& file, std::string_view text, const ShellState& before,
                       const LaunchScript& script);

}  // namespace prequel
