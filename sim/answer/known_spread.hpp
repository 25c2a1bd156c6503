#pragma once

/// How sure the constants of a scenario are, all together: by its files, by the runs that checked
/// its stack on its cluster, or by the priors.

#include <array>
#include <string>
#include <vector>

#include "sim/answer/uncertainty.hpp"

namespace prequel {

/// Something about a plan that no run of its stack had.
struct NewPart {
  std::string what;
  double variance{};  ///< of ln seconds
};

/// Traits of a plan that no run had: its cluster, its release, its model on its card.
struct NewTraits {
  bool cluster{}, release{}, cell{};
};
/// Returns the parts of the variance that these add.
std::vector<NewPart> news_of(const Scenario& scenario, const Uncertainty& uncertainty,
                             const NewTraits& traits);

/// The joint spread of all constants for the files of one scenario.
struct Spread {
  std::array<Deviations, kUncertain> covariance{};  ///< of u
  double time_noise{};                              ///< scale of the scatter of ln seconds
  double memory_noise{};                            ///< of ln bytes
  ScatterShares scatter;                            ///< of `time_noise`, among plans
  std::vector<NewPart> news;                        ///< in the variance of `all`
  bool earned{};                                    ///< by runs of this stack on this cluster
  std::string basis;                                ///< what it rests on, in words

  /// The lower triangle L with L·Lᵀ = covariance; columns of constants that are certain are 0.
  [[nodiscard]] std::array<Deviations, kUncertain> root() const;
};

/// The spreads that the files state; of other constants the prior's, by how well the stack is known
/// on this cluster.
Spread spread_of(const Scenario& scenario, const Uncertainty& uncertainty);

/// Numbers whose files say how sure they are though no interval hears of it.
std::vector<std::string> unheard_spreads(const Scenario& scenario);

/// Variance of a logarithm with these slopes over each u, without scatter.
double variance_of(const Deviations& slopes, const Spread& spread);

}  // namespace prequel
