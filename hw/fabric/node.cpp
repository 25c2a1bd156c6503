#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/builders.hpp"

namespace prequel {

LinkId connect(Fabric& fabric, const FabricDescription& description, VertexId a, VertexId b,
               LinkClass link_class, BytesPerSecond rate) {
  return fabric.connect(a, b, link_class, description.scaled(link_class, rate));
}

void plug(Fabric& fabric, const FabricDescription& description, int node, int nic, VertexId into) {
  const int index = node * description.node.nics + nic;
  connect(fabric, description, fabric.nics()[static_cast<std::size_t>(index)], into, LinkClass::nic,
          description.node.nic);
}

void plug_all(Fabric& fabric, const FabricDescription& description, int node, VertexId into) {
  for (int nic = 0; nic < description.node.nics; ++nic) plug(fabric, description, node, nic, into);
}

void add_node(Fabric& fabric, const FabricDescription& description, std::int32_t node) {
  const NodeFabric& inside = description.node;
  std::vector<VertexId> devices;
  for (int i = 0; i < inside.devices; ++i) {
    devices.push_back(fabric.add(VertexKind::device, node));
  }
  const bool on_host = inside.interconnect == Interconnect::host;
  VertexId hub{};
  if (on_host || inside.interconnect == Interconnect::nvswitch) {
    hub = fabric.add(VertexKind::hub, node);
    const LinkClass link_class = on_host ? LinkClass::pcie : LinkClass::nvlink;
    for (const VertexId device : devices) {
      connect(fabric, description, device, hub, link_class, inside.device_link);
    }
  } else if (inside.interconnect == Interconnect::all_to_all) {
    for (std::size_t a = 0; a < devices.size(); ++a) {
      for (std::size_t b = a + 1; b < devices.size(); ++b) {
        connect(fabric, description, devices[a], devices[b], LinkClass::nvlink, inside.device_link);
      }
    }
  }
  std::vector<VertexId> nics;
  for (int i = 0; i < inside.nics; ++i) nics.push_back(fabric.add(VertexKind::nic, node));
  if (on_host) {
    for (const VertexId nic : nics) {
      connect(fabric, description, hub, nic, LinkClass::pcie, inside.pcie);
    }
    return;
  }
  const int pairs = nics.empty() ? 0 : std::max(inside.devices, inside.nics);
  for (int i = 0; i < pairs; ++i) {
    connect(fabric, description, devices[static_cast<std::size_t>(i * inside.devices / pairs)],
            nics[static_cast<std::size_t>(i * inside.nics / pairs)], LinkClass::pcie, inside.pcie);
  }
}

void connect(Fabric&, const FabricDescription&, const NoNetwork&, int) {}

Fabric build_fabric(const FabricDescription& description, int nodes) {
  const bool has_network =
      description.node.nics > 0 && !std::holds_alternative<NoNetwork>(description.network);
  if (nodes > 1 && !has_network) {
    throw InputError(
        fmt::format("fabric: the cluster has no network, but {} nodes are asked for", nodes));
  }
  Fabric fabric;
  for (int node = 0; node < nodes; ++node) add_node(fabric, description, node);
  if (has_network) {
    std::visit([&](const auto& network) { connect(fabric, description, network, nodes); },
               description.network);
  }
  return fabric;
}

}  // namespace prequel
