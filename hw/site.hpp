#pragma once

/// How a site runs its machines: what fails and how often, how fast checkpoints are written, and
/// what the building adds to the nodes' power. A class of sites by maturity has all figures
/// (data/sites); a cluster states those of its own, which go first.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/base/json_cursor.hpp"

namespace prequel {

/// The events that stop or slow a job, and the time that they take. Rates are medians of what sites
/// have.
struct Reliability {
  double node_failures{};       ///< 1/s a node
  double rate_sigma{};          ///< deviation of ln of the rates, from site to site
  double lemon_shape{};         ///< gamma shape of rates from node to node; 0: all nodes alike
  double job_failures{};        ///< without a bad node, over node failures
  double least_job_failures{};  ///< 1/s a job
  double hang_share{};          ///< of job failures
  double watchdog{};            ///< s until a hang is seen
  double planned_stops{};       ///< 1/s a node
  double silent_corruption{};   ///< 1/s a node
  double corruption_latency{};  ///< s until it is found
  double fail_slow{};           ///< 1/s a node
  double slowdown_low{};        ///< least share by which steps take longer
  double slowdown_high{};       ///< largest one; log-uniform between the two
  double slow_median{};         ///< s that a slow node lasts
  double slow_p90{};            ///< s that nine in ten stay below
  double slow_longest{};        ///< s after which any is found
  double restart{};             ///< s from a failure to the first step, median
  double restart_sigma{};       ///< of its ln
  double detect{};              ///< s of it until the failure is seen
  double unattended_share{};    ///< of stops that wait for somebody
  double unattended{};          ///< s that they wait
  double repair{};              ///< s until a failed node is a spare, mean
};

/// Writing and reading checkpoints.
struct Storage {
  double node_write{};      ///< byte/s of a node
  double total_write{};     ///< byte/s of the storage; 0: no limit
  double read_factor{};     ///< reading over writing
  double sync_overhead{};   ///< s beside a synchronous write
  double async_overhead{};  ///< s beside the copy to host memory
  double copy_share{};      ///< of the link to the host, that a copy of scattered states gets
  double copy_limit{};      ///< byte/s of a device that no copy gets beyond
};

/// Power beside the nodes', and what all of it costs the building.
struct Facility {
  double pue{};                ///< power of the building over that of its machines
  double network_share{};      ///< power of switches over that of nodes
  double storage_share{};      ///< the same of storage
  double plug_over_board{};    ///< W of a node at the plug over those of its boards, busy
  double waiting_over_busy{};  ///< W of a node that waits over those of a busy one
};

struct Site {
  std::string name;
  Reliability reliability;
  Storage storage;
  Facility facility;
};

/// Figures of `Part` that a file states.
template <class Part>
using StatedFigures = std::vector<std::pair<double Part::*, double>>;

/// The figures that a cluster states of its site.
struct StatedSite {
  std::optional<std::string> maturity;  ///< its class
  StatedFigures<Reliability> reliability;
  StatedFigures<Storage> storage;
  StatedFigures<Facility> facility;

  /// Tests whether the cluster has any figure of its own.
  [[nodiscard]] bool has_figures() const {
    return !reliability.empty() || !storage.empty() || !facility.empty();
  }
};

/// The class of clusters that name none.
inline constexpr const char* kUsualMaturity = "mature";

/// Reads a `prequel/site/1` file. Throws InputError with every problem of the file.
Site read_site(const Document& file);

/// Reads `reliability`, `storage` and `facility` of a cluster file, all of whose members may be
/// left out.
StatedSite read_stated_site(const Cursor& root);

/// Returns the class with the figures of a cluster in place of its own.
Site with_figures(Site site, const StatedSite& stated);

}  // namespace prequel
