#include "hw/collectives/algorithms.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "hw/base/errors.hpp"

namespace prequel {
namespace {

constexpr CollectiveOp kOps[] = {CollectiveOp::all_reduce,     CollectiveOp::all_gather,
                                 CollectiveOp::reduce_scatter, CollectiveOp::all_to_all,
                                 CollectiveOp::broadcast,      CollectiveOp::send_recv};

CollectiveModel ring(LinkModel link) {
  CollectiveModel model;
  model.ring = link;
  return model;
}

double time(const CollectiveModel& model, CollectiveOp op, int ranks, double bytes) {
  return cheapest(op, Levels{ranks, ranks, &model, {}, false}, {bytes}).time().value;
}

TEST_CASE("a collective of one rank costs nothing") {
  for (const CollectiveOp op : kOps)
    CHECK(time(ring({{1e-5}, {1e-6}, {1e11}, {1e-5}, {}}), op, 1, 1e9) == 0.0);
}

TEST_CASE("a ring all-reduce sends 2(n-1)/n of the buffer in 2(n-1) steps") {
  CHECK(time(ring({{0.0}, {1e-6}, {1e11}, {0.0}, {}}), CollectiveOp::all_reduce, 8, 1e9) ==
        doctest::Approx(14e-6 + 2.0 * 7 / 8 * 1e9 / 1e11));
}

TEST_CASE("a ring all-reduce is a reduce-scatter and an all-gather") {
  const CollectiveModel model = ring({{0.0}, {2e-6}, {5e10}, {0.0}, {}});
  for (int ranks = 2; ranks <= 64; ++ranks) {
    CHECK(time(model, CollectiveOp::all_reduce, ranks, 3e8) ==
          doctest::Approx(time(model, CollectiveOp::reduce_scatter, ranks, 3e8) +
                          time(model, CollectiveOp::all_gather, ranks, 3e8)));
  }
}

TEST_CASE("filling the pipeline costs the root of fill time and transfer time") {
  CHECK(time(ring({{0.0}, {0.0}, {1e9}, {4.0}, {}}), CollectiveOp::send_recv, 2, 1e9) ==
        doctest::Approx(1.0 + 2.0));
}

TEST_CASE("a rank copies the part that it keeps at the local rate") {
  const CollectiveModel model = ring({{0.0}, {0.0}, {2e11}, {0.0}, {8e11}});
  CHECK(time(model, CollectiveOp::all_gather, 2, 1e9) ==
        doctest::Approx(0.5e9 / 2e11 + 0.5e9 / 8e11));
  CHECK(time(model, CollectiveOp::all_reduce, 8, 1e9) ==
        doctest::Approx(1.75e9 / 2e11 + 0.125e9 / 8e11));
  CHECK(time(model, CollectiveOp::send_recv, 2, 1e9) == doctest::Approx(1e9 / 2e11));
}

TEST_CASE("the narrowest override counts") {
  CollectiveModel model = ring({{1.0}, {0.0}, {1e30}, {0.0}, {}});
  model.overrides = {{CollectiveOp::all_gather, 4, {{3.0}, {0.0}, {1e30}, {0.0}, {}}},
                     {CollectiveOp::all_gather, 0, {{2.0}, {0.0}, {1e30}, {0.0}, {}}}};
  CHECK(time(model, CollectiveOp::all_gather, 4, 1.0) == doctest::Approx(3.0));
  CHECK(time(model, CollectiveOp::all_gather, 8, 1.0) == doctest::Approx(2.0));
  CHECK(time(model, CollectiveOp::all_reduce, 4, 1.0) == doctest::Approx(1.0));
}

TEST_CASE("an all-reduce takes the cheapest algorithm that is there") {
  CollectiveModel model = ring({{0.0}, {1e-6}, {1e11}, {0.0}, {}});
  model.nvls = LinkModel{{2e-5}, {0.0}, {2e11}, {0.0}, {}};
  model.nvls_min_ranks = 8;
  model.tree = LinkModel{{0.0}, {1e-6}, {9e10}, {0.0}, {}};
  const double wire = 2.0 * 7 / 8 * 1e9;
  CHECK(time(model, CollectiveOp::all_reduce, 8, 1e9) == doctest::Approx(2e-5 + wire / 2e11));
  CHECK(time(model, CollectiveOp::all_reduce, 4, 1e9) == doctest::Approx(6e-6 + 1.5e9 / 1e11));
  CHECK(time(model, CollectiveOp::all_reduce, 8, 0.0) == doctest::Approx(6e-6));
  CHECK(time(model, CollectiveOp::reduce_scatter, 8, 0.0) == doctest::Approx(7e-6));
}

TEST_CASE("more bytes, ranks or latency, or less bandwidth, never make a ring faster") {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::uniform_int_distribution<int> ranks(2, 256);
  for (int i = 0; i < 1000; ++i) {
    const LinkModel link{{unit(random) * 1e-5},
                         {unit(random) * 1e-6},
                         {1e11 * (0.1 + unit(random))},
                         {unit(random) * 1e-5},
                         {}};
    LinkModel slower = link;
    slower.latency += {unit(random) * 1e-6};
    slower.step += {unit(random) * 1e-6};
    slower.bandwidth = slower.bandwidth * (1.0 - 0.5 * unit(random));
    const int n = ranks(random);
    const double bytes = unit(random) * 1e9;
    for (const CollectiveOp op : kOps) {
      const double base = time(ring(link), op, n, bytes);
      CHECK(time(ring(slower), op, n, bytes) >= base);
      CHECK(time(ring(link), op, n, bytes * 1.5) >= base);
      CHECK(time(ring(link), op, n + 3, bytes) >= base);
    }
  }
}

TEST_CASE("a model is read from JSON with its overrides and algorithms") {
  const Document document = Document::parse("c.json", R"({
    "latency_s": 8e-6, "step_s": 1e-6, "bandwidth": "230 GB/s", "fill_s": 3e-5,
    "overrides": [{"op": "all_gather", "ranks": 2, "latency_s": 1e-6, "bandwidth": "100 GB/s"}],
    "nvls": {"min_ranks": 8, "latency_s": 15e-6, "bandwidth": "518 GB/s"}})");
  const CollectiveModel model = read_collectives(document.root());
  document.finish();
  CHECK(model.ring.bandwidth.value == doctest::Approx(230e9));
  CHECK(model.ring.fill.value == doctest::Approx(3e-5));
  REQUIRE(model.overrides.size() == 1);
  CHECK(model.overrides[0].ranks == 2);
  CHECK(model.nvls_min_ranks == 8);
  CHECK_FALSE(model.tree);
}

TEST_CASE("names of operations go both ways") {
  for (const CollectiveOp op : kOps) CHECK(collective_op(name(op)) == op);
  CHECK_FALSE(collective_op("allreduce"));
}

}  // namespace
}  // namespace prequel
