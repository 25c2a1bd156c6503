#pragma once

/// Question about a reservation.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/base/units.hpp"
#include "sim/run/checkpoint_times.hpp"

namespace prequel {

inline constexpr std::int64_t kUsualReplications = 1000;

struct ReservationQuestion {
  std::optional<Seconds> length;        ///< of the reservation; else until the tokens are seen
  std::optional<std::int64_t> spares;   ///< nodes beside those of the plan; else a pool
  std::optional<Saving> saving;         ///< else as the stack's year has it
  std::optional<std::string> maturity;  ///< class of the site; else the cluster's
  std::optional<double> pue;            ///< of the building; else the site's
  WithoutSpare without_spare{WithoutSpare::wait};
  Seconds walltime;  ///< most that one job may run; 0: any
  Seconds queue;     ///< wait before a job starts again
  std::int64_t replications{kUsualReplications};
  std::uint64_t seed{1};
  std::vector<std::int64_t> over_nodes;  ///< the same on other numbers of nodes

  /// Tests whether a reservation is asked for at all.
  [[nodiscard]] bool is_asked() const {
    return length || spares || saving || maturity || pue || walltime.value > 0 || queue.value > 0 ||
           without_spare != WithoutSpare::wait || replications != kUsualReplications ||
           !over_nodes.empty();
  }
};

}  // namespace prequel
