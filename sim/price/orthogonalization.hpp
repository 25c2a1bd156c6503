#pragma once

/// Time in which Muon orthogonalises the momentum of matrices.

#include "models/job/inputs.hpp"
#include "models/layers/layer.hpp"

namespace prequel {

/// Seconds that Muon takes to orthogonalise the momentum of what a rank holds of one part, by the
/// groups over which ZeRO shards it, and of its largest matrix.
struct Orthogonalization {
  double dense{}, experts{}, largest{};
};
/// Prices what a rank holds of the matrices of a layer.
Orthogonalization orthogonalization(const Layer& layer, Precision format, const Inputs& inputs);

}  // namespace prequel
