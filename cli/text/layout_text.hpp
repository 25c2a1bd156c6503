#pragma once

/// A plan's degrees, or a model's shape, on one line.

#include <string>

#include "models/job/model_shape.hpp"
#include "models/plan/plan.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// All that a plan says, as "dp 4  tp 8  …  1f1b", with what each axis beyond those that every plan
/// has says where it is not plain.
std::string plan_text(const Scenario& scenario);
/// "48 nodes, dp 4 tp 8 pp 12 mbs 1 zero 1 recompute full".
std::string layout_text(const Plan& plan);
/// Names only the axes that are said: "nodes 48 tp 8 pp 12".
std::string layout_text(const PlanRequest& request);
/// "72 layers of 14336, 112 heads: ", to stand before a layout.
std::string shape_text(const ModelShape& shape);
/// Nothing for the model as it was given.
std::string shape_text(const ModelShape& shape, const Transformer& given);

}  // namespace prequel
