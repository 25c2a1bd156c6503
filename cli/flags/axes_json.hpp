#pragma once

#include <nlohmann/json_fwd.hpp>

namespace prequel {

/// The table of axes for programs that make controls of it: of each axis, in the table's order,
/// `name`, `flag`, `help`, `use` (what a search does with it: "shared", "listed", "searched",
/// "usual", "offered"), `kind` ("integer", "number", "boolean", "word", "words", "text") and what
/// it can be: `least` and `most`, or `words`.
nlohmann::ordered_json axes_json();

}  // namespace prequel
