#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/builders.hpp"

namespace prequel {
namespace {

/// The dimensions of the block of the first `nodes` nodes: the last ones shrink.
std::vector<int> block_of(const TorusNetwork& torus, int nodes) {
  std::vector<int> block = torus.dimensions;
  std::int64_t before = 1;
  for (int& dimension : block) {
    const std::int64_t needed = (nodes + before - 1) / before;
    if (needed < dimension) dimension = static_cast<int>(needed);
    before *= dimension;
  }
  if (before < nodes) {
    throw InputError(fmt::format("fabric: a torus of {} holds {} nodes, but {} are asked for",
                                 fmt::join(torus.dimensions, " x "), before, nodes));
  }
  return block;
}

}  // namespace

void connect(Fabric& fabric, const FabricDescription& description, const TorusNetwork& torus,
             int nodes) {
  Torus shape;
  shape.dimensions = block_of(torus, nodes);
  std::size_t routers = 1;
  for (const int dimension : shape.dimensions) routers *= static_cast<std::size_t>(dimension);
  for (std::size_t i = 0; i < routers; ++i) {
    const VertexId router = fabric.add(VertexKind::network_switch);
    if (i == 0) shape.first_router = router;
    const int node = static_cast<int>(i);
    if (node < nodes) plug_all(fabric, description, node, router);
  }

  const std::size_t rank = shape.dimensions.size();
  shape.next.resize(routers * rank);
  std::size_t stride = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto size = static_cast<std::size_t>(shape.dimensions[d]);
    for (std::size_t i = 0; i < routers && size > 1; ++i) {
      const std::size_t at = i / stride % size;
      const std::size_t first = i - at * stride;
      // Two routers in a dimension share one cable.
      if (size == 2 && at == 1) {
        shape.next[i * rank + d] = reverse(shape.next[first * rank + d]);
        continue;
      }
      const std::size_t neighbour = first + (at + 1) % size * stride;
      shape.next[i * rank + d] = connect(
          fabric, description, shape.first_router + static_cast<VertexId>(i),
          shape.first_router + static_cast<VertexId>(neighbour), LinkClass::torus, torus.link);
    }
    stride *= size;
  }
  fabric.set_torus(std::move(shape));
}

}  // namespace prequel
