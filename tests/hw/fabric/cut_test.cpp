#include "hw/fabric/cut.hpp"

#include <doctest/doctest.h>

#include <random>

#include "tests/hw/fabric/fabrics.hpp"

using namespace prequel;

namespace {

/// A node whose devices and NICs are no bottleneck.
NodeFabric wide_node() {
  NodeFabric node;
  node.nics = 1;
  node.nic = node.pcie = {1e15};
  return node;
}

constexpr BytesPerSecond kLinkRate{kNicRate};

double bisection(const NodeFabric& node, const Network& network, int nodes) {
  return bisection_bandwidth(build_fabric(described(node, network), nodes)).value;
}

}  // namespace

TEST_CASE("a node is halved through its switch, its direct links or its host") {
  NodeFabric node = dgx_node(4);
  CHECK(bisection(node, NoNetwork{}, 1) == 4 * kNvlinkRate);
  node.interconnect = Interconnect::host;
  CHECK(bisection(node, NoNetwork{}, 1) == 4 * kNvlinkRate);
  node.interconnect = Interconnect::all_to_all;
  CHECK(bisection(node, NoNetwork{}, 1) == 16 * kNvlinkRate);
}

TEST_CASE("a full fat tree passes what half of the NICs send, over its over-subscription") {
  for (const bool rails : {false, true}) {
    CHECK(bisection(dgx_node(), fat_tree(2, 1.0, rails), 32) == 16 * 8 * kNicRate);
    FatTree narrow = fat_tree(2, 2.0, rails);
    narrow.radix = 24;  // 16 ports down, 8 up
    CHECK(bisection(dgx_node(), narrow, 32) == 16 * 8 * kNicRate / 2);
  }
  CHECK(bisection(dgx_node(), fat_tree(3), 64) == 32 * 8 * kNicRate);
  FatTree thin_core = fat_tree(3);
  thin_core.core_over_subscription = 3.0;  // 24 leaves of two nodes a pod
  CHECK(bisection(dgx_node(), thin_core, 96) == doctest::Approx(48 * 8 * kNicRate / 3));
}

TEST_CASE("a dragonfly passes the global links between half of its groups") {
  const Dragonfly dragonfly{6, 4, 2, 3, {1e15}, kLinkRate};  // 12 ports, 5 others: 2 rounds
  CHECK(bisection(wide_node(), dragonfly, 48) == 3 * 3 * 2 * kNicRate);
}

TEST_CASE("a torus passes two links for each line of its longest dimension") {
  CHECK(bisection(wide_node(), TorusNetwork{{4, 6, 3}, kLinkRate}, 72) == 2 * 12 * kNicRate);
  CHECK(bisection(wide_node(), TorusNetwork{{2, 2}, kLinkRate}, 4) == 2 * kNicRate);
  const TorusNetwork tofu{{2, 3, 2, 4, 3, 3}, kLinkRate};
  CHECK(bisection(wide_node(), tofu, 432) == 2 * 108 * kNicRate);
}

TEST_CASE("a full mesh passes a link for each pair of nodes of the two halves") {
  CHECK(bisection(wide_node(), FullMesh{kLinkRate}, 10) == 25 * kNicRate);
  CHECK(bisection(wide_node(), FullMesh{kLinkRate}, 7) == 12 * kNicRate);
}

TEST_CASE("two switches pass what the cables between them do") {
  EdgeList list;
  list.switches = {"left", "right"};
  list.edges = {{0, 1, kLinkRate}, {0, 1, kLinkRate}};
  list.attachments = {{0}, {0}, {1}, {1}};
  CHECK(bisection(wide_node(), list, 4) == 2 * kNicRate);
}

TEST_CASE("devices that are not asked do not forward") {
  NodeFabric node = dgx_node(4);
  node.interconnect = Interconnect::all_to_all;
  const Fabric fabric = build_fabric(described(node, NoNetwork{}), 1);
  const std::vector<std::uint32_t> a{0};
  const std::vector<std::uint32_t> b{5, 6};
  CHECK(max_flow(fabric, a, b).value == 2 * kNvlinkRate);
}

TEST_CASE("the members of a node send no more to the rest of a group than the cut between lets") {
  std::mt19937 random(3);
  NodeFabric host_node = dgx_node(4);
  host_node.interconnect = Interconnect::host;
  NodeFabric direct_node = dgx_node(4);
  direct_node.interconnect = Interconnect::all_to_all;
  const std::vector<Network> networks = {fat_tree(2, 3.0),
                                         fat_tree(3),
                                         fat_tree(2, 1.0, true),
                                         Dragonfly{4, 3, 1, 1, {1e10}, kLinkRate},
                                         TorusNetwork{{3, 2, 2}, kLinkRate},
                                         FullMesh{{1e10}}};
  for (const Network& network : networks) {
    for (const NodeFabric& node : {dgx_node(2), dgx_node(16), host_node, direct_node}) {
      const Router router = routed(described(node, network), 12);
      for (int round = 0; round < 4; ++round) {
        const int stride = 1 << std::uniform_int_distribution(0, 4)(random);
        const int size = std::uniform_int_distribution(2, 96 / stride)(random);
        const int ranks = 96 / (stride * size) * stride * size;
        const RankGroups groups{ranks, stride, size};
        const double rate = group_bandwidth(router, groups, TrafficPattern::ring).value;
        std::vector<std::uint32_t> inside;
        std::vector<std::uint32_t> outside;
        for (const int member : groups.members(0)) {
          const bool first_node = member < 8 && (stride * (size - 1) >= 8 || member == 0);
          (first_node ? inside : outside).push_back(static_cast<std::uint32_t>(member));
        }
        CAPTURE(stride);
        CAPTURE(size);
        CHECK(rate <= max_flow(router.fabric(), inside, outside).value * (1 + 1e-9));
      }
    }
  }
}
