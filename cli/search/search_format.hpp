#pragma once

/// The answer of a search as people and programs read it.

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/search/search_answer.hpp"
#include "cli/text/terminal.hpp"

namespace prequel {

std::string search_text(const SearchAnswer& answer, const Terminal& terminal);
/// The document `prequel/search/1`.
nlohmann::ordered_json search_json(const SearchAnswer& answer);
std::string search_csv(const SearchAnswer& answer);

/// One of the best plans, with all that was found out about it.
nlohmann::ordered_json found_json(const SearchAnswer& answer, std::size_t rank);

/// Why there is no plan, and what came nearest.
std::string no_plan_text(const SearchAnswer& answer, std::size_t width);

}  // namespace prequel
