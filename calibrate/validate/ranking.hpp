#pragma once

/// How well predictions order the plans that a team would have chosen from.

#include <cstddef>
#include <vector>

namespace prequel {

/// Kendall's tau-a between two orders of the same things: pairs in the same order less pairs in
/// the opposite one, over all pairs; equal values count neither way.
double kendall_tau(const std::vector<double>& predicted, const std::vector<double>& measured);

/// How much slower than the measured best the one predicted to be best was: measured / best - 1.
double top1_regret(const std::vector<double>& predicted, const std::vector<double>& measured);

/// The place, from 1, that the measured best has in the predicted order.
std::size_t place_of_best(const std::vector<double>& predicted,
                          const std::vector<double>& measured);

}  // namespace prequel
