#pragma once

/// The answer of a search as people and programs read it.

#include <string>

#include "cli/search/search_answer.hpp"
#include "cli/text/terminal.hpp"

namespace prequel {

std::string search_text(const SearchAnswer& answer, const Terminal& terminal);
/// The document `prequel/search/1`.
std::string search_json(const SearchAnswer& answer);
std::string search_csv(const SearchAnswer& answer);

}  // namespace prequel
