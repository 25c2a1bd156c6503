#pragma once

/// Routes of flows between devices, and the load that they put on links.
///
/// A flow inside a node stays inside; it passes the node's hub, never a device or a NIC. A flow
/// between nodes leaves by the NICs nearest to its device, arrives by those nearest to the other,
/// and takes the shortest paths through the network, split evenly over those of equal length
/// (ECMP); in a torus it goes dimension by dimension, first dimension first, the shorter way round,
/// half each way where both are as short.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hw/fabric/graph.hpp"

namespace prequel {

/// A message from one device to another. Devices are numbered as in the fabric.
struct Flow {
  std::uint32_t from{};
  std::uint32_t to{};
  double rate{1.0};
};

/// The routes of one fabric. Its functions may be called from several threads.
class Router {
 public:
  explicit Router(Fabric fabric);
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;
  ~Router();

  [[nodiscard]] const Fabric& fabric() const;
  /// The links by which the traffic of a device leaves its node, equally shared.
  [[nodiscard]] std::span<const LinkId> exits(std::uint32_t device) const;

  /// Adds the load of the flows, in the unit of their rates, to `loads`, which has one entry a
  /// link. Throws InputError when a flow has no route.
  void add_loads(std::span<const Flow> flows, std::vector<double>& loads) const;
  /// The links of a route, ascending.
  [[nodiscard]] std::vector<LinkShare> route(std::uint32_t from, std::uint32_t to) const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// The load of flows on every link of the router's fabric.
std::vector<double> link_loads(const Router& router, std::span<const Flow> flows);

}  // namespace prequel
