#pragma once

/// What is asked about a reservation.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/base/units.hpp"
#include "sim/run/checkpoint_times.hpp"

namespace prequel {

struct ReservationQuestion {
  std::optional<Seconds> length;        ///< of the reservation; else until the tokens are seen
  std::optional<std::int64_t> spares;   ///< nodes beside those of the plan
  std::optional<Saving> saving;         ///< else as the stack's year has it
  std::optional<std::string> maturity;  ///< class of the site; else the cluster's
  std::optional<double> pue;            ///< of the building; else the site's
  WithoutSpare without_spare{WithoutSpare::wait};
  Seconds walltime;  ///< most that one job may run; 0: any
  Seconds queue;     ///< wait before a job starts again
  std::int64_t replications{1000};
  std::uint64_t seed{1};
  std::vector<std::int64_t> over_nodes;  ///< the same on other numbers of nodes

  /// Whether a reservation is asked for at all.
  [[nodiscard]] bool is_asked() const {
    return length || spares || saving || maturity || !over_nodes.empty();
  }
};

}  // namespace prequel
