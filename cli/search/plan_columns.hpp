#pragma once

/// What tables of plans show of each plan, so that a row is the plan that was priced.

#include <string>
#include <vector>

#include "sim/search/space.hpp"

namespace prequel {

/// An axis that has no column of its own.
struct ColumnOfAxis {
  std::string name;
  std::vector<std::string> cells;  ///< of each plan
};

/// Degrees beyond 1, and axes that some plan has otherwise than `predict` takes them where nobody
/// says them. What all plans share since it was asked for is left out.
std::vector<ColumnOfAxis> further_columns(const std::vector<const Plan*>& plans,
                                          const SearchInputs& inputs);

}  // namespace prequel
