#pragma once

/// Data of pictures beside a prediction's document: in reports and on the page.

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "cli/predict/predict_answer.hpp"

namespace prequel {

/// `plan_text`: the plan in words; `task_kinds`: the name of each kind of task, its colour, whether
/// it is of one micro batch, and whether it begins with what is computed again; `timeline`: the
/// tasks on the compute stream and what its stage waits for, at most `most_slices` of them, as
/// [kind, stage, chunk, micro batch, start, duration] in seconds to nine digits; `timeline_note`:
/// what of it is left out, in words; `sensitivity`: the iteration with 10 % more of each resource.
nlohmann::ordered_json drawing_json(const PredictAnswer& answer, std::size_t most_slices);

}  // namespace prequel
