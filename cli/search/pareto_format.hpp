#pragma once

/// The plans of a search that no other beats in time, memory and nodes at once.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/text/terminal.hpp"
#include "sim/search/search.hpp"

namespace prequel {

/// A table for people; `shaped` adds the model's shape to each.
std::string pareto_text(const SearchResult& result, const SearchInputs& inputs, bool shaped,
                        const Terminal& terminal);
/// The member `pareto` of the document of a search: rank, time, memory and plan of each.
nlohmann::ordered_json pareto_json(const SearchResult& result);

}  // namespace prequel
