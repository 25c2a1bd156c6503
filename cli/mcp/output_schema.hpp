#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "models/job/library.hpp"

namespace prequel {

/// The JSON Schema of a kind of document ("prediction-1") in one piece, for short forms of it:
/// members below the first level may be missing. Throws InputError where data/ lacks it.
nlohmann::ordered_json short_form_schema(const std::string& kind, const Library& library);

}  // namespace prequel
