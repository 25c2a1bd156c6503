#pragma once

/// The axes that a search combines, and what they hold where the user does not say.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/job/inputs.hpp"
#include "models/job/model_shape.hpp"
#include "models/plan/rules.hpp"

namespace prequel {

/// Values of each axis to combine; an empty axis is chosen by `fill_axes`.
struct SearchAxes : AxisValues<std::vector> {
  std::vector<ModelShape> shapes;  ///< of the model
};

/// The inputs of a search beside its axes: `fixed` holds what all plans share.
struct SearchInputs : Inputs {
  PlanRequest fixed;
};

/// In the axis of layouts: as the stack deals, and where stages are then uneven, layouts that give
/// the ends fewer layers for the embedding and the head that they hold.
inline constexpr std::string_view kAutoLayout = "auto";

/// Whether an axis has the value.
template <class Value>
bool holds(const std::vector<Value>& axis, const Value& value) {
  return std::find(axis.begin(), axis.end(), value) != axis.end();
}

/// How far a search goes beyond what the user says.
enum class Reach : std::uint8_t {
  usual,         ///< what the stack offers, tensor groups where device links join their ranks
  beyond_links,  ///< the same with tensor groups of several nodes
  everything     ///< all values of all axes, but those that change what is computed
};

/// Fills empty axes with all that makes sense: the model's own shape, tp up to the ranks that
/// device links join (powers of two and a node's divisors), cp for long sequences, ep by the
/// experts, pp and vpp up to the layers, mbs in powers of two, dp from the nodes; the rest as the
/// software's choices say, or by `reach`. A schedule follows from chunks that are said, as in a
/// single plan.
SearchAxes fill_axes(SearchAxes axes, const SearchInputs& inputs, Reach reach);

/// What all plans share, as what they lack is at its plainest: a problem of it is one of each plan.
PlanJudgement judge_shared(const SearchInputs& inputs, const SearchAxes& said);

}  // namespace prequel
