#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/builders.hpp"

namespace prequel {
namespace {

constexpr int ceil_divide(int a, int b) {
  return (a + b - 1) / b;
}

/// Ports of a switch that point down, so that its rate down is `over` times its rate up at most.
int ports_down(int radix, double over) {
  const int down = static_cast<int>(std::floor(radix * over / (1.0 + over)));
  return std::clamp(down, 1, radix - 1);
}

InputError too_small(const FatTree& tree, int nodes, int most) {
  return InputError(fmt::format(
      "fabric: a fat tree of {} level{} of {}-port switches holds {} nodes at most, but {} are "
      "asked for",
      tree.levels, tree.levels == 1 ? "" : "s", tree.radix, most, nodes));
}

}  // namespace

FatTreeLayout fat_tree_layout(const FabricDescription& description, const FatTree& tree,
                              int nodes) {
  const int nics = description.node.nics;
  const int leaves_per_block = tree.rail_optimized ? nics : 1;
  const int nics_per_leaf = tree.rail_optimized ? 1 : nics;  // of one node
  const int down = tree.levels == 1 ? tree.radix : ports_down(tree.radix, tree.over_subscription);

  FatTreeLayout layout;
  layout.nodes_per_leaf = down / nics_per_leaf;
  const int spine_down =
      tree.levels == 3 ? ports_down(tree.radix, tree.core_over_subscription) : tree.radix;
  const int most_leaves = tree.levels == 1 ? 1 : spine_down;
  layout.leaves_per_pod = most_leaves / leaves_per_block * leaves_per_block;
  const int most_pods = tree.levels == 3 ? tree.radix : 1;
  const std::int64_t most_nodes =
      std::int64_t{layout.nodes_per_leaf} * (layout.leaves_per_pod / leaves_per_block) * most_pods;
  if (nodes > most_nodes) throw too_small(tree, nodes, static_cast<int>(most_nodes));

  layout.leaves = ceil_divide(nodes, layout.nodes_per_leaf) * leaves_per_block;
  layout.pods = ceil_divide(layout.leaves, layout.leaves_per_pod);
  if (layout.leaves > 1) {
    layout.spines = tree.radix - down;
    layout.spine_link = tree.link * (down / (tree.over_subscription * layout.spines));
  }
  if (layout.pods > 1) {
    layout.cores = tree.radix - spine_down;
    const double share = layout.leaves_per_pod / (tree.core_over_subscription * layout.cores);
    layout.core_link = layout.spine_link * share;
  }
  return layout;
}

void connect(Fabric& fabric, const FabricDescription& description, const FatTree& tree, int nodes) {
  const FatTreeLayout layout = fat_tree_layout(description, tree, nodes);
  const int nics = description.node.nics;
  const auto add_switches = [&](int count) {
    const auto first = static_cast<VertexId>(fabric.vertices().size());
    for (int i = 0; i < count; ++i) fabric.add(VertexKind::network_switch);
    return first;
  };
  const VertexId leaves = add_switches(layout.leaves);
  const VertexId spines = add_switches(layout.pods * layout.spines);
  const VertexId cores = add_switches(layout.spines * layout.cores);

  for (int node = 0; node < nodes; ++node) {
    const int block = node / layout.nodes_per_leaf;
    for (int i = 0; i < nics; ++i) {
      const int leaf = tree.rail_optimized ? block * nics + i : block;
      plug(fabric, description, node, i, leaves + static_cast<VertexId>(leaf));
    }
  }
  for (int leaf = 0; leaf < layout.leaves; ++leaf) {
    const int pod = leaf / layout.leaves_per_pod;
    for (int spine = 0; spine < layout.spines; ++spine) {
      connect(fabric, description, leaves + static_cast<VertexId>(leaf),
              spines + static_cast<VertexId>(pod * layout.spines + spine), LinkClass::spine,
              layout.spine_link);
    }
  }
  for (int spine = 0; spine < layout.pods * layout.spines; ++spine) {
    for (int core = 0; core < layout.cores; ++core) {
      connect(fabric, description, spines + static_cast<VertexId>(spine),
              cores + static_cast<VertexId>(spine % layout.spines * layout.cores + core),
              LinkClass::core, layout.core_link);
    }
  }
}

}  // namespace prequel
