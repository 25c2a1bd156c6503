#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "calibrate/fit/fit.hpp"
#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/gpu_grid.hpp"
#include "calibrate/measure/session.hpp"
#include "calibrate/readings/measurement_file.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/cluster.hpp"
#include "hw/collectives/algorithms.hpp"
#include "tests/measure/temporary_file.hpp"
#include "tests/measure/told/machine.hpp"

namespace prequel {
namespace {

using told::Machine;
using told::Orders;

Device h100() {
  return read_device(Document::read(PREQUEL_DATA_DIR "/devices/h100-sxm.json"));
}

/// An H100 of which all constants are others than the file's.
Device truth() {
  Device device = h100();
  auto& gemm = std::get<TiledGemm>(device.gemm);
  gemm.efficiency = 0.82;
  gemm.launch = {3.1e-6};
  gemm.tile_overhead = {1.9e-6};
  gemm.memory_fraction = 0.71;
  gemm.wgrad_factor = 1.2;
  // Tiles that no product takes tell nothing: these are as a fit expects them to a few per cent.
  double sign = 1.0;
  for (GemmTile& tile : gemm.tiles) {
    const double usual = 1.0 - 0.07 * std::log2(256.0 * 128.0 / (tile.m * tile.n));
    tile.quality = std::min(1.0, usual) * (1.0 + 0.02 * sign);
    sign = -sign;
  }
  device.gemm_formats[static_cast<std::size_t>(Precision::fp8)] = device.gemm;
  for (StreamModel& model : device.streams) model = {{2.6e-6}, {}, 1.0, 0.78, {}, {}, 0.0, 0.0};
  auto& gelu = device.streams[static_cast<std::size_t>(StreamKind::gelu)];
  gelu = {{3.4e-6}, {2e7}, 1.5, 0.66, {}, {}, 0.0, 0.0};
  device.host_link = {4.4e10};
  device.attention = {{"cudnn", {}, true, {}, {}}};
  for (const double head_dim : {64.0, 128.0}) {
    const AttentionPass forward{0.6, 300.0, {1.2e-5}, 0.3, 0.6, 1.0};
    const AttentionPass backward{0.5, 350.0, {1.6e-5}, 0.3, 0.6, 2.5};
    device.attention[0].head_sizes.push_back({head_dim, head_dim, false, forward, backward});
  }
  return device;
}

double told_time(const Device& device, const Work& work) {
  if (const auto* gemm = std::get_if<Gemm>(&work)) return price(device, *gemm).value;
  if (const auto* stream = std::get_if<Stream>(&work)) return price(device, *stream).value;
  if (const auto* what = std::get_if<FusedAttention>(&work)) {
    return is_quantized(what->precision) ? 1e-4 : price(device, *what, "cudnn").value;
  }
  if (const auto* copy = std::get_if<HostCopy>(&work)) {
    return host_copy_time(device, copy->bytes).value;
  }
  return 1e-5;
}

/// Returns the true value under the name of a fitted constant; 0: nothing to compare with.
double true_value(const Device& device, const std::string& what, const std::string& constant) {
  if (what == "gemm" || what == "gemm fp8") {
    const auto& gemm = std::get<TiledGemm>(device.gemm);
    const std::map<std::string, double> values{{"efficiency", gemm.efficiency},
                                               {"launch_s", gemm.launch.value},
                                               {"tile_overhead_s", gemm.tile_overhead.value},
                                               {"tail", gemm.tail},
                                               {"l2_rate", gemm.l2_rate.value},
                                               {"memory_fraction", gemm.memory_fraction},
                                               {"split_s", gemm.split.value},
                                               {"droop", gemm.droop}};
    const auto found = values.find(constant);
    if (found != values.end()) return found->second;
    for (const GemmTile& tile : gemm.tiles) {
      if (constant == fmt::format("quality of {}x{}", tile.m, tile.n)) return tile.quality;
    }
    return 0.0;
  }
  if (what == "host_link") return device.host_link.value;
  for (const AttentionHeadSize& size : device.attention[0].head_sizes) {
    for (const bool backward : {false, true}) {
      if (what != fmt::format("cudnn {} {}", size.head_dim, backward ? "backward" : "forward")) {
        continue;
      }
      const AttentionPass& pass = backward ? size.backward : size.forward;
      const std::map<std::string, double> values{{"efficiency", pass.efficiency},
                                                 {"saturation_tokens", pass.saturation_tokens},
                                                 {"launch_s", pass.launch.value},
                                                 {"tail", pass.tail},
                                                 {"memory_fraction", pass.memory_fraction}};
      return values.at(constant);
    }
  }
  for (std::size_t i = 0; i < kStreamKinds; ++i) {
    if (what != name(static_cast<StreamKind>(i))) continue;
    const StreamModel& model = device.streams[i];
    if (constant == "launch_s") return model.launch.value;
    if (constant == "memory_fraction") return model.memory_fraction;
    if (model.cached.value > 0.0 && constant == "cached_bytes") return model.cached.value;
    if (model.cached.value > 0.0 && constant == "cached over memory rate") {
      return model.cached_fraction / model.memory_fraction;
    }
  }
  return 0.0;
}

MeasurementFile measured_on(Orders orders) {
  Machine& machine = told::tell(std::move(orders));
  const TemporaryFile file("told_loop.jsonl");
  {
    const auto backend = make_backend("cuda", machine.clock());
    Journal journal(file.path(), false, "{}");
    SessionOptions options{{1e9}, {}, {}};
    options.rule.most = 60;
    (void)run_session(*backend, &journal, options, machine.clock(),
                      [](std::size_t, std::size_t, Seconds) {});
  }
  return read_measurements(file.path());
}

struct Coverage {
  int inside{};
  int constants{};
};

void add_coverage(const FitReport& report, const Device& device, Coverage& coverage) {
  for (const FittedConstant& one : report.constants) {
    const double wanted = true_value(device, report.what, one.name);
    // Intervals of constants that the points say little of hold everything.
    const bool told = one.relative_error < 0.5 && !one.name.starts_with("quality");
    if (wanted == 0.0 || !told) continue;
    const Interval80 interval = interval80(one);
    coverage.inside += interval.low <= wanted && wanted <= interval.high ? 1 : 0;
    ++coverage.constants;
  }
}

/// Four processes of one node that meet as torchrun's do, each with a machine of its own; what the
/// first of them writes.
MeasurementFile collectives_measured(const CollectiveModel& node, double noise) {
  constexpr int kRanks = 4;
  const TemporaryFile file("told_links.jsonl");
  const auto run = [&](int rank) {
    setenv("RANK", std::to_string(rank).c_str(), 1);
    setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    Orders orders;
    orders.devices = kRanks;
    orders.noise = noise;
    orders.seed = static_cast<std::uint32_t>(rank) + 1U;
    orders.cost = [&](const Work& work) {
      const auto* what = std::get_if<CollectiveWork>(&work);
      if (!what) return 1e-4;
      const Levels levels{what->ranks, what->ranks, &node, {}, false};
      return cheapest(what->op, levels, what->bytes).time().value;
    };
    Machine& machine = told::tell(std::move(orders));
    const auto backend = make_backend("nccl", machine.clock());
    std::optional<Journal> journal;
    if (rank == 0) journal.emplace(file.path(), false, "{}");
    SessionOptions options{{1e9}, {}, {}};
    options.rule.most = 30;
    (void)run_session(*backend, journal ? &*journal : nullptr, options, machine.clock(),
                      [](std::size_t, std::size_t, Seconds) {});
    return machine.complaints().empty();
  };
  setenv("WORLD_SIZE", std::to_string(kRanks).c_str(), 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(21000 + getpid() % 20000).c_str(), 1);
  std::vector<pid_t> children;
  for (int rank = 1; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      bool content = false;
      try {
        content = run(rank);
      } catch (const std::exception&) {
        content = false;
      }
      _exit(content ? 0 : 1);
    }
    children.push_back(child);
  }
  CHECK(run(0));
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  return read_measurements(file.path());
}

TEST_CASE("a fit of collectives finds the ring that the library was told") {
  CollectiveModel node;
  node.ring = {{9e-6}, {1.2e-6}, {2.1e11}, {1.4e-5}, {}};
  for (const double noise : {0.0, 0.3}) {
    CAPTURE(noise);
    CollectiveModel fitted;
    const auto reports = fit_collectives(collectives_measured(node, noise).points, {1, ""}, fitted);
    REQUIRE(!reports.empty());
    CHECK(reports.front().what == "ring");
    // The slowest of noisy ranks counts: the measured time lies above the told one. And a fit gives
    // a rank's copy of its own part a time, which was told to be free.
    const double tolerance = noise > 0.0 ? 0.45 : 0.05;
    CHECK(fitted.ring.bandwidth.value == doctest::Approx(2.1e11).epsilon(tolerance));
    CHECK(reports.front().errors.mape < (noise > 0.0 ? 0.2 : 0.03));
  }
}

TEST_CASE("without noise a fit of what was measured finds the constants that the driver was told") {
  const Device device = truth();
  Orders orders;
  orders.cost = [&](const Work& work) { return told_time(device, work); };
  const MeasurementFile file = measured_on(orders);
  Device fitted = h100();
  for (const FitReport& report : all_reports(fit_device(file.points, {1, ""}, fitted))) {
    if (report.what == "grouped_gemm" || report.what.find("fp8") != std::string::npos) continue;
    CAPTURE(report.what);
    CHECK(report.errors.mape < 0.02);
  }
  const auto& gemm = std::get<TiledGemm>(fitted.gemm);
  CHECK(gemm.efficiency == doctest::Approx(0.82).epsilon(0.03));
  CHECK(gemm.wgrad_factor == doctest::Approx(1.2).epsilon(0.02));
  CHECK(fitted.host_link.value == doctest::Approx(4.4e10).epsilon(0.01));
}

TEST_CASE(
    "with 30 % of noise and a drifting clock, intervals of 80 % hold the truth 8 times in 10") {
  const Device device = truth();
  Coverage coverage;
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    Orders orders;
    orders.noise = 0.3;
    orders.seed = seed;
    orders.clock = [](double busy) { return 1.0 + 0.06 * std::sin(busy / 3.0); };
    orders.cost = [&](const Work& work) { return told_time(device, work); };
    Device fitted = h100();
    for (const FitReport& report :
         all_reports(fit_device(measured_on(orders).points, {1, ""}, fitted))) {
      add_coverage(report, device, coverage);
    }
  }
  CAPTURE(coverage.inside);
  CAPTURE(coverage.constants);
  CHECK(coverage.constants >= 100);
  CHECK(coverage.inside >= 0.8 * coverage.constants);
}

}  // namespace
}  // namespace prequel
