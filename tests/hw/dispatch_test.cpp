#include "hw/dispatch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>

#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

constexpr Dispatcher kDispatchers[] = {Dispatcher::allgather, Dispatcher::alltoall,
                                       Dispatcher::deepep, Dispatcher::hybridep};

Dispatch tokens_of(Dispatcher dispatcher, std::int64_t top_k) {
  Dispatch dispatch;
  dispatch.dispatcher = dispatcher;
  dispatch.tokens = 4096;
  dispatch.hidden = 7168;
  dispatch.top_k = top_k;
  return dispatch;
}

constexpr double kTokens = 4096.0 * 7168.0 * 2.0;  // bytes of the tokens of one rank

Cluster h100() {
  return read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/dgx-h100.json"));
}

TEST_CASE("k experts lie on n (1 - (1 - 1/n)^k) ranks") {
  CHECK(hits(4, tokens_of(Dispatcher::deepep, 8)) == doctest::Approx(3.6).epsilon(0.001));
  CHECK(hits(8, tokens_of(Dispatcher::deepep, 8)) == doctest::Approx(5.25).epsilon(0.001));
  CHECK(hits(64, tokens_of(Dispatcher::deepep, 8)) == doctest::Approx(7.58).epsilon(0.001));
  CHECK(hits(1, tokens_of(Dispatcher::deepep, 8)) == 1.0);
  CHECK(hits(64, tokens_of(Dispatcher::deepep, 1)) == doctest::Approx(1.0));
}

TEST_CASE("group-limited routing keeps a token's experts on fewer ranks and nodes") {
  Dispatch dispatch = tokens_of(Dispatcher::deepep, 8);
  const double anywhere = hits(8, dispatch);
  dispatch.expert_groups = 8;
  dispatch.groups_chosen = 4;
  // As many groups as ranks: 4 candidates.
  CHECK(hits(8, dispatch) == doctest::Approx(4.0 * (1.0 - std::pow(0.75, 8))));
  CHECK(hits(8, dispatch) < anywhere);
  // Two nodes of four groups each: neither is missed but by chance 1/70 each.
  const double bins = 2.0 * (1.0 - 1.0 / 70.0);
  CHECK(hits(2, dispatch) == doctest::Approx(bins * (1.0 - std::pow(1.0 - 1.0 / bins, 8))));
  dispatch.groups_chosen = 8;  // all groups: no limit
  CHECK(hits(8, dispatch) == anywhere);
  dispatch.expert_groups = dispatch.groups_chosen = 1;
  CHECK(hits(8, dispatch) == anywhere);
}

TEST_CASE("one rank sends nothing and waits for nobody") {
  const Cluster cluster = h100();
  for (const Dispatcher dispatcher : kDispatchers) {
    CHECK(dispatch_bytes(tokens_of(dispatcher, 8), 1, 1) == DispatchBytes{});
    CHECK(price(cluster, group_shape(cluster, 8, 1, 1), tokens_of(dispatcher, 8)).time().value ==
          0.0);
  }
}

TEST_CASE("without a network nothing passes it, and copies are k or one a rank") {
  const DispatchBytes gathered = dispatch_bytes(tokens_of(Dispatcher::allgather, 8), 8, 8);
  CHECK(gathered.device.value == doctest::Approx(7 * kTokens));
  const DispatchBytes copies = dispatch_bytes(tokens_of(Dispatcher::alltoall, 8), 8, 8);
  CHECK(copies.device.value == doctest::Approx(8 * kTokens * 7 / 8));
  const DispatchBytes once = dispatch_bytes(tokens_of(Dispatcher::deepep, 8), 8, 8);
  CHECK(once.device.value == doctest::Approx(5.2511 * kTokens * 7 / 8).epsilon(1e-4));
  for (const auto& bytes : {gathered, copies, once}) CHECK(bytes.network.value == 0.0);
}

TEST_CASE("a token chosen by one expert is one copy for every dispatcher but the gather") {
  const DispatchBytes copies = dispatch_bytes(tokens_of(Dispatcher::alltoall, 1), 32, 8);
  const DispatchBytes once = dispatch_bytes(tokens_of(Dispatcher::hybridep, 1), 32, 8);
  CHECK(copies.network.value == doctest::Approx(once.network.value));
  CHECK(copies.network.value == doctest::Approx(kTokens * 24 / 32));
}

TEST_CASE("sending once never sends more than k copies, nor more than to all") {
  std::mt19937_64 random(17);
  std::uniform_int_distribution<int> power(0, 6);
  std::uniform_int_distribution<int> chosen(1, 16);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t domain = std::int64_t{1} << power(random);
    const std::int64_t ranks = domain << (power(random) / 2);
    const std::int64_t k = chosen(random);
    const auto total = [&](Dispatcher dispatcher) {
      const DispatchBytes bytes = dispatch_bytes(tokens_of(dispatcher, k), ranks, domain);
      CHECK(bytes.network.value >= 0.0);
      return bytes;
    };
    const DispatchBytes copies = total(Dispatcher::alltoall);
    const DispatchBytes once = total(Dispatcher::deepep);
    const DispatchBytes all = total(Dispatcher::allgather);
    const double slack = 1.0 + 1e-12;
    CHECK(once.network.value <= copies.network.value * slack);
    CHECK(once.network.value <= all.network.value * slack);
    CHECK(once.device.value <= (all.device + all.network).value * slack);
    // A rank's copies go to all ranks alike, so that as many come in as go out.
    CHECK((copies.device + copies.network).value ==
          doctest::Approx(kTokens * static_cast<double>(k * (ranks - 1)) /
                          static_cast<double>(ranks)));
  }
}

TEST_CASE("a dispatcher costs its call, and the slower of its links") {
  Cluster cluster = h100();
  DispatchModel model{{{5e-5}, {}, {}, {300e9}}, {{6e-5}, {}, {}, {200e9}}, 20.0, 1.0, 1.0, {}};
  const auto use = [&cluster](const DispatchModel& changed) {
    DispatchModels models;
    models.models[static_cast<std::size_t>(Dispatcher::deepep)] = changed;
    cluster.dispatch = std::make_shared<const DispatchModels>(models);
  };
  use(model);
  Dispatch dispatch = tokens_of(Dispatcher::deepep, 8);
  const GroupShape in_node = group_shape(cluster, 64, 8, 1);
  const double bytes = dispatch_bytes(dispatch, 8, 8).device.value;
  CollectivePrice cost = price(cluster, in_node, dispatch);
  CHECK(cost.algorithm == "deepep");
  CHECK(cost.time().value == doctest::Approx(5e-5 + bytes / 300e9));
  dispatch.combine = true;
  CHECK(price(cluster, in_node, dispatch).time().value == doctest::Approx(6e-5 + bytes / 200e9));
  const GroupShape across = group_shape(cluster, 64, 32, 1);
  cost = price(cluster, across, dispatch);
  const double sent = dispatch_bytes(dispatch, 32, 8).network.value;
  CHECK(cost.network.value == doctest::Approx(sent / (50e9 * cluster.network.efficiency)));
  model.network_limit = {20e9};
  use(model);
  CHECK(price(cluster, across, dispatch).network.value == doctest::Approx(sent / 20e9));
  const double copies = sent / (static_cast<double>(dispatch.hidden) * 2.0);
  model.network_row = {1e-6};
  use(model);
  CHECK(price(cluster, across, dispatch).network.value == doctest::Approx(copies * 1e-6));
  model.network_row = {1e-9};
  use(model);
  CHECK(price(cluster, across, dispatch).network.value == doctest::Approx(sent / 20e9));
  CHECK(price(cluster, across, dispatch).device.value == 0.0);

  // A copy that is forwarded once it arrived is not hidden: both are paid, or the share that stays.
  const double links = dispatch_bytes(dispatch, 32, 8).device.value / 200e9;
  model.network_beside = 0.25;
  use(model);
  cost = price(cluster, across, dispatch);
  CHECK(cost.network.value == doctest::Approx(sent / 20e9));
  CHECK(cost.device.value == doctest::Approx(0.75 * links));
  model.combine.link_rate = {1e9};  // now the device links are the longer
  use(model);
  cost = price(cluster, across, dispatch);
  CHECK(cost.network.value == doctest::Approx(0.75 * sent / 20e9));
  CHECK(cost.device.value == doctest::Approx(links * 200.0));
}

TEST_CASE(
    "few compute units are the limit where links are fast, and no limit where they are many") {
  const TransferModel model{{}, {1e-7}, {25e9}, {400e9}};
  const Bytes width{2048.0};
  const Bytes bytes{1e9};
  const double rows = bytes / width;
  const double one = rows * (1e-7 + 2048.0 / 25e9);  // of one unit
  CHECK(transfer_time(model, 1.0, rows, width, bytes).value == doctest::Approx(one));
  CHECK(transfer_time(model, 1e4, rows, width, bytes).value == doctest::Approx(1e9 / 400e9));
  CHECK(transfer_time({{}, {}, {}, {400e9}}, 1.0, rows, width, bytes).value == 1e9 / 400e9);
}

TEST_CASE("DeepEP inside a node takes what public tables say") {
  // aiconfigurator's tables of DeepEP v1's normal kernels: fp8 there, bf16 back, any routing.
  struct Row {
    const char* cluster;
    std::int64_t ranks;
    double tokens;
    std::int64_t hidden, top_k;
    double units, dispatch_us, combine_us;
  };
  const Row rows[] = {{"dgx-h100", 8, 4096, 7168, 8, 24, 498.4, 960.6},
                      {"dgx-h100", 8, 16384, 4096, 6, 8, 2470.5, 3925.3},
                      {"dgx-b200", 8, 4096, 7168, 8, 24, 440.1, 756.1},
                      {"dgx-b200", 8, 16384, 7168, 8, 8, 4393.2, 7156.6},
                      {"gb200-nvl72", 4, 4096, 7168, 8, 24, 359.6, 597.2},
                      {"gb200-nvl72", 4, 16384, 4096, 6, 24, 1048.3, 1604.6}};
  for (const Row& row : rows) {
    CAPTURE(row.cluster);
    const Cluster cluster = read_cluster(
        Document::read(std::string(PREQUEL_DATA_DIR "/clusters/") + row.cluster + ".json"));
    const GroupShape group = group_shape(cluster, row.ranks, row.ranks, 1);
    Dispatch dispatch = tokens_of(Dispatcher::deepep, row.top_k);
    dispatch.tokens = row.tokens;
    dispatch.hidden = row.hidden;
    dispatch.precision = Precision::fp8_block;
    CHECK(price(cluster, group, dispatch, row.units).time().value ==
          doctest::Approx(row.dispatch_us * 1e-6).epsilon(0.15));
    dispatch.precision = Precision::bf16;
    dispatch.combine = true;
    CHECK(price(cluster, group, dispatch, row.units).time().value ==
          doctest::Approx(row.combine_us * 1e-6).epsilon(0.15));
  }
}

TEST_CASE("a dispatcher without constants costs the collective of its bytes") {
  Cluster cluster = h100();
  cluster.dispatch = nullptr;
  const GroupShape group = group_shape(cluster, 64, 8, 1);
  const Dispatch dispatch = tokens_of(Dispatcher::alltoall, 8);
  CHECK(price(cluster, group, dispatch).time().value ==
        doctest::Approx(
            collective_time(cluster, CollectiveOp::all_to_all, group, {8 * kTokens}).value));
  CHECK(price(cluster, group, tokens_of(Dispatcher::allgather, 8)).time().value ==
        doctest::Approx(
            collective_time(cluster, CollectiveOp::all_gather, group, {8 * kTokens}).value));
  const GroupShape across = group_shape(cluster, 64, 16, 1);
  CHECK(price(cluster, across, tokens_of(Dispatcher::allgather, 8)).time().value ==
        doctest::Approx(
            collective_time(cluster, CollectiveOp::all_gather, across, {16 * kTokens}).value));
}

}  // namespace
}  // namespace prequel
