#pragma once

/// Power of nodes at the plug.

#include "hw/device.hpp"
#include "hw/site.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {

/// W of one node.
struct NodePower {
  double step{};     ///< in the mean over an iteration
  double waiting{};  ///< while it stands still, as spares do
};

/// Returns the share of an iteration in which devices are at work, in the mean over stages: they
/// compute, or their multiprocessors reduce and gather tensors over device links. A node that waits
/// for the network, another stage or the host draws as little as an idle one.
double computing_share(const Prediction& prediction);

/// Returns what one device draws at the plug: its file's figures, else by its board's watts; 0
/// where neither is known.
PlugPower plug_power(const Device& device, const Facility& facility);

/// Returns what a node of `devices` draws: waiting + (busy − waiting)·computing share. Within 1 %
/// of three loads of 8 H100 a node in MLPerf v4.0's power logs.
NodePower node_power(const PlugPower& power, std::int64_t devices, double computing_share);

}  // namespace prequel
