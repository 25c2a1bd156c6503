#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/builders.hpp"

namespace prequel {

void connect(Fabric& fabric, const FabricDescription& description, const EdgeList& list,
             int nodes) {
  if (nodes > static_cast<int>(list.attachments.size())) {
    throw InputError(fmt::format("fabric: \"attachments\" names {} nodes, but {} are asked for",
                                 list.attachments.size(), nodes));
  }
  std::vector<VertexId> switches;
  for (std::size_t i = 0; i < list.switches.size(); ++i) {
    switches.push_back(fabric.add(VertexKind::network_switch));
  }
  for (const EdgeList::Edge& edge : list.edges) {
    connect(fabric, description, switches[static_cast<std::size_t>(edge.a)],
            switches[static_cast<std::size_t>(edge.b)], LinkClass::cable, edge.link);
  }
  for (int node = 0; node < nodes; ++node) {
    int nic = 0;
    for (const int into : list.attachments[static_cast<std::size_t>(node)]) {
      plug(fabric, description, node, nic++, switches[static_cast<std::size_t>(into)]);
    }
  }
}

}  // namespace prequel
