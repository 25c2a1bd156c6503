#pragma once

/// The forward passes of one global batch alone, as an evaluation does them.

#include "sim/price/pricing.hpp"

namespace prequel {

/// Stages hand forward passes on; nothing is reduced, and gathered only what each pass gathers.
Seconds forward_only_time(const Scenario& scenario);

}  // namespace prequel
