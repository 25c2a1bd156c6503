#pragma once

/// The iteration by the detailed engine, which shares with the clock no more than the tasks and
/// their durations: a check of one against the other.

#include "sim/price/pricing.hpp"

namespace prequel {

/// `sec_per_iter` by the event queue over the stored graph of all tasks. Time and memory grow with
/// `timeline_passes`. Throws InputError as `predict` does.
Seconds detailed_time(const Scenario& scenario);

/// By what share it may differ from the clock's: what rounding makes of the largest iterations.
inline constexpr double kDetailedTolerance = 1e-9;

}  // namespace prequel
