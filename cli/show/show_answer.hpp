#pragma once

#include <string>
#include <vector>

#include "cli/show/show_options.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// "models", "devices", …: what `prequel show` lists.
std::vector<std::string> shown_kinds();

/// "model" and "models" are the same kind. Throws InputError for others.
std::string plural_kind(const std::string& word);

/// The file of that name as it is, or else the names of a kind, or of all kinds, as an object of
/// lists. Throws InputError.
std::string show_json(const Library& library, const ShowOptions& options);

}  // namespace prequel
