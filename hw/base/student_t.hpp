#pragma once

/// Student's t with 4 degrees of freedom, by which errors of predictions scatter: closed forms.

namespace prequel {

/// Logarithm of the density at z.
double log_t4(double z);
/// The probability of less than z.
double t4_below(double z);
/// Returns the value that a share of all draws lies below, 0 < share < 1 (Shaw 2006, "Sampling
/// Student's T").
double t4_quantile(double share);
/// How far from 0 the central interval of this level reaches; level 0.8: 1.53.
double t4_half_width(double level);

}  // namespace prequel
