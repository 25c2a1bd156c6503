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
std::string search_json(const SearchAnswer& answer);
std::string search_csv(const SearchAnswer& answer);

/// A table of the plans that no other beats in time, memory and nodes at once; `shaped` adds the
/// model's shape to each.
std::string pareto_text(const SearchResult& result, const SearchInputs& inputs, bool shaped,
                        const Terminal& terminal);
/// The member `pareto` of the document: rank, time, memory and plan of each.
nlohmann::ordered_json pareto_json(const SearchResult& result);

/// Why there is no plan, and what came nearest.
std::string no_plan_text(const SearchAnswer& answer, std::size_t width);
/// Returns whether a plan fits, with the odds of it where these are open.
std::string verdict_text(const SearchAnswer& answer, std::size_t rank);

}  // namespace prequel
