// Link sharing against SimGrid (Debian's libsimgrid-dev). SimGrid has one engine a process, so all
// fabrics are islands of one platform, and one run of it answers all tests: flows that start at
// once, for their rates, and later the same flows with sizes and starts of their own, for their
// ends.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <simgrid/s4u.hpp>
#include <string>

#include "sim/engine/contention.hpp"
#include "tests/engine/max_min_rates.hpp"
#include "tests/hw/fabric/fabrics.hpp"

using namespace prequel;
namespace sg4 = simgrid::s4u;

namespace {

/// A small fabric and flows over it, each over one path (SimGrid does not split routes).
struct Island {
  std::string name;
  Router router;
  std::vector<Flow> flows;
  Routes routes;
  std::vector<double> bytes;   ///< of each flow, where they are timed
  std::vector<double> starts;  ///< s
};

Island island(const FabricDescription& description, int nodes, unsigned seed) {
  Island found{"fabric" + std::to_string(seed), routed(description, nodes), {}, {}, {}, {}};
  std::mt19937 random(seed);
  const auto devices = static_cast<std::uint32_t>(found.router.fabric().devices().size());
  std::uniform_int_distribution<std::uint32_t> device(0, devices - 1);
  std::uniform_real_distribution<double> share(0.1, 1.0);
  for (int tries = 0; tries < 200 && found.flows.size() < 24; ++tries) {
    const Flow flow{device(random), device(random)};
    if (flow.from == flow.to) continue;
    const std::vector<LinkShare> route = found.router.route(flow.from, flow.to);
    const bool one_path = std::all_of(route.begin(), route.end(),
                                      [](const LinkShare& part) { return part.share == 1.0; });
    if (!one_path) continue;
    found.flows.push_back(flow);
    found.routes.add(route);
    // SimGrid counts whole bytes.
    found.bytes.push_back(std::round(1e10 * share(random)));
    found.starts.push_back(share(random));
  }
  return found;
}

/// Two devices with a NIC each.
NodeFabric small_node(Interconnect interconnect) {
  NodeFabric node = dgx_node(2);
  node.devices = 2;
  node.interconnect = interconnect;
  return node;
}

/// Four builders, two wirings of nodes, three sizes of network.
std::vector<Island> islands() {
  std::vector<Island> found;
  constexpr BytesPerSecond kSlow{10e9};
  EdgeList line;
  line.switches = {"a", "b", "c", "d"};
  line.edges = {{0, 1, {40e9}}, {1, 2, {15e9}}, {2, 3, {30e9}}};
  line.attachments = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {0, 1}, {2, 3}};
  for (const Interconnect interconnect : {Interconnect::nvswitch, Interconnect::all_to_all}) {
    for (const int nodes : {4, 5, 6}) {
      const FatTree one_spine{.levels = 2, .radix = 5, .over_subscription = 4.0, .link = kSlow};
      for (const Network& network :
           std::initializer_list<Network>{one_spine, TorusNetwork{{3, 3}, kSlow}, FullMesh{kSlow},
                                          line, Dragonfly{3, 2, 1, 1, {20e9}, kSlow}}) {
        found.push_back(island(described(small_node(interconnect), network), nodes,
                               static_cast<unsigned>(found.size())));
      }
    }
  }
  return found;
}

void add_to_platform(const Island& island, sg4::NetZone& zone) {
  std::vector<const sg4::Link*> links;
  const Fabric& fabric = island.router.fabric();
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    sg4::Link* link = zone.create_link(island.name + "-link" + std::to_string(i),
                                       fabric.links()[i].bandwidth.value);
    links.push_back(link->set_latency(0.0)->seal());
  }
  std::vector<sg4::Host*> hosts;
  for (std::size_t i = 0; i < fabric.devices().size(); ++i) {
    hosts.push_back(zone.create_host(island.name + "-device" + std::to_string(i), 1e9)->seal());
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> joined;
  for (std::size_t i = 0; i < island.flows.size(); ++i) {
    const auto ends = std::pair(island.flows[i].from, island.flows[i].to);
    if (std::find(joined.begin(), joined.end(), ends) != joined.end()) continue;
    joined.push_back(ends);
    std::vector<sg4::LinkInRoute> route;
    for (const LinkShare& part : island.routes[static_cast<RouteId>(i)])
      route.emplace_back(links[part.link]);
    zone.add_route(hosts[ends.first]->get_netpoint(), hosts[ends.second]->get_netpoint(), nullptr,
                   nullptr, route, false);
  }
}

/// By island and flow.
struct SimGridRun {
  std::vector<std::vector<double>> rates;  ///< byte/s, all flows at once
  std::vector<std::vector<double>> ends;   ///< s since the timed flows' time 0
};

constexpr double kTimedFrom = 10.0;  // s: all flows for rates are gone

sg4::Host* host_of(const Island& island, std::uint32_t device) {
  return sg4::Host::by_name(island.name + "-device" + std::to_string(device));
}

/// Tells `comm` for two seconds.
void add_flow(const Island& island, std::size_t i, std::uint64_t bytes, sg4::CommPtr& comm) {
  static int payload = 0;
  const std::string flow = island.name + "-flow" + std::to_string(i);
  sg4::Actor::create(flow, host_of(island, island.flows[i].from), [&comm, bytes, flow] {
    comm = sg4::Mailbox::by_name(flow)->put_async(&payload, bytes);
    sg4::this_actor::sleep_for(2.0);
    comm->cancel();
  });
  sg4::Actor::create(flow + "-sink", host_of(island, island.flows[i].to), [flow] {
    int* received = nullptr;
    const sg4::CommPtr arriving = sg4::Mailbox::by_name(flow)->get_async<int>(&received);
    sg4::this_actor::sleep_for(3.0);
  });
}

void add_timed_flow(const Island& island, std::size_t i, double& end) {
  static int payload = 0;
  const std::string flow = island.name + "-timed" + std::to_string(i);
  sg4::Actor::create(flow, host_of(island, island.flows[i].from), [&island, i, &end, flow] {
    sg4::this_actor::sleep_until(kTimedFrom + island.starts[i]);
    sg4::Mailbox::by_name(flow)->put(&payload, static_cast<std::uint64_t>(island.bytes[i]));
    end = sg4::Engine::get_clock() - kTimedFrom;
  });
  sg4::Actor::create(flow + "-sink", host_of(island, island.flows[i].to),
                     [flow] { sg4::Mailbox::by_name(flow)->get<int>(); });
}

SimGridRun run_simgrid(const std::vector<Island>& islands) {
  constexpr std::uint64_t kBytes = 1'000'000'000'000'000;  // nothing ends in a second
  std::string program = "fabric";
  std::string quiet = "--log=xbt_cfg.thresh:warning";
  int argc = 2;
  char* argv[] = {program.data(), quiet.data(), nullptr};
  sg4::Engine engine(&argc, argv);
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/bandwidth-factor:1.0",
        "network/latency-factor:1.0", "network/weight-S:0.0", "network/TCP-gamma:0.0",
        "network/optim:Full"}) {
    sg4::Engine::set_config(setting);
  }
  sg4::NetZone* zone = sg4::create_full_zone("platform");
  for (const Island& island : islands) add_to_platform(island, *zone);
  sg4::Host* watch = zone->create_host("watch", 1e9)->seal();
  zone->seal();

  SimGridRun run;
  std::vector<std::vector<sg4::CommPtr>> sent;
  for (const Island& island : islands) {
    run.rates.emplace_back(island.flows.size());
    run.ends.emplace_back(island.flows.size());
    sent.emplace_back(island.flows.size());
  }
  for (std::size_t k = 0; k < islands.size(); ++k) {
    for (std::size_t i = 0; i < sent[k].size(); ++i) {
      add_flow(islands[k], i, kBytes, sent[k][i]);
      add_timed_flow(islands[k], i, run.ends[k][i]);
    }
  }
  sg4::Actor::create("watch", watch, [&] {
    sg4::this_actor::sleep_for(1.0);
    for (std::size_t k = 0; k < sent.size(); ++k) {
      for (std::size_t i = 0; i < sent[k].size(); ++i) {
        run.rates[k][i] = static_cast<double>(kBytes) - sent[k][i]->get_remaining();
      }
    }
  });
  engine.run();
  return run;
}

const std::vector<Island>& all_islands() {
  static const std::vector<Island> kAll = islands();
  return kAll;
}

const SimGridRun& simgrid_answer() {
  static const SimGridRun kRun = run_simgrid(all_islands());
  return kRun;
}

std::vector<double> timed_ends(const Island& island) {
  const std::vector<double> capacities = link_capacities(island.router.fabric());
  std::vector<Transfer> transfers;
  GraphBuilder builder(island.flows.size());
  for (std::uint32_t i = 0; i < island.flows.size(); ++i) {
    builder.run(i, i, {});
    transfers.push_back({i, island.bytes[i]});
  }
  Machine machine;
  machine.link_capacities = capacities;
  machine.routes = &island.routes;
  machine.transfers = transfers;
  return run_contended(builder.build(), island.starts, machine).finish;
}

}  // namespace

TEST_CASE("flows on small fabrics get the rates that SimGrid gives them") {
  const std::vector<Island>& all = all_islands();
  REQUIRE(all.size() >= 20);
  for (std::size_t k = 0; k < all.size(); ++k) {
    CAPTURE(all[k].name);
    REQUIRE(all[k].flows.size() >= 12);
    const auto rates = max_min_rates(link_capacities(all[k].router.fabric()), all[k].routes);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      CHECK(rates[i] == doctest::Approx(simgrid_answer().rates[k][i]).epsilon(0.01));
    }
  }
}

TEST_CASE("flows of different sizes and starts on small fabrics end when SimGrid ends them") {
  const std::vector<Island>& all = all_islands();
  for (std::size_t k = 0; k < all.size(); ++k) {
    CAPTURE(all[k].name);
    const auto ends = timed_ends(all[k]);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      CHECK(ends[i] == doctest::Approx(simgrid_answer().ends[k][i]).epsilon(0.01));
    }
  }
}
