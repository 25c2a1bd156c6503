#pragma once

/// Short form of a document for agents: a few kilobytes in place of tens.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace prequel {

/// Returns the short form of a tool's document: four digits, without what is as everywhere, and of
/// plans behind the first only what differs from it.
nlohmann::ordered_json short_answer(const std::string& tool,
                                    const nlohmann::ordered_json& document);

/// Returns numbers to four significant digits, whole ones as they are.
nlohmann::ordered_json in_four_digits(nlohmann::ordered_json value);

}  // namespace prequel
