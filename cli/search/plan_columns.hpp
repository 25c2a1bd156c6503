#pragma once

/// Columns of tables of plans, so that a row is the plan that was priced.

#include <string>
#include <vector>

#include "sim/search/space.hpp"

namespace prequel {

/// An axis that has no column of its own.
struct ColumnOfAxis {
  std::string name;
  std::vector<std::string> cells;  ///< of each plan
};

/// Returns the columns of degrees beyond 1, and of axes that some plan has otherwise than `predict`
/// takes them where nobody says them. Values that all plans share because they were asked for are
/// left out.
std::vector<ColumnOfAxis> further_columns(const std::vector<const Plan*>& plans,
                                          const SearchInputs& inputs);

}  // namespace prequel
