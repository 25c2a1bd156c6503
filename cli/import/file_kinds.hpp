#pragma once

/// Tells what kind of file it is that no importer reads.

#include <string>
#include <string_view>

namespace prequel {

/// What `text` looks like and what would do instead: "a trace of kernels (…); …"; empty where it
/// looks like nothing known.
std::string what_it_looks_like(std::string_view text);

}  // namespace prequel
