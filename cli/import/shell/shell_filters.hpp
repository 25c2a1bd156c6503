#pragma once

/// Filters of a pipe applied to a known text: `cut`, `tr`, `wc`, `head`, `tail`, `awk` and `sed`,
/// as far as scripts use them on their own variables.

#include <optional>
#include <string>
#include <vector>

namespace prequel {

/// Returns the output of the command for a text on its standard input; empty for other commands and
/// other uses of these.
std::optional<std::string> filtered(const std::string& text,
                                    const std::vector<std::string>& command);

}  // namespace prequel
