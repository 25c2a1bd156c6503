#pragma once

/// Writes what was fitted into a device or cluster file.

#include <string>
#include <vector>

#include "calibrate/fit/fit.hpp"
#include "hw/cluster.hpp"
#include "hw/device.hpp"

namespace prequel {

/// The name of a fitted file and the command that makes it.
struct FitOrigin {
  std::string name;      ///< of the new device or cluster
  std::string command;   ///< that makes the file again
  std::string device{};  ///< of a cluster, by name; empty: the base file's
};

/// The device file `base` (its text) under the new name, with the sections that were fitted
/// replaced by those of `device`; each says its origin and error.
std::string fitted_device_file(const std::string& base, const Device& device,
                               const DeviceFits& fits, const FitOrigin& origin);

/// The cluster file `base` (its text) under the new name, with `/node/collectives` and `/network`
/// replaced by those of `cluster` where there are reports on them.
std::string fitted_cluster_file(const std::string& base, const Cluster& cluster,
                                const std::vector<FitReport>& node,
                                const std::vector<FitReport>& network, const FitOrigin& origin);

}  // namespace prequel
