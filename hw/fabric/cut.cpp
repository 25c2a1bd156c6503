#include "hw/fabric/cut.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace prequel {
namespace {

using Capacity = std::int64_t;  // whole byte/s: exact, so that the algorithm ends
using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, Capacity,
        boost::property<boost::edge_residual_capacity_t, Capacity,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

/// Adds an edge, and the reverse edge without capacity that the algorithm wants.
void join(FlowGraph& graph, VertexId from, VertexId to, Capacity capacity) {
  const auto edge = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, edge, capacity);
  boost::put(boost::edge_capacity, graph, back, 0);
  boost::put(boost::edge_reverse, graph, edge, back);
  boost::put(boost::edge_reverse, graph, back, edge);
}

Capacity whole(BytesPerSecond rate) {
  return std::llround(rate.value);
}

/// Which half a device of the fabric's `node` is in.
bool in_first_half(const Fabric& fabric, std::uint32_t device) {
  const auto devices = static_cast<std::uint32_t>(fabric.devices().size());
  const std::int32_t nodes = fabric.vertices()[fabric.devices().back()].node + 1;
  if (nodes == 1) return device < devices / 2;
  std::int32_t at = fabric.vertices()[fabric.devices()[device]].node;
  if (!fabric.torus()) return at < nodes / 2;
  const std::vector<int>& dimensions = fabric.torus()->dimensions;
  const auto longest = std::max_element(dimensions.begin(), dimensions.end());
  for (auto dimension = dimensions.begin(); dimension != longest; ++dimension) at /= *dimension;
  return at % *longest < *longest / 2;
}

}  // namespace

BytesPerSecond max_flow(const Fabric& fabric, std::span<const std::uint32_t> from,
                        std::span<const std::uint32_t> to) {
  const std::vector<Vertex>& vertices = fabric.vertices();
  std::vector<bool> forwards(vertices.size());
  bool one_node = true;
  const std::int32_t node = from.empty() ? 0 : vertices[fabric.devices()[from[0]]].node;
  for (const auto side : {from, to}) {
    for (const std::uint32_t device : side) {
      const VertexId vertex = fabric.devices()[device];
      forwards[vertex] = true;
      one_node = one_node && vertices[vertex].node == node;
    }
  }
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const VertexKind kind = vertices[i].kind;
    if (kind != VertexKind::device) forwards[i] = !one_node || kind != VertexKind::nic;
  }

  FlowGraph graph(vertices.size() + 2);
  const auto source = static_cast<VertexId>(vertices.size());
  const VertexId sink = source + 1;
  std::vector<Capacity> out(vertices.size());  // of all links from a vertex
  std::vector<Capacity> in(vertices.size());
  for (const Link& link : fabric.links()) {
    if (!forwards[link.from] || !forwards[link.to]) continue;
    const Capacity capacity = whole(link.bandwidth);
    join(graph, link.from, link.to, capacity);
    out[link.from] += capacity;
    in[link.to] += capacity;
  }
  for (const std::uint32_t device : from) {
    const VertexId vertex = fabric.devices()[device];
    join(graph, source, vertex, out[vertex]);
  }
  for (const std::uint32_t device : to) {
    const VertexId vertex = fabric.devices()[device];
    join(graph, vertex, sink, in[vertex]);
  }
  return {static_cast<double>(boost::push_relabel_max_flow(graph, source, sink))};
}

BytesPerSecond bisection_bandwidth(const Fabric& fabric) {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> second;
  for (std::uint32_t device = 0; device < fabric.devices().size(); ++device) {
    (in_first_half(fabric, device) ? first : second).push_back(device);
  }
  return max_flow(fabric, first, second);
}

}  // namespace prequel
