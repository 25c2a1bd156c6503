#pragma once

/// Which plans a search looks at.

#include <cstdint>
#include <string>
#include <vector>

#include "models/job/model_shape.hpp"
#include "models/plan/plan.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// Values of each axis to combine; an empty axis is chosen by `fill_axes`.
struct SearchAxes : AxisValues<std::vector> {
  std::vector<ModelShape> shapes;  ///< of the model
};

/// The inputs of a search beside its axes: `fixed` holds what all plans share.
struct SearchInputs {
  Transformer model;
  Device device;
  Cluster cluster;
  Software software;
  PlanRequest fixed;
};

/// A plan, and the shape of the model that it is for.
struct Candidate {
  Plan plan;
  ModelShape shape;
};

struct CandidateRequest {
  PlanRequest plan;
  ModelShape shape;
};

/// What a plan that the rules refuse would have needed.
struct RefusedPlan {
  PlanRequest request;
  ModelShape shape;
  std::vector<std::string> problems;
};

struct Candidates {
  std::int64_t considered{};
  std::vector<Candidate> legal;
  /// A few of those that broke the fewest rules, where none is legal, or all as asked for.
  std::vector<RefusedPlan> nearest;
};

/// Fills empty axes with all that makes sense: the model's own shape, tp up to a node (powers of
/// two and the node's divisors), pp and vpp up to the layers, mbs in powers of two, dp from the
/// nodes; the rest as the software's choices say, or with `everything`, all values that there are.
SearchAxes fill_axes(SearchAxes axes, const SearchInputs& inputs, bool everything);

/// All combinations that the rules of plans and schedules allow, in the order of the axes. Axes
/// without effect (vpp and schedule at pp 1, sequence parallelism at tp 1, ZeRO at dp 1) take one
/// value only, of those in the axis.
Candidates legal_plans(const SearchAxes& axes, const SearchInputs& inputs);

/// Which refused plans are told.
enum class Refusals : std::uint8_t {
  nearest,  ///< a few, where none is legal
  all       ///< each, in the order of the requests
};

/// The same for requests given one by one.
Candidates legal_plans(const std::vector<CandidateRequest>& requests, const SearchInputs& inputs,
                       Refusals refusals = Refusals::nearest);

}  // namespace prequel
