#include "hw/fabric/routes.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/spread.hpp"

namespace prequel {
namespace {

using fabric_detail::Demand;
using fabric_detail::Graph;
using fabric_detail::Spread;

/// The way from a device to the network by one NIC; its reverse is the way in.
struct Access {
  VertexId end{};  ///< the switch of the network
  std::vector<LinkId> links;
};

/// Traffic from one switch of the network to another.
struct Trunk {
  VertexId to{};
  VertexId from{};
  double amount{};
};

/// The shortest ways out of a device's node; they pass hubs and NICs, never another device.
std::vector<Access> find_accesses(const Fabric& fabric, const Graph& graph, VertexId device) {
  std::vector<Access> found;
  std::vector<Access> reached{{device, {}}};  // ways to vertices of the node, nearest first
  const std::int32_t node = fabric.vertices()[device].node;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Access way = reached[i];
    if (!found.empty() && way.links.size() >= found.front().links.size()) break;
    for (auto [edge, end] = boost::out_edges(way.end, graph); edge != end; ++edge) {
      const VertexId next = boost::target(*edge, graph);
      const Vertex& vertex = fabric.vertices()[next];
      const bool leaves = vertex.node != node;
      if (!leaves && vertex.kind == VertexKind::device) continue;
      const bool seen = std::any_of(reached.begin(), reached.end(),
                                    [&](const Access& other) { return other.end == next; });
      if (!leaves && seen) continue;
      Access& longer = (leaves ? found : reached).emplace_back(way);
      longer.end = next;
      longer.links.push_back(graph[*edge]);
    }
  }
  return found;
}

/// The shorter way round a ring of `size` from `a` to `b`: steps, and whether it goes forwards.
std::pair<int, bool> ring_steps(int a, int b, int size) {
  const int forward = (b - a + size) % size;
  return forward <= size - forward ? std::pair{forward, true} : std::pair{size - forward, false};
}

/// Dimension-order routes of a torus.
class TorusRoutes {
 public:
  explicit TorusRoutes(const Torus& torus) : torus_(torus) {}

  [[nodiscard]] std::uint32_t hops(VertexId from, VertexId to) const {
    int sum = 0;
    std::uint32_t a = from - torus_.first_router;
    std::uint32_t b = to - torus_.first_router;
    for (const int size : torus_.dimensions) {
      const auto radix = static_cast<std::uint32_t>(size);
      sum += ring_steps(static_cast<int>(a % radix), static_cast<int>(b % radix), size).first;
      a /= radix;
      b /= radix;
    }
    return static_cast<std::uint32_t>(sum);
  }

  template <class Sink>
  void send(const Trunk& trunk, const Sink& sink) const {
    std::uint32_t at = trunk.from - torus_.first_router;
    const std::uint32_t goal = trunk.to - torus_.first_router;
    std::uint32_t stride = 1;
    for (std::size_t d = 0; d < torus_.dimensions.size(); ++d) {
      const int size = torus_.dimensions[d];
      const auto radix = static_cast<std::uint32_t>(size);
      const int a = static_cast<int>(at / stride % radix);
      const int b = static_cast<int>(goal / stride % radix);
      const auto [steps, forwards] = ring_steps(a, b, size);
      const Line line{at - static_cast<std::uint32_t>(a) * stride, stride, d, size};
      if (steps > 0 && 2 * steps == size) {
        walk(line, a, steps, true, trunk.amount / 2.0, sink);
        walk(line, a, steps, false, trunk.amount / 2.0, sink);
      } else {
        walk(line, a, steps, forwards, trunk.amount, sink);
      }
      at = line.first + static_cast<std::uint32_t>(b) * stride;
      stride *= radix;
    }
  }

 private:
  /// The routers that differ in one dimension only.
  struct Line {
    std::uint32_t first{};
    std::uint32_t stride{};
    std::size_t dimension{};
    int size{};
  };

  template <class Sink>
  void walk(const Line& line, int from, int steps, bool forwards, double amount,
            const Sink& sink) const {
    int at = from;
    for (int i = 0; i < steps; ++i) {
      const int next = (at + (forwards ? 1 : line.size - 1)) % line.size;
      const int lower = forwards ? at : next;
      const std::size_t router = line.first + static_cast<std::uint32_t>(lower) * line.stride;
      const LinkId link = torus_.next[router * torus_.dimensions.size() + line.dimension];
      sink(forwards ? link : reverse(link), amount);
      at = next;
    }
  }

  const Torus& torus_;
};

InputError no_route(std::int32_t from, std::int32_t to) {
  return InputError(fmt::format("fabric: there is no route from node {} to node {}", from, to));
}

}  // namespace

struct Router::Tables {
  Fabric fabric;
  Graph graph;
  std::vector<std::vector<Access>> accesses;  ///< by device
  std::vector<std::vector<LinkId>> exits;     ///< the last link of each access

  explicit Tables(Fabric routed)
      : fabric(std::move(routed)), graph(fabric_detail::make_graph(fabric)) {
    for (const VertexId device : fabric.devices()) {
      accesses.push_back(find_accesses(fabric, graph, device));
      std::vector<LinkId>& last = exits.emplace_back();
      for (const Access& access : accesses.back()) last.push_back(access.links.back());
    }
  }

  [[nodiscard]] std::int32_t node_of(std::uint32_t device) const {
    return fabric.vertices()[fabric.devices()[device]].node;
  }

  /// Puts the flow on the ways out and in, and its share between each pair of switches on `trunks`.
  template <class Sink>
  void leave_and_arrive(const Flow& flow, Spread& spread, std::vector<Trunk>& trunks,
                        const Sink& sink) const {
    const auto pairs = nearest_pairs(flow, spread);
    const double share = flow.rate / static_cast<double>(pairs.size());
    for (const auto& [out, in] : pairs) {
      for (const LinkId link : out->links) sink(link, share);
      for (const LinkId link : in->links) sink(reverse(link), share);
      if (out->end != in->end) {
        trunks.push_back({in->end, out->end, share});
      }
    }
  }

  /// The ways out of one device and into another that are the nearest to each other.
  std::vector<std::pair<const Access*, const Access*>> nearest_pairs(const Flow& flow,
                                                                     Spread& spread) const {
    const std::vector<Access>& out = accesses[flow.from];
    const std::vector<Access>& in = accesses[flow.to];
    std::vector<std::pair<const Access*, const Access*>> pairs;
    if (out.size() == 1 && in.size() == 1) return {{&out.front(), &in.front()}};

    std::vector<VertexId> sources;
    for (const Access& access : out) sources.push_back(access.end);
    std::uint32_t nearest = std::numeric_limits<std::uint32_t>::max();
    for (const Access& arrival : in) {
      std::vector<std::uint32_t> hops;
      if (fabric.torus()) {
        const TorusRoutes routes(*fabric.torus());
        for (const VertexId source : sources) {
          hops.push_back(routes.hops(source, arrival.end));
        }
      } else {
        hops = spread.hops(arrival.end, sources);
      }
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (hops[i] > nearest) continue;
        if (hops[i] < nearest) pairs.clear();
        nearest = hops[i];
        pairs.emplace_back(&out[i], &arrival);
      }
    }
    if (nearest == std::numeric_limits<std::uint32_t>::max()) pairs.clear();
    if (pairs.empty()) throw no_route(node_of(flow.from), node_of(flow.to));
    return pairs;
  }

  /// Routes trunks, all those to one switch at once.
  template <class Sink>
  void route_trunks(std::vector<Trunk>& trunks, Spread& spread, const Sink& sink) const {
    if (fabric.torus()) {
      const TorusRoutes routes(*fabric.torus());
      for (const Trunk& trunk : trunks) routes.send(trunk, sink);
      return;
    }
    std::sort(trunks.begin(), trunks.end(), [](const Trunk& a, const Trunk& b) {
      return std::tie(a.to, a.from) < std::tie(b.to, b.from);
    });
    std::vector<Demand> demands;
    for (std::size_t i = 0; i < trunks.size();) {
      const VertexId target = trunks[i].to;
      demands.clear();
      for (; i < trunks.size() && trunks[i].to == target; ++i) {
        demands.push_back({trunks[i].from, trunks[i].amount});
      }
      if (!spread.towards(target, demands, Vertex::kNoNode, sink)) {
        throw InputError("fabric: its switches are not all joined");
      }
    }
  }

  template <class Sink>
  void route(std::span<const Flow> flows, const Sink& sink) const {
    Spread spread(fabric, graph);
    std::vector<Trunk> trunks;
    for (const Flow& flow : flows) {
      const std::int32_t node = node_of(flow.from);
      if (flow.from == flow.to || flow.rate == 0.0) continue;
      if (node != node_of(flow.to)) {
        leave_and_arrive(flow, spread, trunks, sink);
        continue;
      }
      const Demand demand{fabric.devices()[flow.from], flow.rate};
      if (!spread.towards(fabric.devices()[flow.to], {&demand, 1}, node, sink)) {
        throw no_route(node, node);
      }
    }
    route_trunks(trunks, spread, sink);
  }
};

Router::Router(Fabric fabric) : tables_(std::make_unique<Tables>(std::move(fabric))) {}
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;
Router::~Router() = default;

const Fabric& Router::fabric() const {
  return tables_->fabric;
}

std::span<const LinkId> Router::exits(std::uint32_t device) const {
  return tables_->exits[device];
}

void Router::add_loads(std::span<const Flow> flows, std::vector<double>& loads) const {
  tables_->route(flows, [&](LinkId link, double amount) { loads[link] += amount; });
}

std::vector<LinkShare> Router::route(std::uint32_t from, std::uint32_t to) const {
  const Flow flow{from, to, 1.0};
  std::vector<LinkShare> parts;
  tables_->route({&flow, 1}, [&](LinkId link, double amount) { parts.push_back({link, amount}); });
  std::sort(parts.begin(), parts.end(),
            [](const LinkShare& a, const LinkShare& b) { return a.link < b.link; });
  std::vector<LinkShare> merged;
  for (const LinkShare& part : parts) {
    if (!merged.empty() && merged.back().link == part.link) {
      merged.back().share += part.share;
    } else {
      merged.push_back(part);
    }
  }
  return merged;
}

std::vector<double> link_loads(const Router& router, std::span<const Flow> flows) {
  std::vector<double> loads(router.fabric().links().size());
  router.add_loads(flows, loads);
  return loads;
}

}  // namespace prequel
