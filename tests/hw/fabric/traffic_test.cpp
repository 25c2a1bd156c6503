#include "hw/fabric/traffic.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/hw/fabric/fabrics.hpp"

using namespace prequel;

TEST_CASE("groups of one send nothing") {
  CHECK(std::isinf(rate(dgx_cluster(2), 1, 1)));
}

TEST_CASE("a tensor group inside a node gets a device's NVLink rate") {
  CHECK(rate(dgx_cluster(2), 1, 8) == doctest::Approx(kNvlinkRate));
  CHECK(rate(dgx_cluster(2), 1, 2) == doctest::Approx(kNvlinkRate));
}

TEST_CASE("a group on direct links gets all links of a device") {
  NodeFabric node = dgx_node();
  node.devices = node.nics = 4;
  node.interconnect = Interconnect::all_to_all;
  const Router router = routed(described(node, fat_tree()), 2);
  CHECK(rate(router, 1, 4) == doctest::Approx(3 * kNvlinkRate));
  CHECK(rate(router, 1, 2) == doctest::Approx(kNvlinkRate));
}

TEST_CASE("beside tensor groups of 8, eight data groups share the NICs of a node") {
  for (const int nics : {4, 8}) {
    CHECK(rate(dgx_cluster(4, nics), 8, 4) == doctest::Approx(nics * kNicRate / 8));
  }
}

TEST_CASE("a data group with two members in a node has four groups beside it there") {
  for (const int nics : {4, 8}) {
    CHECK(rate(dgx_cluster(4, nics), 4, 8) == doctest::Approx(nics * kNicRate / 4));
  }
}

TEST_CASE("a group of whole nodes has all NICs of a node to itself") {
  CHECK(rate(dgx_cluster(4, 4), 1, 32) == doctest::Approx(4 * kNicRate));
  CHECK(rate(dgx_cluster(2, 8), 1, 16) == doctest::Approx(8 * kNicRate));
}

TEST_CASE("an over-subscribed spine halves what groups of distant nodes get") {
  const FabricDescription full = described(dgx_node(4), fat_tree(2, 1.0));
  FatTree narrow = fat_tree(2, 2.0);
  narrow.radix = 24;  // 16 ports down, 8 up; before 16 and 16: leaves of four nodes
  const FabricDescription half = described(dgx_node(4), narrow);
  // Every hop of these rings leaves its leaf.
  CHECK(rate(routed(full, 16), 32, 4) == doctest::Approx(4 * kNicRate / 8));
  CHECK(rate(routed(half, 16), 32, 4) == doctest::Approx(4 * kNicRate / 8 / 2));
  // Rings over neighbouring nodes cross the spine once a leaf.
  CHECK(rate(routed(half, 16), 8, 16) == doctest::Approx(4 * kNicRate / 8));
}

TEST_CASE("a fraction of a link class slows those who use it") {
  FabricDescription description = described(dgx_node(), fat_tree());
  description.link_fraction[static_cast<std::size_t>(LinkClass::spine)] = 0.25;
  const Router router = routed(description, 8);
  CHECK(rate(router, 1, 8) == doctest::Approx(kNvlinkRate));
  CHECK(rate(router, 8, 2) == doctest::Approx(kNicRate));  // both nodes on one leaf
  CHECK(rate(router, 16, 4) == doctest::Approx(kNicRate / 4));
}

TEST_CASE("all ranks of a node send to the next pipeline stage at once") {
  CHECK(rate(dgx_cluster(4, 4), 8, 4, TrafficPattern::send_next) ==
        doctest::Approx(4 * kNicRate / 8));
  CHECK(rate(dgx_cluster(1, 4), 4, 2, TrafficPattern::send_next) == doctest::Approx(kNvlinkRate));
}

TEST_CASE("in an all-to-all over nodes the share that leaves the node counts") {
  // 16 members, 8 in each node: 8/15 of what a member sends crosses.
  CHECK(rate(dgx_cluster(2), 1, 16, TrafficPattern::all_to_all) ==
        doctest::Approx(kNicRate * 15 / 8));
}

TEST_CASE("a ring in one dimension of a torus gets the rate of one link") {
  NodeFabric node;
  node.nics = 1;
  node.nic = node.pcie = {40e9};
  const Router router = routed(described(node, TorusNetwork{{4, 3, 2}, {6.8e9}}), 24);
  CHECK(rate(router, 1, 4) == doctest::Approx(6.8e9));
  CHECK(rate(router, 4, 3) == doctest::Approx(6.8e9));
  CHECK(rate(router, 12, 2) == doctest::Approx(6.8e9));
}
