#pragma once

// Private to hw/fabric: traffic spread over all shortest paths towards one vertex (ECMP).

#include <cstdint>
#include <span>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "hw/fabric/graph.hpp"

namespace prequel::fabric_detail {

/// The fabric with the LinkId of each edge.
using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, LinkId,
                                                 boost::no_property, std::uint32_t, std::uint32_t>;

Graph make_graph(const Fabric& fabric);

/// Traffic that enters at a vertex.
struct Demand {
  VertexId at{};
  double amount{};
};

/// Breadth-first searches that share their memory.
class Spread {
 public:
  Spread(const Fabric& fabric, const Graph& graph)
      : fabric_(fabric),
        graph_(graph),
        distance_(fabric.vertices().size()),
        amount_(fabric.vertices().size()) {}

  /// Calls `sink(link, amount)` for what each link carries when all demands go to `target`, by
  /// vertices of `node` only (Vertex::kNoNode: by the network's switches). False when some demand
  /// cannot reach it.
  template <class Sink>
  bool towards(VertexId target, std::span<const Demand> demands, std::int32_t node,
               const Sink& sink) {
    const bool reached = search(target, demands, node);
    for (std::size_t i = order_.size(); i-- > 1;) {
      const VertexId vertex = order_[i];
      if (amount_[vertex] > 0.0) send_on(vertex, sink);
    }
    forget();
    return reached;
  }

  /// Hops from each of `sources` to `target` through the network; 0 hops for itself, a large
  /// number when there is no path.
  std::vector<std::uint32_t> hops(VertexId target, std::span<const VertexId> sources);

 private:
  using OutEdge = boost::graph_traits<Graph>::edge_descriptor;

  bool search(VertexId target, std::span<const Demand> demands, std::int32_t node);
  void forget();
  [[nodiscard]] bool forwards(VertexId vertex) const {
    const VertexKind kind = fabric_.vertices()[vertex].kind;
    return kind == VertexKind::hub || kind == VertexKind::network_switch;
  }
  [[nodiscard]] bool is_nearer(VertexId next, VertexId vertex) const {
    return distance_[next] + 1 == distance_[vertex] && distance_[next] > 0 &&
           (next == order_.front() || forwards(next));
  }

  template <class Sink>
  void send_on(VertexId vertex, const Sink& sink) {
    const auto [begin, end] = boost::out_edges(vertex, graph_);
    int ways = 0;
    for (auto edge = begin; edge != end; ++edge) {
      ways += is_nearer(boost::target(*edge, graph_), vertex) ? 1 : 0;
    }
    const double share = amount_[vertex] / ways;
    for (auto edge = begin; edge != end; ++edge) {
      const VertexId next = boost::target(*edge, graph_);
      if (!is_nearer(next, vertex)) continue;
      sink(graph_[*edge], share);
      amount_[next] += share;
    }
  }

  const Fabric& fabric_;
  const Graph& graph_;
  std::vector<std::uint32_t> distance_;  ///< from the target, plus 1; 0: not reached
  std::vector<double> amount_;
  std::vector<VertexId> order_;  ///< vertices as they were reached
};

}  // namespace prequel::fabric_detail
