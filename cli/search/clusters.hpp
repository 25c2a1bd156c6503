#pragma once

/// One search over several clusters: `--cluster a,b,c`.

#include <string>
#include <vector>

#include "cli/search/search_answer.hpp"
#include "cli/text/terminal.hpp"

namespace prequel {

/// Tests whether several clusters are asked for.
bool asks_clusters(const SearchOptions& options);

/// A search on each of them, in the order in which they are said. Throws InputError, also for what
/// speaks of one cluster alone.
std::vector<SearchAnswer> answer_clusters(const Library& library, const SearchOptions& options,
                                          const Tell& tell, const SearchWatch& watch = {});

/// Tests whether none of them has a plan.
bool is_no(const std::vector<SearchAnswer>& answers);

/// The best plans of all of them together, ranked as the options say.
std::string clusters_text(const std::vector<SearchAnswer>& answers, const Terminal& terminal);
/// The document `prequel/search/1`, whose plans say their cluster.
nlohmann::ordered_json clusters_json(const std::vector<SearchAnswer>& answers);

}  // namespace prequel
