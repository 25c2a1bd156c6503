#include "hw/cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

constexpr double kRate = 1e10;  // of a ring that fills nodes

/// 8 devices a node, simple prices; eight NICs let a group that fills nodes have kRate.
Cluster simple_cluster() {
  Cluster cluster = read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/dgx-a100.json"));
  cluster.node = {};
  cluster.node.ring = {{1e-6}, {1e-7}, {1e11}, {}, {}};
  cluster.network = {kRate / (8 * 25e9), {{1e-5}, {1e-6}, {}, {}, {}}, 0, false};
  return cluster;
}

GroupShape eight_a_node(const Cluster& cluster, std::int64_t nodes) {
  return group_shape(cluster, 8 * nodes, 8 * nodes, 1);
}

CollectivePrice of_nodes(const Cluster& cluster, CollectiveOp op, std::int64_t nodes, double bytes,
                         BytesPerSecond limit = {}) {
  return price(cluster, op, eight_a_node(cluster, nodes), {bytes}, limit);
}

/// Trays of 4, 18 of them in a domain.
Cluster racks() {
  Cluster cluster = simple_cluster();
  FabricDescription fabric = cluster.fabric->description();
  fabric.node.devices = 4;
  fabric.node.nics = 4;
  cluster.devices_per_node = 4;
  cluster.fabric = std::make_shared<const GroupRates>(fabric, 18);
  return cluster;
}

TEST_CASE("a large all-reduce across nodes runs in one ring at the network's rate") {
  const auto price = of_nodes(simple_cluster(), CollectiveOp::all_reduce, 4, 3.2e10);
  CHECK(price.algorithm == "ring");
  CHECK(price.sent.value == doctest::Approx(3.2e10 * 2.0 * 31.0 / 32.0));
  CHECK(price.network.value == doctest::Approx(price.sent.value / kRate));
  CHECK(price.latency.value == doctest::Approx(1e-5 + 6 * 1e-6 + 56 * 1e-7));
}

TEST_CASE("a small all-reduce goes up and down a tree of nodes, and through the nodes") {
  const auto price = of_nodes(simple_cluster(), CollectiveOp::all_reduce, 100, 8e3);
  CHECK(price.algorithm == "tree over blocks");
  const double in_node = 2.0 * (1e-6 + 7e-7 + 8e3 * 7.0 / 8.0 / 1e11);
  CHECK(price.time().value == doctest::Approx(in_node + 1e-5 + 2 * 7 * 1e-6 + 2 * 8e3 / kRate));
}

TEST_CASE("all-gather and reduce-scatter step once a node, not once a rank") {
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    const auto price = of_nodes(simple_cluster(), op, 100, 8e3);
    CHECK(price.algorithm == "hierarchical");
    CHECK(price.latency.value == doctest::Approx(1e-5 + 99 * 1e-6 + 1e-6 + 7 * 1e-7));
    CHECK(price.network.value == doctest::Approx(8e3 * 799.0 / 800.0 / kRate));
  }
}

TEST_CASE("with parallel aggregated trees their latency grows with the logarithm of the nodes") {
  Cluster cluster = simple_cluster();
  cluster.network.pat = true;
  const auto price = of_nodes(cluster, CollectiveOp::all_gather, 100, 8e3);
  CHECK(price.latency.value == doctest::Approx(1e-5 + 7 * 1e-6 + 1e-6 + 7 * 1e-7));
  const GroupShape alone_in_nodes = group_shape(cluster, 800, 100, 8);
  CHECK(prequel::price(cluster, CollectiveOp::all_gather, alone_in_nodes, {8e3}).algorithm ==
        "PAT");
}

TEST_CASE("a switch that reduces lets each node send its part of an all-reduce once") {
  Cluster cluster = simple_cluster();
  cluster.node.nvls = LinkModel{{2e-5}, {}, {2e11}, {}, {}};
  cluster.node.nvls_min_ranks = 8;
  const auto price = of_nodes(cluster, CollectiveOp::all_reduce, 2, 1e10);
  CHECK(price.algorithm == "in-switch tree");
  CHECK(price.network.value == doctest::Approx(1e10 / kRate));  // 2 (N-1)/N of the message
  CHECK(price.device.value < 1e-4 * price.network.value);
  CHECK(price.latency.value == doctest::Approx(1e-5 + 2 * 1e-6 + 2e-5));
}

TEST_CASE("of an all-to-all only what leaves the node passes its NICs") {
  const Cluster cluster = simple_cluster();
  for (const int nodes : {2, 8, 64}) {
    const auto price = of_nodes(cluster, CollectiveOp::all_to_all, nodes, 1e9);
    const double outside = 1e9 * (nodes - 1.0) / nodes;
    CHECK(price.network.value == doctest::Approx(outside / (kRate / 8)));
  }
}

TEST_CASE("a network of few rings does not use every NIC of a node") {
  Cluster cluster = simple_cluster();
  cluster.network.rings = 2;
  const auto price = of_nodes(cluster, CollectiveOp::all_gather, 4, 1e9);
  CHECK(price.network.value == doctest::Approx(1e9 * 31.0 / 32.0 / (kRate / 4)));
}

TEST_CASE("a ring over domains crosses a NIC only at their borders") {
  const Cluster cluster = racks();
  const GroupShape inside = group_shape(cluster, 512, 64, 1);
  CHECK(inside.ranks_in_node == 4);
  CHECK(inside.ranks_in_domain == 64);
  CHECK_FALSE(inside.crosses_network());
  const CollectivePrice price = prequel::price(cluster, CollectiveOp::all_gather, inside, {1e9});
  CHECK(price.network.value == 0.0);
  CHECK(price.device.value == doctest::Approx(1e9 * 63.0 / 64.0 / 1e11));

  // Every 16th rank: 4 of them in each domain of 64, so a ring of each NIC that they have.
  const GroupShape across = group_shape(cluster, 512, 32, 16);
  CHECK(across.ranks_in_node == 1);
  CHECK(across.ranks_in_domain == 4);
  CHECK(network_rate(cluster, across, TrafficPattern::ring).value ==
        doctest::Approx(4 * 25e9 * cluster.network.efficiency));
}

TEST_CASE("a job spreads evenly over domains, or fills them one by one") {
  CHECK(nodes_in_domain(128, 18) == 16);
  CHECK(nodes_in_domain(576, 18) == 18);
  CHECK(nodes_in_domain(36, 18) == 18);
  CHECK(nodes_in_domain(20, 18) == 10);
  CHECK(nodes_in_domain(5, 18) == 5);
  CHECK(nodes_in_domain(19, 18) == 18);
  CHECK(nodes_in_domain(7, 1) == 1);
}

TEST_CASE("a hop inside a node or a domain does not pay for the network") {
  const Cluster cluster = simple_cluster();
  const GroupShape pipeline = group_shape(cluster, 16, 4, 4);  // two stages a node
  const CollectivePrice inside = price_hop(cluster, pipeline, 0, 4, {1e8});
  const CollectivePrice across = price_hop(cluster, pipeline, 4, 8, {1e8});
  CHECK(inside.device.value == doctest::Approx(1e8 / 1e11));
  CHECK(inside.network.value == 0.0);
  CHECK(across.network.value == doctest::Approx(1e8 / (kRate / 8)));
  CHECK(across.time().value ==
        price(cluster, CollectiveOp::send_recv, pipeline, {1e8}).time().value);
  const Cluster domains = racks();
  const GroupShape stages = group_shape(domains, 512, 4, 128);
  CHECK(price_hop(domains, stages, 128, 256, {1e8}).network.value > 0.0);
  CHECK(price_hop(domains, stages, 0, 63, {1e8}).network.value == 0.0);
}

TEST_CASE("an all-reduce over the 72 GPUs of a rack is reduced in its switches") {
  // nccl-tests on a GB200 NVL72 (coreweave/nccl-tests pull 43): bytes, us.
  const Cluster rack = read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/gb200-nvl72.json"));
  const GroupShape group = lone_group_shape(rack, 72, 18);
  for (const auto& [bytes, time] :
       {std::pair{536870912.0, 1806.7}, {2147483648.0, 5589.1}, {8589934592.0, 20299.0}}) {
    const CollectivePrice price = prequel::price(rack, CollectiveOp::all_reduce, group, {bytes});
    CHECK(price.algorithm == "in-switch");
    CHECK(price.time().value == doctest::Approx(time * 1e-6).epsilon(0.05));
  }
}

TEST_CASE("two nodes with in-switch trees send half of what a ring does") {
  // nccl-tests over 16 ranks of two nodes, 8 GB: 441 GB/s of bus bandwidth on H100, 690 on B200
  // (coreweave/nccl-tests pull 92).
  for (const auto& [name, bus] : {std::pair{"dgx-h100", 440.6}, {"dgx-b200", 690.1}}) {
    const Cluster cluster =
        read_cluster(Document::read(std::string(PREQUEL_DATA_DIR "/clusters/") + name + ".json"));
    const CollectivePrice price = prequel::price(cluster, CollectiveOp::all_reduce,
                                                 lone_group_shape(cluster, 16, 2), {8589934592.0});
    CHECK(price.algorithm == "in-switch tree");
    CHECK(8.589934592 * 2.0 * 15.0 / 16.0 / price.time().value ==
          doctest::Approx(bus).epsilon(0.15));
  }
}

TEST_CASE("collectives that are faster than the links of a node contradict them") {
  Cluster cluster = read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/dgx-h100.json"));
  CHECK(contradiction(cluster).empty());
  FabricDescription fabric = cluster.fabric->description();
  fabric.node.interconnect = Interconnect::host;
  fabric.node.device_link = {32e9};
  cluster.fabric = std::make_shared<const GroupRates>(fabric);
  CHECK(contradiction(cluster) ==
        "dgx-h100: collectives inside a node run at 396 GB/s (node.collectives.bandwidth), but its "
        "interconnect carries 32 GB/s (fabric.node.interconnect.bandwidth); change both");
}

TEST_CASE("a latency that an older file states of a link is said not to count") {
  std::string text = read_file(PREQUEL_DATA_DIR "/clusters/dgx-h100.json");
  CHECK(unused_numbers(read_cluster(Document::parse("cluster.json", text))).empty());
  const std::string link = "\"bandwidth\": \"64 GB/s\"";
  REQUIRE(text.find(link) != std::string::npos);
  text.replace(text.find(link), link.size(), link + ", \"latency_s\": 1e-6");
  CHECK(unused_numbers(read_cluster(Document::parse("cluster.json", text)))
            .starts_with("dgx-h100: latency_s of the fabric's links is not used, "));
}

TEST_CASE("the pipeline of a network takes its time to fill") {
  Cluster cluster = simple_cluster();
  const double before = of_nodes(cluster, CollectiveOp::all_gather, 2, 1.6e9).time().value;
  cluster.network.link.fill = {4e-6};
  const double transfer = 1.6e9 * 15.0 / 16.0 / kRate;
  CHECK(of_nodes(cluster, CollectiveOp::all_gather, 2, 1.6e9).time().value ==
        doctest::Approx(before + std::sqrt(4e-6 * transfer)));
}

TEST_CASE("a stack's limit on what a rank sends slows ring and tree") {
  const Cluster cluster = simple_cluster();
  for (const double bytes : {1e6, 1e10}) {
    CHECK(of_nodes(cluster, CollectiveOp::all_reduce, 64, bytes, {1e9}).time() >
          of_nodes(cluster, CollectiveOp::all_reduce, 64, bytes).time());
  }
}

TEST_CASE("a collective across nodes never gets cheaper with bytes, latency or less bandwidth") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  for (int i = 0; i < 2000; ++i) {
    Cluster cluster = simple_cluster();
    cluster.network = {0.05 + 0.95 * any(random),
                       {{1e-4 * any(random)}, {1e-5 * any(random)}, {}, {1e-5 * any(random)}, {}},
                       0,
                       any(random) < 0.5};
    if (any(random) < 0.5) cluster.node.nvls = LinkModel{{2e-5}, {}, {2e11}, {}, {}};
    const auto in_node = std::int64_t{1} << static_cast<int>(4.0 * any(random));
    const std::int64_t nodes = 2 + static_cast<std::int64_t>(60.0 * any(random));
    const GroupShape group = lone_group_shape(cluster, in_node * nodes, nodes);
    const auto op = static_cast<CollectiveOp>(6.0 * any(random));
    const Bytes bytes{std::pow(10.0, 10.0 * any(random))};
    const Seconds base = collective_time(cluster, op, group, bytes);
    CHECK(base <= collective_time(cluster, op, group, bytes * 1.5));
    Cluster slower = cluster;
    slower.network.efficiency *= 0.7;
    CHECK(base <= collective_time(slower, op, group, bytes));
    cluster.network.link.step += {1e-6};
    CHECK(base <= collective_time(cluster, op, group, bytes));
  }
}

}  // namespace
}  // namespace prequel
