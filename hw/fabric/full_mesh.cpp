#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/builders.hpp"

namespace prequel {
namespace {

constexpr int kMostNodes = 1024;  // half a million links: nobody lays more

}  // namespace

void connect(Fabric& fabric, const FabricDescription& description, const FullMesh& mesh,
             int nodes) {
  if (nodes > kMostNodes) {
    throw InputError(fmt::format("fabric: a full mesh holds {} nodes at most, but {} are asked for",
                                 kMostNodes, nodes));
  }
  std::vector<VertexId> routers;
  for (int node = 0; node < nodes; ++node) {
    routers.push_back(fabric.add(VertexKind::network_switch));
    plug_all(fabric, description, node, routers.back());
  }
  for (std::size_t a = 0; a < routers.size(); ++a) {
    for (std::size_t b = a + 1; b < routers.size(); ++b) {
      connect(fabric, description, routers[a], routers[b], LinkClass::mesh, mesh.link);
    }
  }
}

}  // namespace prequel
