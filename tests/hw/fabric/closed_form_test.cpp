#include "hw/fabric/closed_form.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "hw/fabric/group_rates.hpp"
#include "tests/hw/fabric/fabrics.hpp"

using namespace prequel;

namespace {

constexpr std::array kPatterns = {TrafficPattern::ring, TrafficPattern::all_to_all,
                                  TrafficPattern::send_next};

NodeFabric node_with(Interconnect interconnect, int nics) {
  NodeFabric node = dgx_node(nics);
  node.interconnect = interconnect;
  return node;
}

/// Checks the closed form against the graph for every pattern and all groups of 2^i ranks that are
/// 2^j apart; returns how many it knew.
int check_all(const FabricDescription& description, int nodes) {
  const Router router = routed(description, nodes);
  const int ranks = nodes * description.node.devices;
  int known = 0;
  for (const TrafficPattern pattern : kPatterns) {
    for (int stride = 1; stride < ranks; stride *= 2) {
      for (int size = 2; ranks % (stride * size) == 0; size *= 2) {
        const RankGroups groups{ranks, stride, size};
        const auto closed = closed_group_bandwidth(description, groups, pattern);
        if (!closed) continue;
        ++known;
        CAPTURE(static_cast<int>(pattern));
        CAPTURE(static_cast<int>(description.node.interconnect));
        CAPTURE(description.node.nics);
        CAPTURE(stride);
        CAPTURE(size);
        CHECK(closed->value ==
              doctest::Approx(group_bandwidth(router, groups, pattern).value).epsilon(1e-9));
      }
    }
  }
  return known;
}

}  // namespace

TEST_CASE("on fat trees the closed form finds what the graph does") {
  FatTree narrow = fat_tree(2, 2.0);
  narrow.radix = 24;
  FatTree thin_core = fat_tree(3, 1.0);
  thin_core.radix = 16;
  thin_core.core_over_subscription = 3.0;
  FatTree rails = fat_tree(2, 1.0, true);
  rails.radix = 16;
  FatTree three_level_rails = fat_tree(3, 1.0, true);
  three_level_rails.radix = 16;
  for (const FatTree& tree : {fat_tree(), narrow, thin_core, rails, three_level_rails}) {
    for (const Interconnect interconnect :
         {Interconnect::nvswitch, Interconnect::all_to_all, Interconnect::host}) {
      for (const int nics : {1, 2, 4, 8}) {
        CAPTURE(tree.radix);
        CHECK(check_all(described(node_with(interconnect, nics), tree), 16) > 40);
      }
    }
  }
}

TEST_CASE("with two NICs a device the closed form finds what the graph does") {
  FatTree rails = fat_tree(2, 1.0, true);
  FatTree plain = fat_tree();
  plain.radix = 64;
  CHECK(check_all(described(dgx_node(16), rails), 16) > 40);
  CHECK(check_all(described(dgx_node(16), plain), 16) > 40);
}

TEST_CASE("on a full mesh the closed form finds what the graph does") {
  for (const int nics : {1, 4, 8, 16}) {
    CHECK(check_all(described(dgx_node(nics), FullMesh{{kNicRate}}), 16) == 3 * 28);
  }
}

TEST_CASE("slower links of any class are seen by the closed form") {
  FatTree tree = fat_tree(3, 1.0);
  tree.radix = 16;
  for (const LinkClass link_class :
       {LinkClass::nvlink, LinkClass::pcie, LinkClass::nic, LinkClass::spine, LinkClass::core}) {
    FabricDescription description = described(dgx_node(4), tree);
    description.link_fraction[static_cast<std::size_t>(link_class)] = 0.01;
    CHECK(check_all(description, 16) > 40);
  }
}

TEST_CASE("random numbers of nodes and degrees: where the closed form speaks it is right") {
  std::mt19937 random(5);
  int known = 0;
  for (int round = 0; round < 200; ++round) {
    FatTree tree = fat_tree(3, 1.0 + round % 3, round % 2 == 0);
    tree.radix = 16 + round % 5 * 4;
    NodeFabric node = dgx_node(1 << std::uniform_int_distribution(0, 3)(random));
    node.pcie = {2e9};
    const FabricDescription description = described(node, tree);
    const auto pick = [&](int most) { return std::uniform_int_distribution(1, most)(random); };
    const int tp = pick(8), cp = pick(2), dp = pick(6), pp = pick(4);
    const int stage = tp * cp * dp, ranks = stage * pp;
    const int nodes = (ranks + 7) / 8;
    const Router router = routed(description, nodes);
    for (const TrafficPattern pattern : kPatterns) {
      for (const RankGroups& groups :
           {RankGroups{ranks, 1, tp}, RankGroups{ranks, tp * cp, dp},
            RankGroups{ranks, tp, cp * dp}, RankGroups{ranks, stage, pp}}) {
        const auto closed = closed_group_bandwidth(description, groups, pattern);
        if (!closed || std::isinf(closed->value)) continue;
        ++known;
        CHECK(closed->value ==
              doctest::Approx(group_bandwidth(router, groups, pattern).value).epsilon(1e-9));
      }
    }
  }
  CHECK(known > 300);
}

TEST_CASE("group rates come from the graph where there is no closed form") {
  const FabricDescription description = described(dgx_node(), TorusNetwork{{4, 4}, {10e9}});
  const GroupRates rates(description);
  const Router router = routed(description, 16);
  for (const int stride : {1, 2, 8, 32}) {
    const RankGroups groups{128, stride, 4};
    const BytesPerSecond expected = group_bandwidth(router, groups, TrafficPattern::ring);
    CHECK(rates.rate(groups, TrafficPattern::ring) == expected);
    CHECK(rates.rate(groups, TrafficPattern::ring) == expected);
  }
}
