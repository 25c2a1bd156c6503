#pragma once

/// How far constants are from one stack or site to the next: the priors of data/uncertainty, from
/// tables of measured runs that are priced with the constants of other stacks.

#include <functional>
#include <string>
#include <vector>

#include "calibrate/runs/run_quantities.hpp"

namespace prequel {

/// One table of one stack, priced with the constants of a stack.
struct SpreadCase {
  std::string table;  ///< its file, cluster and software
  std::string cluster;
  std::string software;  ///< whose constants
  bool own{};            ///< the table's own
  bool memory{};         ///< its printed memory, not its times
  std::size_t rows{};
  double noise{};  ///< scale of the scatter after its fit
};

struct SpreadEstimate {
  Uncertain constant{};
  bool sought{};        ///< from tables; without a case the guess stays
  std::size_t cases{};  ///< that tell of it
  double before{};      ///< the present prior's spread
  double after{};
};

struct SpreadReport {
  std::vector<SpreadCase> cases;
  std::vector<SpreadEstimate> constants;
  double own_level{};                     ///< spread of own constants over that of others
  double unseen_level{};                  ///< of a stack of which no run was seen
  double noise_median{}, noise_log_sd{};  ///< over the own cases
};

/// Expectation maximisation: each case's posterior under the spreads so far, then each spread from
/// the posteriors' second moments, the guess before any table counting as two cases. Only stacks
/// are exchanged, numbers and not names: spreads of constants that stand in files of devices and
/// clusters stay as `present` has them, and these constants are held. A stack whose constants are
/// off by more than a factor of two differs in structure and is left out. Spreads of memory are
/// those that tables leave with the constants of their own stacks. Throws InputError where no case
/// is left.
SpreadReport estimate_spread(const Library& library, const std::vector<MeasuredRun>& runs,
                             const Uncertainty& present);

}  // namespace prequel
