#pragma once

/// Tells what kind of file it is, by its first lines.

#include <string>
#include <string_view>

namespace prequel {

/// Returns what `text` looks like and what would do instead: "a trace of kernels (…); …"; empty
/// where it looks like nothing known.
std::string what_it_looks_like(std::string_view text);

/// Tests whether the first line that says something is a section in brackets.
bool looks_like_toml(std::string_view text);

}  // namespace prequel
