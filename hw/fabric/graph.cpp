#include "hw/fabric/graph.hpp"

#include <algorithm>

namespace prequel {
namespace {

constexpr std::array<std::string_view, kLinkClasses> kNames = {
    "nvlink", "pcie", "nic", "spine", "core", "local", "global", "torus", "mesh", "cable"};

}  // namespace

std::string_view name(LinkClass link_class) {
  return kNames[static_cast<std::size_t>(link_class)];
}

std::optional<LinkClass> link_class(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<LinkClass>(found - kNames.begin());
}

VertexId Fabric::add(VertexKind kind, std::int32_t node) {
  const auto id = static_cast<VertexId>(vertices_.size());
  vertices_.push_back({kind, node});
  if (kind == VertexKind::device) devices_.push_back(id);
  if (kind == VertexKind::nic) nics_.push_back(id);
  return id;
}

LinkId Fabric::connect(VertexId a, VertexId b, LinkClass link_class, BytesPerSecond bandwidth) {
  const auto id = static_cast<LinkId>(links_.size());
  links_.push_back({a, b, bandwidth, link_class});
  links_.push_back({b, a, bandwidth, link_class});
  return id;
}

std::vector<double> link_capacities(const Fabric& fabric) {
  std::vector<double> capacities;
  capacities.reserve(fabric.links().size());
  for (const Link& link : fabric.links()) capacities.push_back(link.bandwidth.value);
  return capacities;
}

}  // namespace prequel
