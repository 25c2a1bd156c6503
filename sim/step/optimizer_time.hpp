#pragma once

/// Time of the weight update.

#include <vector>

#include "models/job/inputs.hpp"
#include "models/layers/parts.hpp"
#include "models/memory/memory.hpp"
#include "models/plan/stages.hpp"
#include "sim/price/orthogonalization.hpp"

namespace prequel {

/// Returns the time of the optimizer's pass over the states that one rank owns of a stage of these
/// chunks, which hold `parameters`. Moments in host memory are updated there meanwhile. Muon
/// (Jordan 2024; distributed as in Liu et al., arXiv 2502.16982, sections 2.1 and 2.3) has one
/// moment for matrices, gathers what it orthogonalises in 16 bits from those that share a matrix,
/// and takes five Newton-Schulz steps: of an n x m matrix, n the shorter side, X·X', its square and
/// their product with X, 4·n²·m + 2·n³ FLOP. Ranks share the matrices, each on its tensor rank's
/// part.
Seconds optimizer_time(const Scenario& scenario, const PerPart<Orthogonalization>& orthogonal,
                       const std::vector<StageContent>& chunks_of_stage,
                       const StageParameters& parameters);

}  // namespace prequel
