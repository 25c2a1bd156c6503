#pragma once

/// Flags and keys that nothing reads, though their names are of what predictions rest on.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// The name alone of a flag or key, without its section and what stands behind it:
/// `--moe-ffn-size 4` and `model.moe_ffn_size` are one.
std::string own_name(std::string_view entry);

/// Tests whether one of the parts is in a name.
bool has_part(std::string_view name, std::span<const std::string_view> parts);

/// Moves what was ignored from `first` on to what is left out where its name is of the model's
/// shape, of the layout or of what is kept in memory.
void tell_by_names(std::size_t first, ImportReport& report);

}  // namespace prequel
