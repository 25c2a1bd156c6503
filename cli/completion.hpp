#pragma once

/// Scripts that let a shell complete the program's command line.

#include <cstdint>
#include <string>

#include "cli/command_tree.hpp"

namespace prequel {

enum class Shell : std::uint8_t { bash, zsh, fish };

/// The script for that shell. Names of models, devices and so on are asked of the program while
/// the user types, since a data folder may hold any.
std::string completion_script(const CommandDescription& program, Shell shell);

}  // namespace prequel
