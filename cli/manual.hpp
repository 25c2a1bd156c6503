#pragma once

/// The manual page, section 1.

#include <string>

#include "cli/command_tree.hpp"

namespace prequel {

/// The page as man(1) reads it; `version` stands at its foot.
std::string manual_page(const CommandDescription& program, const std::string& version);

}  // namespace prequel
