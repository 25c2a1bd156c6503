#include "hw/fabric/description.hpp"

#include <doctest/doctest.h>

#include <map>

#include "hw/base/json_cursor.hpp"
#include "tests/error_text.hpp"
#include "tests/hw/fabric/fabrics.hpp"

using namespace prequel;

namespace {

FabricDescription read_described(const std::string& text) {
  const Document document = Document::parse("cluster.json", text);
  FabricDescription description = read_fabric(document.root());
  document.finish();
  return description;
}

const std::string kNode = R"("node": {"devices": 8,
  "interconnect": {"kind": "nvswitch", "bandwidth": "300 GB/s"},
  "nics": {"count": 4, "bandwidth": "200 Gbit/s", "efficiency": 0.8},
  "pcie": {"bandwidth": "32 GB/s"}})";
const std::string kLink = R"("bandwidth": "25 GB/s")";

std::string with_network(const std::string& network) {
  return "{" + kNode + ", \"network\": {" + network + "}}";
}

/// How many cables of each class a fabric has.
std::map<LinkClass, int> cables(const Fabric& fabric) {
  std::map<LinkClass, int> counts;
  for (std::size_t i = 0; i < fabric.links().size(); i += 2) {
    ++counts[fabric.links()[i].link_class];
  }
  return counts;
}

}  // namespace

TEST_CASE("a node's efficiency is part of its NICs' rate") {
  const FabricDescription description = read_described(with_network(R"("kind": "none")"));
  CHECK(description.node.devices == 8);
  CHECK(description.node.nic.value == doctest::Approx(20e9));
  CHECK(build_fabric(description, 1).links().size() == 2 * (8 + 8));
}

TEST_CASE("every kind of network is read and built") {
  const auto counts = [](const std::string& network, int nodes) {
    return cables(build_fabric(read_described(with_network(network)), nodes));
  };
  auto tree = counts(R"("kind": "fat-tree", "levels": 2, "radix": 16, "rail_optimized": false,
                        "over_subscription": 1.0, )" +
                         kLink,
                     8);
  CHECK(tree[LinkClass::nvlink] == 64);
  CHECK(tree[LinkClass::pcie] == 64);
  CHECK(tree[LinkClass::nic] == 32);
  CHECK(tree[LinkClass::spine] == 4 * 8);  // two nodes a leaf
  CHECK(tree.count(LinkClass::core) == 0);
  tree = counts(
      R"("kind": "fat-tree", "levels": 3, "radix": 8, "core_over_subscription": 1, )" + kLink, 8);
  CHECK(tree[LinkClass::spine] == 8 * 4);  // one node a leaf, four leaves a pod
  CHECK(tree[LinkClass::core] == 2 * 4 * 4);

  auto dragonfly = counts(R"("kind": "dragonfly", "groups": 3, "routers": 4,
    "nodes_per_router": 1, "global_links": 1, "local": {)" +
                              kLink + R"(}, "global": {)" + kLink + "}",
                          12);
  CHECK(dragonfly[LinkClass::local] == 3 * 6);
  CHECK(dragonfly[LinkClass::global] == 3 * 2);

  CHECK(counts(R"("kind": "torus", "dimensions": [4, 3, 2], )" + kLink, 24)[LinkClass::torus] ==
        24 + 24 + 12);
  CHECK(counts(R"("kind": "torus", "dimensions": [4, 3, 2], )" + kLink, 8)[LinkClass::torus] ==
        8 + 4);
  CHECK(counts(R"("kind": "full-mesh", )" + kLink, 5)[LinkClass::mesh] == 10);
  auto edges = counts(R"("kind": "edges", "switches": ["left", "right"],
    "edges": [{"between": ["left", "right"], )" +
                          kLink + R"(}],
    "attachments": ["left", ["left", "left", "right", "right"]])",
                      2);
  CHECK(edges[LinkClass::cable] == 1);
  CHECK(edges[LinkClass::nic] == 8);
}

TEST_CASE("a network that cannot hold the nodes says how many it can") {
  const auto refused = [](const std::string& network, int nodes) {
    return error_text([&] { (void)build_fabric(read_described(with_network(network)), nodes); });
  };
  CHECK(refused(R"("kind": "none")", 2) ==
        "fabric: the cluster has no network, but 2 nodes are asked for");
  CHECK(refused(R"("kind": "fat-tree", "levels": 2, "radix": 40, )" + kLink, 201) ==
        "fabric: a fat tree of 2 levels of 40-port switches holds 200 nodes at most, but 201 are "
        "asked for");
  CHECK(refused(R"("kind": "torus", "dimensions": [4, 3], )" + kLink, 13) ==
        "fabric: a torus of 4 x 3 holds 12 nodes, but 13 are asked for");
  CHECK(refused(R"("kind": "full-mesh", )" + kLink, 2000) ==
        "fabric: a full mesh holds 1024 nodes at most, but 2000 are asked for");
  CHECK(refused(R"("kind": "edges", "switches": ["a"], "edges": [], "attachments": ["a"])", 2) ==
        "fabric: \"attachments\" names 1 nodes, but 2 are asked for");
}

TEST_CASE("what cannot be is named with its place") {
  const auto problem = [](const std::string& text) {
    return error_text([&] { (void)read_described(text); });
  };
  CHECK(problem(with_network(R"("kind": "fat-tre", )" + kLink)) ==
        "cluster.json: /network/kind: expected \"none\", \"fat-tree\", \"dragonfly\", \"torus\", "
        "\"full-mesh\" or \"edges\", got \"fat-tre\" (did you mean \"fat-tree\"?)\n"
        "cluster.json: /network/bandwidth: unknown key; expected \"kind\"");
  CHECK(problem(with_network(R"("kind": "full-mesh", "latency_s": -1e-6, )" + kLink))
            .starts_with("cluster.json: /network/latency_s: expected a number"));
  CHECK(problem(R"({"node": {"devices": 8, "interconnect": {"kind": "none"}},
                    "network": {"kind": "none"}})") ==
        "cluster.json: /node/interconnect/kind: \"none\" joins no devices; expected \"nvswitch\", "
        "\"all-to-all\" or \"host\"");
  CHECK(problem(with_network(R"("kind": "dragonfly", "groups": 10, "routers": 4,
    "nodes_per_router": 1, "global_links": 2, "local": {)" +
                             kLink + R"(}, "global": {)" + kLink + "}")) ==
        "cluster.json: /network/groups: routers x global_links = 8 links of a group join at most 9 "
        "groups, got 10");
  CHECK(problem(with_network(R"("kind": "edges", "switches": ["leaf0"], "edges": [
    {"between": ["leaf0", "leaf0"], )" +
                             kLink + R"(}], "attachments": ["leaf1", ["leaf0"]])")) ==
        "cluster.json: /network/edges/0/between: expected the names of two different switches\n"
        "cluster.json: /network/attachments/0: no switch is named \"leaf1\" (did you mean "
        "\"leaf0\"?)\n"
        "cluster.json: /network/attachments/1: expected the switch of each of the node's 4 NICs");
}
