#pragma once

/// Builders of fabrics, one file each: first the nodes, then the network that joins their NICs.

#include "hw/fabric/description.hpp"

namespace prequel {

/// Adds one node after the others: devices, their links, NICs.
void add_node(Fabric& fabric, const FabricDescription& description, std::int32_t node);

/// Joins all NICs of the fabric, which holds `nodes` nodes and nothing else. Throw InputError when
/// the network cannot hold as many.
void connect(Fabric& fabric, const FabricDescription& description, const NoNetwork&, int nodes);
void connect(Fabric& fabric, const FabricDescription& description, const FatTree& tree, int nodes);
void connect(Fabric& fabric, const FabricDescription& description, const Dragonfly& dragonfly,
             int nodes);
void connect(Fabric& fabric, const FabricDescription& description, const TorusNetwork& torus,
             int nodes);
void connect(Fabric& fabric, const FabricDescription& description, const FullMesh& mesh, int nodes);
void connect(Fabric& fabric, const FabricDescription& description, const EdgeList& list, int nodes);

/// `connect` of two vertices by a link of a class, scaled by the class' fraction.
LinkId connect(Fabric& fabric, const FabricDescription& description, VertexId a, VertexId b,
               LinkClass link_class, BytesPerSecond rate);

/// Plugs a NIC of a node, or all of them, into a switch.
void plug(Fabric& fabric, const FabricDescription& description, int node, int nic, VertexId into);
void plug_all(Fabric& fabric, const FabricDescription& description, int node, VertexId into);

/// The sizes of a fat tree that holds a number of nodes. Leaves are dealt to pods in order; each
/// pod has `spines` spine switches, joined to every leaf of it; spine switch i of all pods is
/// joined to the same `cores` core switches.
struct FatTreeLayout {
  int nodes_per_leaf{};  ///< nodes that a full leaf serves, with all their NICs or one each
  int leaves{};
  int spines{};
  int leaves_per_pod{};
  int pods{};
  int cores{};
  BytesPerSecond spine_link{};
  BytesPerSecond core_link{};
};
/// Throws InputError when the tree cannot hold the nodes.
FatTreeLayout fat_tree_layout(const FabricDescription& description, const FatTree& tree, int nodes);

}  // namespace prequel
