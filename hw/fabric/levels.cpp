#include "hw/fabric/description.hpp"

namespace prequel {
namespace {

using Levels = std::vector<LinkClass>;

Levels levels_of(const NoNetwork&) {
  return {};
}

Levels levels_of(const FatTree& tree) {
  if (tree.levels == 1) return {};
  return tree.levels == 2 ? Levels{LinkClass::spine} : Levels{LinkClass::spine, LinkClass::core};
}

Levels levels_of(const Dragonfly&) {
  return {LinkClass::local, LinkClass::global};
}

Levels levels_of(const TorusNetwork&) {
  return {LinkClass::torus};
}

Levels levels_of(const FullMesh&) {
  return {LinkClass::mesh};
}

Levels levels_of(const EdgeList&) {
  return {LinkClass::cable};
}

}  // namespace

std::vector<LinkClass> link_levels(const FabricDescription& description) {
  const NodeFabric& node = description.node;
  Levels levels;
  const bool on_host = node.interconnect == Interconnect::host;
  if (!on_host && node.interconnect != Interconnect::none) levels.push_back(LinkClass::nvlink);
  if (on_host || node.nics > 0) levels.push_back(LinkClass::pcie);
  if (node.nics > 0) levels.push_back(LinkClass::nic);
  const Levels network =
      std::visit([](const auto& kind) { return levels_of(kind); }, description.network);
  levels.insert(levels.end(), network.begin(), network.end());
  return levels;
}

}  // namespace prequel
