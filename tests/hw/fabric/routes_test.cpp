#include "hw/fabric/routes.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "tests/error_text.hpp"
#include "tests/hw/fabric/fabrics.hpp"

using namespace prequel;

namespace {

/// The shares of a route, summed by the class of link.
std::map<LinkClass, double> shares(const Router& router, std::uint32_t from, std::uint32_t to) {
  std::map<LinkClass, double> sums;
  for (const LinkShare& part : router.route(from, to)) {
    sums[router.fabric().links()[part.link].link_class] += part.share;
  }
  return sums;
}

}  // namespace

TEST_CASE("a flow inside a node passes the NVSwitch and nothing else") {
  const Router router = dgx_cluster(2, 4);
  CHECK(shares(router, 0, 1) == std::map<LinkClass, double>{{LinkClass::nvlink, 2.0}});
}

TEST_CASE("a flow under one leaf does not climb to the spine") {
  const Router router = dgx_cluster(4);  // two nodes a leaf
  CHECK(shares(router, 0, 8) ==
        std::map<LinkClass, double>{{LinkClass::pcie, 2.0}, {LinkClass::nic, 2.0}});
}

TEST_CASE("a flow between leaves is split evenly over all spines") {
  const Router router = dgx_cluster(4);
  CHECK(shares(router, 0, 31)[LinkClass::spine] == doctest::Approx(2.0));
  const std::vector<LinkShare> route = router.route(0, 31);
  CHECK(route.size() == 4 + 2 * 16);
  for (const LinkShare& part : route) {
    const bool spine = router.fabric().links()[part.link].link_class == LinkClass::spine;
    CHECK(part.share == doctest::Approx(spine ? 1.0 / 16 : 1.0));
  }
}

TEST_CASE("with rails a flow to the same rail stays on its leaf, one to another rail climbs") {
  const Router router = dgx_cluster(16, 8, fat_tree(2, 1.0, true));
  CHECK(shares(router, 3, 8 * 15 + 3).count(LinkClass::spine) == 0);
  CHECK(shares(router, 3, 8 * 15 + 4)[LinkClass::spine] == doctest::Approx(2.0));
}

TEST_CASE("two NICs of a device share its flow, each on its own rail") {
  const Router router = dgx_cluster(4, 16, fat_tree(2, 1.0, true));
  for (const LinkShare& part : router.route(0, 8)) CHECK(part.share == doctest::Approx(0.5));
  CHECK(shares(router, 0, 8) ==
        std::map<LinkClass, double>{{LinkClass::pcie, 2.0}, {LinkClass::nic, 2.0}});
}

TEST_CASE("a device on the host's PCIe root uses all NICs of the node") {
  NodeFabric node = dgx_node(4);
  node.interconnect = Interconnect::host;
  const Router router = routed(described(node, fat_tree()), 2);
  CHECK(router.exits(5).size() == 4);
  CHECK(shares(router, 0, 1) == std::map<LinkClass, double>{{LinkClass::pcie, 2.0}});
  CHECK(shares(router, 0, 15)[LinkClass::pcie] == doctest::Approx(4.0));
}

TEST_CASE("a flow between pods climbs to the cores") {
  const Router router = dgx_cluster(64, 8, fat_tree(3));  // two nodes a leaf, 16 leaves a pod
  CHECK(shares(router, 0, 8 * 31)[LinkClass::spine] == doctest::Approx(2.0));
  CHECK(shares(router, 0, 8 * 31).count(LinkClass::core) == 0);
  CHECK(shares(router, 0, 8 * 32)[LinkClass::core] == doctest::Approx(2.0));
}

TEST_CASE("a torus is crossed dimension by dimension, the shorter way round") {
  NodeFabric node;
  node.nics = 1;
  node.nic = node.pcie = {kNicRate};
  const Router router = routed(described(node, TorusNetwork{{5, 4, 2}, {6.8e9}}), 40);
  CHECK(shares(router, 0, 4)[LinkClass::torus] == doctest::Approx(1.0));   // 4 is -1
  CHECK(shares(router, 0, 7)[LinkClass::torus] == doctest::Approx(3.0));   // 2 + 1
  CHECK(shares(router, 0, 10)[LinkClass::torus] == doctest::Approx(2.0));  // half each way
  CHECK(router.route(0, 10).size() == 4 + 4);
  CHECK(shares(router, 20, 0)[LinkClass::torus] == doctest::Approx(1.0));
  CHECK(shares(router, 0, 20)[LinkClass::torus] == doctest::Approx(1.0));
}

TEST_CASE("switches that are not joined have no route") {
  EdgeList list;
  list.switches = {"a", "b"};
  list.attachments = {{0, 0, 0, 0}, {1, 1, 1, 1}};
  const Router router = routed(described(dgx_node(4), list), 2);
  CHECK(error_text([&] { (void)router.route(0, 8); }) == "fabric: its switches are not all joined");
}

TEST_CASE("what enters a vertex leaves it, but for the ends of flows") {
  std::mt19937 random(1);
  for (const auto& network :
       std::initializer_list<Network>{fat_tree(), fat_tree(3, 2.0), fat_tree(2, 1.0, true),
                                      Dragonfly{5, 4, 1, 2, {kNicRate}, {kNicRate}},
                                      TorusNetwork{{3, 2, 4}, {kNicRate}}, FullMesh{{kNicRate}}}) {
    const Router router = routed(described(dgx_node(), network), 20);
    std::vector<Flow> flows;
    std::vector<double> surplus(router.fabric().vertices().size());
    std::uniform_int_distribution<std::uint32_t> device(0, 159);
    for (int i = 0; i < 300; ++i) {
      flows.push_back({device(random), device(random), 1.0 + i});
      if (flows.back().from == flows.back().to) continue;
      surplus[router.fabric().devices()[flows.back().from]] -= flows.back().rate;
      surplus[router.fabric().devices()[flows.back().to]] += flows.back().rate;
    }
    const std::vector<double> loads = link_loads(router, flows);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      surplus[router.fabric().links()[i].from] += loads[i];
      surplus[router.fabric().links()[i].to] -= loads[i];
    }
    for (const double rest : surplus) CHECK(rest == doctest::Approx(0.0).scale(1e4));
  }
}
