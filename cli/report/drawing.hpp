#pragma once

/// Data of pictures beside a prediction's document: in reports and on the page.

#include <cstddef>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/predict/predict_answer.hpp"
#include "sim/search/found_plan.hpp"

namespace prequel {

/// `plan_text`: the plan in words; `time_parts`: the key of each part of the time, its colour and
/// its meaning; `task_kinds`: the name of each kind of task, its colour, whether
/// it is of one micro batch, and whether it begins with what is computed again; `timeline`: the
/// tasks on the compute stream and what its stage waits for, at most `most_slices` of them, as
/// [kind, stage, chunk, micro batch, start, duration] in seconds to nine digits; `timeline_note`:
/// what of it is left out, in words; `sensitivity`: the iteration with 10 % more of each resource.
nlohmann::ordered_json drawing_json(const PredictAnswer& answer, std::size_t most_slices);

/// Every plan of a search that fits, as points of a picture: `axes`, the values of each axis in
/// which the plans differ; `plans`, for each its peak memory in GiB, its seconds per iteration and
/// the place of its value in each axis; and `of`, how many there are. Where there are more than
/// `most` plans, that many are drawn, evenly by rank.
nlohmann::ordered_json cloud_json(const std::vector<FoundPlan>& plans, std::size_t most);

}  // namespace prequel
