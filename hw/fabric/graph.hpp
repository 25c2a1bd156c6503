#pragma once

/// The fabric as a graph: devices, NICs and switches, joined by links that have a rate and a
/// latency in each direction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hw/base/link_share.hpp"
#include "hw/base/units.hpp"

namespace prequel {

using VertexId = std::uint32_t;

enum class VertexKind : std::uint8_t {
  device,
  nic,
  hub,            ///< inside a node: an NVSwitch plane or the PCIe root of the host
  network_switch  ///< between nodes: leaf, spine or core switch, router of a torus
};

/// The part of the fabric that a link belongs to; `--link-fraction spine:0.5` scales all links of a
/// class.
enum class LinkClass : std::uint8_t {
  nvlink,  ///< between the devices of a node, or from a device to its NVSwitch
  pcie,    ///< from a device or the host to a NIC, or from a device to the host
  nic,     ///< from a NIC to the network
  spine,   ///< from a leaf switch to a spine switch
  core,    ///< from a spine switch to a core switch
  local,   ///< between the routers of one dragonfly group
  global,  ///< between dragonfly groups
  torus,
  mesh,  ///< between the nodes of a full mesh
  cable  ///< given one by one
};
inline constexpr std::size_t kLinkClasses = 10;

/// The name that files and flags use ("spine"), and back.
std::string_view name(LinkClass link_class);
std::optional<LinkClass> link_class(std::string_view text);

struct Vertex {
  VertexKind kind{};
  std::int32_t node{kNoNode};  ///< the node that it is inside of

  static constexpr std::int32_t kNoNode = -1;
};

/// One direction of a cable.
struct Link {
  VertexId from{};
  VertexId to{};
  BytesPerSecond bandwidth{};
  LinkClass link_class{};
};

/// The other direction of the same cable.
constexpr LinkId reverse(LinkId link) {
  return link ^ 1U;
}

/// The routers of a torus, for dimension-order routing: router i has the coordinates of i in mixed
/// radix, first dimension fastest.
struct Torus {
  std::vector<int> dimensions;
  VertexId first_router{};
  std::vector<LinkId> next;  ///< of router i to its next neighbour in d: [i · dimensions + d]
};

/// A fabric. Device i is the i-th that was added; nodes hold equal numbers of them, in order.
class Fabric {
 public:
  VertexId add(VertexKind kind, std::int32_t node = Vertex::kNoNode);
  /// Joins two vertices by a cable; returns the link from `a` to `b`, its reverse is the next one.
  LinkId connect(VertexId a, VertexId b, LinkClass link_class, BytesPerSecond bandwidth);
  /// Says that the network is a torus, routed dimension by dimension.
  void set_torus(Torus torus) { torus_ = std::move(torus); }

  [[nodiscard]] const std::vector<Vertex>& vertices() const { return vertices_; }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  [[nodiscard]] const std::vector<VertexId>& devices() const { return devices_; }
  [[nodiscard]] const std::vector<VertexId>& nics() const { return nics_; }
  [[nodiscard]] const std::optional<Torus>& torus() const { return torus_; }

 private:
  std::vector<Vertex> vertices_;
  std::vector<Link> links_;
  std::vector<VertexId> devices_;
  std::vector<VertexId> nics_;
  std::optional<Torus> torus_;
};

/// The bandwidth of every link of a fabric, in byte/s.
std::vector<double> link_capacities(const Fabric& fabric);

}  // namespace prequel
