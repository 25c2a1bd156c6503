#include "hw/fabric/spread.hpp"

#include <limits>
#include <utility>

namespace prequel::fabric_detail {

Graph make_graph(const Fabric& fabric) {
  std::vector<std::pair<VertexId, VertexId>> edges;
  std::vector<LinkId> ids;
  edges.reserve(fabric.links().size());
  ids.reserve(fabric.links().size());
  for (const Link& link : fabric.links()) {
    ids.push_back(static_cast<LinkId>(edges.size()));
    edges.emplace_back(link.from, link.to);
  }
  return {boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), ids.begin(),
          static_cast<std::uint32_t>(fabric.vertices().size())};
}

bool Spread::search(VertexId target, std::span<const Demand> demands, std::int32_t node) {
  std::size_t missing = 0;
  for (const Demand& demand : demands) {
    if (demand.at != target && amount_[demand.at] == 0.0) ++missing;
    amount_[demand.at] += demand.amount;
  }
  distance_[target] = 1;
  order_.push_back(target);
  for (std::size_t i = 0; i < order_.size() && missing > 0; ++i) {
    const VertexId vertex = order_[i];
    if (i > 0 && !forwards(vertex)) continue;
    for (auto [edge, end] = boost::out_edges(vertex, graph_); edge != end; ++edge) {
      const VertexId next = boost::target(*edge, graph_);
      if (distance_[next] > 0 || fabric_.vertices()[next].node != node) continue;
      distance_[next] = distance_[vertex] + 1;
      order_.push_back(next);
      if (amount_[next] > 0.0) --missing;
    }
  }
  if (missing > 0) {
    for (const Demand& demand : demands) amount_[demand.at] = 0.0;
  }
  return missing == 0;
}

void Spread::forget() {
  for (const VertexId vertex : order_) {
    distance_[vertex] = 0;
    amount_[vertex] = 0.0;
  }
  order_.clear();
}

std::vector<std::uint32_t> Spread::hops(VertexId target, std::span<const VertexId> sources) {
  constexpr double kMark = 1.0;
  std::vector<Demand> demands;
  for (const VertexId source : sources) demands.push_back({source, kMark});
  search(target, demands, Vertex::kNoNode);
  std::vector<std::uint32_t> found;
  for (const VertexId source : sources) {
    const std::uint32_t distance = distance_[source];
    found.push_back(distance > 0 ? distance - 1 : std::numeric_limits<std::uint32_t>::max());
  }
  forget();
  return found;
}

}  // namespace prequel::fabric_detail
