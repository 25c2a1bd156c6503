#pragma once

#include "models/job/model_shape.hpp"
#include "models/memory/memory.hpp"
#include "models/plan/plan.hpp"

namespace prequel {

/// One plan that fits, in short.
struct FoundPlan {
  Plan plan;
  ModelShape shape;
  double sec_per_iter{};
  double value{};  ///< what it is ranked by; less is better
  Bytes peak_memory;
  MemoryVerdict verdict{};
};

}  // namespace prequel
