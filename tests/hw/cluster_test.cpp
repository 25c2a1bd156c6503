#include "hw/cluster.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

/// 8 devices a node, simple prices.
Cluster simple_cluster() {
  Cluster cluster = read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/dgx-a100.json"));
  cluster.node = {};
  cluster.node.ring = {1e-6, 1e-7, {1e11}, 0.0, {}};
  cluster.network = {1.0, {1e-5}, {1e-6}, {}};
  return cluster;
}

GroupShape eight_a_node(std::int64_t nodes) {
  return {8 * nodes, 8, {1e10}};
}

TEST_CASE("a large all-reduce across nodes runs in one ring at the network's rate") {
  const Seconds time =
      collective_time(simple_cluster(), CollectiveOp::all_reduce, eight_a_node(4), {3.2e10});
  CHECK(time.value == doctest::Approx(1e-5 + 62 * 1e-6 + 3.2e10 * 2.0 * 31.0 / 32.0 / 1e10));
}

TEST_CASE("a small all-reduce goes up and down a tree of nodes, and through the nodes") {
  const Cluster cluster = simple_cluster();
  const Bytes bytes{8e3};
  const Seconds in_node = collective_time(cluster.node, CollectiveOp::reduce_scatter, 8, bytes) +
                          collective_time(cluster.node, CollectiveOp::all_gather, 8, bytes);
  const Seconds time = collective_time(cluster, CollectiveOp::all_reduce, eight_a_node(100), bytes);
  CHECK(time.value == doctest::Approx(in_node.value + 1e-5 + 2 * 7 * 1e-6 + 2 * 8e3 / 1e10));
}

TEST_CASE("all-gather and reduce-scatter have a ring only, as in NCCL") {
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    const Seconds time = collective_time(simple_cluster(), op, eight_a_node(100), {8e3});
    CHECK(time.value == doctest::Approx(1e-5 + 799 * 1e-6 + 8e3 * 799.0 / 800.0 / 1e10));
  }
}

TEST_CASE("the pipeline of a network takes its time to fill") {
  Cluster cluster = simple_cluster();
  const double before =
      collective_time(cluster, CollectiveOp::all_gather, eight_a_node(2), {1.6e9}).value;
  cluster.network.fill = {4e-6};
  const double transfer = 1.6e9 * 15.0 / 16.0 / 1e10;
  CHECK(collective_time(cluster, CollectiveOp::all_gather, eight_a_node(2), {1.6e9}).value ==
        doctest::Approx(before + std::sqrt(4e-6 * transfer)));
}

TEST_CASE("a stack's limit on what a rank sends slows ring and tree") {
  const Cluster cluster = simple_cluster();
  for (const double bytes : {1e6, 1e10}) {
    const Seconds free =
        collective_time(cluster, CollectiveOp::all_reduce, eight_a_node(64), {bytes});
    const Seconds held =
        collective_time(cluster, CollectiveOp::all_reduce, eight_a_node(64), {bytes}, {1e9});
    CHECK(held > free);
  }
}

TEST_CASE("a collective across nodes never gets cheaper with bytes, latency or less bandwidth") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  for (int i = 0; i < 2000; ++i) {
    Cluster cluster = simple_cluster();
    cluster.network = {1.0, {1e-4 * any(random)}, {1e-5 * any(random)}, {1e-5 * any(random)}};
    GroupShape group{
        0, 1 + static_cast<std::int64_t>(8.0 * any(random)), {1e11 * any(random) + 1e8}};
    group.ranks = group.ranks_in_node * (2 + static_cast<std::int64_t>(60.0 * any(random)));
    const auto op = static_cast<CollectiveOp>(6.0 * any(random));
    const Bytes bytes{std::pow(10.0, 10.0 * any(random))};
    const Seconds base = collective_time(cluster, op, group, bytes);
    CHECK(base <= collective_time(cluster, op, group, bytes * 1.5));
    GroupShape slower = group;
    slower.network_rate = group.network_rate * 0.7;
    CHECK(base <= collective_time(cluster, op, slower, bytes));
    cluster.network.step_latency += {1e-6};
    CHECK(base <= collective_time(cluster, op, group, bytes));
  }
}

}  // namespace
}  // namespace prequel
