#pragma once

/// `search --explain`: the layout that is asked about, and the answer.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/text/terminal.hpp"
#include "sim/search/explanation.hpp"

namespace prequel {

/// A user's question about one layout.
struct ExplainedLayout {
  std::string question;  ///< as written: "tp=8,pp=12"
  Explanation answer;
};

/// `best` is the whole prediction of the best plan found, if there is one.
std::string explanation_text(const ExplainedLayout& explained, const SearchResult& found,
                             const Prediction* best, const Terminal& terminal);
/// A layout that no rule allows, and its problems.
nlohmann::ordered_json refused_json(const RefusedPlan& refused);
nlohmann::ordered_json explanation_json(const ExplainedLayout& explained, const SearchResult& found,
                                        const Prediction* best);

}  // namespace prequel
