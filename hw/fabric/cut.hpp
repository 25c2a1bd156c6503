#pragma once

/// The most that can pass between parts of a fabric, whatever the routes.

#include <cstdint>
#include <span>

#include "hw/fabric/graph.hpp"

namespace prequel {

/// The maximum flow from one set of devices to another; other devices do not forward. Between
/// devices of one node, NICs do not either.
BytesPerSecond max_flow(const Fabric& fabric, std::span<const std::uint32_t> from,
                        std::span<const std::uint32_t> to);

/// The maximum flow from the first half of the nodes to the other (of the devices, where there is
/// one node). A torus is halved across its longest dimension.
BytesPerSecond bisection_bandwidth(const Fabric& fabric);

}  // namespace prequel
