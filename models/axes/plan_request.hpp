#pragma once

/// What a user says of a plan.

#include "models/axes/axes.hpp"

namespace prequel {

class Cursor;

/// `request`, and what it leaves out as `other` says.
PlanRequest filled_from(PlanRequest request, const PlanRequest& other);

/// Reads the `plan` object of a job.
PlanRequest read_plan(const Cursor& cursor);

}  // namespace prequel
