#pragma once

/// Every plan of a search that fits, as points of a picture.

#include <cstddef>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sim/search/found_plan.hpp"

namespace prequel {

/// Returns `axes`, the values of each axis in which the plans differ; `plans`, for each its peak
/// memory in GiB, its seconds per iteration and the place of its value in each axis; and `of`, how
/// many there are. Of more than `most` plans, that many are drawn, evenly by rank.
nlohmann::ordered_json cloud_json(const std::vector<FoundPlan>& plans, std::size_t most);

}  // namespace prequel
