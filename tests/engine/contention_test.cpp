#include "sim/engine/contention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace prequel {
namespace {

/// Tasks without order, each on a stream and with a price of its own.
TaskGraph independent(std::uint32_t tasks) {
  GraphBuilder builder(tasks);
  for (std::uint32_t task = 0; task < tasks; ++task) builder.run(task, task, {});
  return builder.build();
}

/// Flows over whole links, all present from the beginning.
std::vector<double> flow_times(const std::vector<double>& capacities,
                               const std::vector<std::vector<LinkId>>& links,
                               const std::vector<double>& bytes,
                               std::vector<double> latencies = {}) {
  Routes routes;
  std::vector<Transfer> transfers;
  for (std::size_t flow = 0; flow < links.size(); ++flow) {
    std::vector<LinkShare> parts;
    for (const LinkId link : links[flow]) parts.push_back({link, 1.0});
    transfers.push_back({routes.add(parts), bytes[flow]});
  }
  latencies.resize(links.size());
  Machine machine;
  machine.link_capacities = capacities;
  machine.routes = &routes;
  machine.transfers = transfers;
  return run_contended(independent(static_cast<std::uint32_t>(links.size())), latencies, machine)
      .finish;
}

/// A kernel of `compute` seconds beside a collective of `communication` seconds that starts
/// `later`, on one device.
EventTimes overlapped(double compute, double communication, double later, double loss) {
  GraphBuilder builder(3);
  builder.run(0, 0, {});
  const auto delay = builder.run(2, 2, {});
  builder.run(1, 1, {}, delay);
  const std::vector<double> durations{compute, communication, later};
  const std::vector<double> losses{loss};
  const std::vector<StreamPlace> streams{
      {0, StreamUse::computes}, {0, StreamUse::communicates}, StreamPlace{}};
  Machine machine;
  machine.streams = streams;
  machine.overlap_loss = losses;
  return run_contended(builder.build(), durations, machine);
}

TEST_CASE("a flow alone takes its bytes over the slowest link, after its latency") {
  CHECK(flow_times({10.0, 5.0}, {{0, 1}}, {100.0}, {3.0}) == std::vector{23.0});
}

TEST_CASE("a flow speeds up when another on its link ends") {
  // Half each until 10; then the longer one has 50 left at full rate.
  CHECK(flow_times({10.0}, {{0}, {0}}, {50.0, 100.0}) == std::vector{10.0, 15.0});
}

TEST_CASE("a flow slows down when another begins on its link") {
  // Alone until 4, 60 left; half each until 16, when it ends; the other has 40 left.
  CHECK(flow_times({10.0}, {{0}, {0}}, {100.0, 100.0}, {0.0, 4.0}) == std::vector{16.0, 20.0});
}

TEST_CASE("flows of one route that begin at different times keep their order") {
  Routes routes;
  const RouteId route = routes.add(std::vector<LinkShare>{{0, 1.0}});
  const std::vector<Transfer> transfers{{route, 100.0}, {route, 30.0}, {route, 10.0}};
  const std::vector<double> capacities{10.0};
  Machine machine;
  machine.link_capacities = capacities;
  machine.routes = &routes;
  machine.transfers = transfers;
  // The second ends at 4 + 2·3, having met the first only; the third at 10 + 2·1.
  CHECK(run_contended(independent(3), std::vector{0.0, 4.0, 10.0}, machine).finish ==
        std::vector{14.0, 10.0, 12.0});
}

TEST_CASE("a flow without links ends at once, one of no bytes after its latency") {
  CHECK(flow_times({1.0}, {{}, {0}}, {100.0, 0.0}, {2.0, 3.0}) == std::vector{2.0, 3.0});
}

TEST_CASE("tasks that send over a dead link, and those after them, are reported as stuck") {
  Routes routes;
  const std::vector<Transfer> transfers{{routes.add(std::vector<LinkShare>{{0, 1.0}}), 1.0}, {}};
  const std::vector<double> capacities{0.0};
  Machine machine;
  machine.link_capacities = capacities;
  machine.routes = &routes;
  machine.transfers = transfers;
  GraphBuilder builder(2);
  builder.run(1, 1, {});
  const auto sent = builder.run(0, 0, {});
  builder.run(1, 1, {}, sent);
  CHECK(run_contended(builder.build(), std::vector{1.0, 1.0}, machine).stuck ==
        std::vector<TaskId>{1, 2});
}

TEST_CASE("tasks that wait for one another are reported as stuck") {
  const TaskGraph circle({{}, {}, {}}, std::vector<TaskOrder>{{1, 0}, {0, 1}, {0, 2}});
  CHECK(run_contended(circle, std::vector{1.0}, {}).stuck == std::vector<TaskId>{0, 1, 2});
}

TEST_CASE("a kernel and a collective that overlap both lose a share of the shorter one") {
  const EventTimes longer_kernel = overlapped(10.0, 4.0, 2.0, 0.5);
  CHECK(longer_kernel.finish == std::vector{12.0, 2.0, 8.0});
  const EventTimes longer_collective = overlapped(4.0, 10.0, 0.0, 0.5);
  CHECK(longer_collective.finish == std::vector{6.0, 0.0, 12.0});
  CHECK(overlapped(10.0, 4.0, 2.0, 0.0).finish == std::vector{10.0, 2.0, 6.0});
}

TEST_CASE("a kernel is slowed for as long as its device sends") {
  Routes routes;
  const std::vector<Transfer> transfers{{}, {routes.add(std::vector<LinkShare>{{0, 1.0}}), 40.0}};
  const std::vector<double> capacities{10.0};
  const std::vector<double> losses{0.25};
  const std::vector<StreamPlace> streams{{0, StreamUse::computes}, {0, StreamUse::communicates}};
  Machine machine{capacities, &routes, transfers, streams, losses};
  // 4 s of sending, in which the kernel does 3.2 s of its 8.
  CHECK(run_contended(independent(2), std::vector{8.0, 0.0}, machine).finish[0] ==
        doctest::Approx(8.8).epsilon(1e-12));
}

TEST_CASE("what flows deliver is what links carry: the last ends when all bytes have passed") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(1.0, 10.0);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> bytes(20);
    double sum = 0;
    for (double& each : bytes) sum += each = uniform(random);
    const auto ends = flow_times({3.0}, std::vector(20, std::vector<LinkId>{0}), bytes);
    CHECK(*std::max_element(ends.begin(), ends.end()) == doctest::Approx(sum / 3.0));
  }
}

}  // namespace
}  // namespace prequel
