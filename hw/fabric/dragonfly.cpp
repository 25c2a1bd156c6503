#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/builders.hpp"

namespace prequel {

void connect(Fabric& fabric, const FabricDescription& description, const Dragonfly& dragonfly,
             int nodes) {
  const int group_nodes = dragonfly.routers * dragonfly.nodes_per_router;
  if (nodes > dragonfly.groups * group_nodes) {
    throw InputError(
        fmt::format("fabric: a dragonfly of {} groups of {} nodes holds {}, but {} are "
                    "asked for",
                    dragonfly.groups, group_nodes, dragonfly.groups * group_nodes, nodes));
  }
  const auto first = static_cast<VertexId>(fabric.vertices().size());
  for (int i = 0; i < dragonfly.groups * dragonfly.routers; ++i) {
    fabric.add(VertexKind::network_switch);
  }
  const auto router = [&](int group, int i) {
    return first + static_cast<VertexId>(group * dragonfly.routers + i);
  };
  for (int node = 0; node < nodes; ++node) {
    plug_all(fabric, description, node, router(0, node / dragonfly.nodes_per_router));
  }
  for (int group = 0; group < dragonfly.groups; ++group) {
    for (int a = 0; a < dragonfly.routers; ++a) {
      for (int b = a + 1; b < dragonfly.routers; ++b) {
        connect(fabric, description, router(group, a), router(group, b), LinkClass::local,
                dragonfly.local);
      }
    }
  }
  // The global ports of a group are dealt round-robin to the other groups, nearest first; ports
  // that are too few for another round stay empty.
  const int others = dragonfly.groups - 1;
  const int rounds = others > 0 ? dragonfly.routers * dragonfly.global_links / others : 0;
  for (int a = 0; a < dragonfly.groups; ++a) {
    for (int b = a + 1; b < dragonfly.groups; ++b) {
      for (int round = 0; round < rounds; ++round) {
        const int port_a = round * others + (b - a) - 1;
        const int port_b = round * others + dragonfly.groups - (b - a) - 1;
        connect(fabric, description, router(a, port_a / dragonfly.global_links),
                router(b, port_b / dragonfly.global_links), LinkClass::global, dragonfly.global);
      }
    }
  }
}

}  // namespace prequel
