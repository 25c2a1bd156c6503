#pragma once

/// A user's request for a plan.

#include <cstdint>
#include <string>

#include "models/axes/axes.hpp"

namespace prequel {

class Cursor;

/// `request`, and what it leaves out as `other` says.
PlanRequest filled_from(PlanRequest request, const PlanRequest& other);

/// Reads the `plan` object of a job.
PlanRequest read_plan(const Cursor& cursor);

/// Ranks of one replica of the model; a degree that is not said counts as 1.
std::int64_t ranks_of_replica(const PlanRequest& plan);

/// The degrees whose product that is: "tp x pp x cp".
std::string degrees_of_replica();

}  // namespace prequel
