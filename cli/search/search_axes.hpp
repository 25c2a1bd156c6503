#pragma once

/// Axes of a search as users write them.

#include <string>
#include <vector>

#include "cli/search/search_options.hpp"
#include "sim/search/space.hpp"

namespace prequel {

/// The axes that the options say; the others empty, but nodes and gbs, which are the job's; where
/// the fewest GPUs or a deadline are asked for and no number of nodes, any number.
/// Throws InputError where gbs is not said, or fewer nodes are left than one.
SearchAxes read_axes(const SearchOptions& options, const SearchInputs& inputs);

/// Plans given one by one.
struct PlanTable {
  std::vector<CandidateRequest> requests;
  /// "--tp 2: every row of plans.csv says its own tp": flags that no row is heard of.
  std::vector<std::string> overruled;
};

/// Plans of a CSV table whose columns are named as the plan's fields, or as `ModelShape`'s; what a
/// row leaves out is as the inputs and the options say.
PlanTable read_plan_table(const SearchOptions& options, const SearchInputs& inputs);

}  // namespace prequel
