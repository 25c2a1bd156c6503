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
  std::int64_t part_of_node{};  ///< GPUs of a single node that a plan takes; 0: nobody said
};

/// In the axis of layouts: as the stack deals, and where stages are then uneven, layouts that give
/// the ends fewer layers for the embedding and the head that they hold.
inline constexpr std::string_view kAutoLayout = "auto";

/// Tests whether an axis has the value.
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

}  // namespace prequel
