#pragma once

/// A discrete-event run of a stored task graph on a machine that tasks compete for: flows share
/// links, and kernels and communication of one device slow each other.

#include <cstdint>
#include <limits>
#include <span>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/link_sharing.hpp"

namespace prequel {

/// The message that a task sends once its duration, here the latency, is over.
struct Transfer {
  static constexpr RouteId kNone = std::numeric_limits<RouteId>::max();

  RouteId route = kNone;
  double bytes{};
};

using DeviceId = std::uint32_t;

enum class StreamUse : std::uint8_t { computes, communicates };

/// The device that runs a stream's tasks.
struct StreamPlace {
  static constexpr DeviceId kNowhere = std::numeric_limits<DeviceId>::max();

  DeviceId device = kNowhere;  ///< nowhere: nothing slows its tasks
  StreamUse use{};
};

/// The resources that tasks compete for. An empty one holds nothing up.
struct Machine {
  std::span<const double> link_capacities;  ///< byte/s, by LinkId
  const Routes* routes = nullptr;           ///< that transfers name; must outlive the run
  std::span<const Transfer> transfers;      ///< by PriceId
  std::span<const StreamPlace> streams;     ///< by StreamId
  /// By DeviceId: while kernels and communication overlap on the device, both run 1 + loss times
  /// as long. So each loses that share of the shorter one. Transfers get what links give them.
  std::span<const double> overlap_loss;
};

/// Runs each task as soon as all it waits for is done: for the duration (s) of its price, then
/// until it has sent what its transfer says, at max-min fair rates. Tasks that send over a dead
/// link are stuck as well.
[[nodiscard]] EventTimes run_contended(const TaskGraph& graph, std::span<const double> durations,
                                       const Machine& machine);

}  // namespace prequel
