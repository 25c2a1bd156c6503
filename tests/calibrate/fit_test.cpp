#include "calibrate/fit/fit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace prequel {
namespace {

Device a100() {
  return read_device(Document::read(PREQUEL_DATA_DIR "/devices/a100-sxm-80gb.json"));
}

Device h100() {
  return read_device(Document::read(PREQUEL_DATA_DIR "/devices/h100-sxm.json"));
}

/// first, first·factor, first·factor², …
std::vector<double> powers(double first, double factor, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first * std::pow(factor, i));
  return values;
}

/// Noise with a fixed seed, the same for the same number of calls.
class Noise {
 public:
  explicit Noise(double relative) : relative_(relative) {}
  double operator()() { return std::exp(relative_ * normal_(random_)); }

 private:
  double relative_;
  std::mt19937_64 random_{11};
  std::normal_distribution<double> normal_;
};

Measurement measured(decltype(Measurement::what) what, Seconds time, const std::string& source) {
  Measurement point;
  point.what = std::move(what);
  point.time = time;
  point.fields = {{"source", source}};
  return point;
}

const FittedConstant& fitted_constant(const FitReport& report, const std::string& name) {
  for (const FittedConstant& one : report.constants) {
    if (one.name == name) return one;
  }
  FAIL("no constant " << name);
  return report.constants.front();
}

/// Within three of the stated errors, or 1 % where that is more.
void check_found(const FitReport& report, const std::string& name, double truth) {
  const FittedConstant& found = fitted_constant(report, name);
  const double distance = std::abs(std::log(found.value / truth));
  CHECK_MESSAGE(distance < std::max(3.0 * found.relative_error, 0.01),
                name << ": " << found.value << " for " << truth);
}

Seconds time_of(const CollectiveModel& node, CollectiveOp op, int ranks, Bytes bytes) {
  return cheapest(op, Levels{ranks, ranks, &node, {}, false}, bytes).time();
}

TEST_CASE("the constants of a ring are recovered from noisy collectives") {
  CollectiveModel truth;
  truth.ring = {{8e-6}, {1e-6}, {2.3e11}, {2.5e-5}, {8e11}};
  Noise noise(0.03);
  std::vector<Measurement> points;
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    for (const int ranks : {2, 4, 8}) {
      for (const double bytes : powers(1024.0, 4.0, 11)) {
        const Seconds time = time_of(truth, op, ranks, {bytes}) * noise();
        points.push_back(measured(MeasuredCollective{op, ranks, 1, {bytes}}, time, "a"));
      }
    }
  }
  CollectiveModel fitted;
  const auto reports = fit_collectives(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK_FALSE(fitted.nvls);
  CHECK(reports[0].held_out_errors.mape < 0.05);
  check_found(reports[0], "latency_s", 8e-6);
  check_found(reports[0], "step_s", 1e-6);
  check_found(reports[0], "bandwidth", 2.3e11);
  check_found(reports[0], "fill_s", 2.5e-5);
}

TEST_CASE("an all_reduce that outruns its ring is taken for a reduction in the switch") {
  CollectiveModel truth;
  truth.ring = {{5e-6}, {8e-7}, {3.9e11}, {1e-5}, {9e11}};
  truth.nvls = LinkModel{{1.5e-5}, {0.0}, {5.2e11}, {2.7e-5}, {}};
  truth.nvls_min_ranks = 8;
  std::vector<Measurement> points;
  for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather}) {
    for (const int ranks : {2, 4, 8}) {
      for (const double bytes : powers(1024.0, 4.0, 11)) {
        points.push_back(measured(MeasuredCollective{op, ranks, 1, {bytes}},
                                  time_of(truth, op, ranks, {bytes}), "a"));
      }
    }
  }
  CollectiveModel fitted;
  static_cast<void>(fit_collectives(points, {}, fitted));
  REQUIRE(fitted.nvls);
  CHECK(fitted.nvls_min_ranks == 8);
  CHECK(time_of(fitted, CollectiveOp::all_reduce, 8, {1e9}).value ==
        doctest::Approx(time_of(truth, CollectiveOp::all_reduce, 8, {1e9}).value).epsilon(0.05));
}

TEST_CASE("links between processes of a busy machine are within the bounds, too") {
  CollectiveModel truth;
  truth.ring = {{0.05}, {0.0}, {3e7}, {2e-3}, {}};
  Noise noise(0.05);
  std::vector<Measurement> points;
  for (const double bytes : powers(1024.0, 2.0, 17)) {
    const Seconds time = time_of(truth, CollectiveOp::all_reduce, 2, {bytes}) * noise();
    points.push_back(
        measured(MeasuredCollective{CollectiveOp::all_reduce, 2, 1, {bytes}}, time, "a"));
  }
  CollectiveModel fitted;
  const auto reports = fit_collectives(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].errors.mape < 0.06);
  check_found(reports[0], "latency_s", 0.05);
  check_found(reports[0], "bandwidth", 3e7);
}

TEST_CASE("an operation that is off the ring of the others gets constants of its own") {
  CollectiveModel truth;
  truth.ring = {{1e-6}, {0.0}, {1e10}, {1e-7}, {}};
  truth.overrides = {{CollectiveOp::all_gather, 0, {{5e-7}, {0.0}, {3e10}, {1e-7}, {}}}};
  Noise noise(0.03);
  std::vector<Measurement> points;
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    for (const double bytes : powers(1024.0, 2.0, 17)) {
      const Seconds time = time_of(truth, op, 2, {bytes}) * noise();
      points.push_back(measured(MeasuredCollective{op, 2, 1, {bytes}}, time, "a"));
    }
  }
  CollectiveModel fitted;
  const auto reports = fit_collectives(points, {}, fitted);
  const auto own = std::ranges::find(reports, "all_gather", &FitReport::what);
  REQUIRE(own != reports.end());
  CHECK(own->held_out_errors.mape < 0.05);
  check_found(*own, "bandwidth", 3e10);
  check_found(*own, "latency_s", 5e-7);
  check_found(reports.front(), "bandwidth", 1e10);  // the ring's, of the others alone
}

TEST_CASE("points that waited for a processor are left out of a fit, which says how many") {
  CollectiveModel truth;
  truth.ring = {{1e-6}, {0.0}, {1e10}, {1e-7}, {}};
  std::vector<Measurement> points;
  for (const double bytes : powers(1024.0, 2.0, 17)) {
    const Seconds time = time_of(truth, CollectiveOp::all_reduce, 2, {bytes});
    Measurement point =
        measured(MeasuredCollective{CollectiveOp::all_reduce, 2, 1, {bytes}}, time, "a");
    point.fields["samples"] = "50";
    point.fields["p10_s"] = fmt::format("{}", 0.9 * time.value);
    points.push_back(point);
  }
  points[14].time = points[14].time * 40.0;  // its tenth percentile stays
  points[16].time = points[16].time * 90.0;
  points[16].fields = {{"samples", "1"}};
  CollectiveModel fitted;
  const auto reports = fit_collectives(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].errors.n == 15);
  CHECK(reports[0].errors.mape < 0.01);
  CHECK(
      reports[0].warnings ==
      std::vector<std::string>{"2 points left out: their samples scatter, or there is one alone"});
  CHECK(fitted.ring.bandwidth.value == doctest::Approx(1e10).epsilon(0.02));
}

TEST_CASE("of one group and several at once, those at once count") {
  CollectiveModel truth;
  truth.ring = {{8e-6}, {0.0}, {2e10}, {1e-6}, {}};
  std::vector<Measurement> points;
  for (const int groups : {1, 2}) {
    for (const double bytes : powers(1024.0, 4.0, 10)) {
      const Seconds alone = time_of(truth, CollectiveOp::all_gather, 2, {bytes});
      points.push_back(measured(MeasuredCollective{CollectiveOp::all_gather, 2, 1, {bytes}, groups},
                                alone * groups, "a"));
    }
  }
  CollectiveModel fitted;
  const auto reports = fit_collectives(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].errors.n == 10);
  CHECK(fitted.ring.bandwidth.value == doctest::Approx(1e10).epsilon(0.02));
}

TEST_CASE("a kind of kernel that was not measured keeps its constants") {
  Device truth = a100();
  truth.streams.fill({{2e-6}, {}, 0.4, 0.4});
  std::vector<Measurement> points;
  for (const double bytes : powers(1e6, 2.0, 16)) {
    const MeasuredStream what{{StreamKind::residual_add, {bytes}, 0.0}};
    points.push_back(measured(what, price(truth, what.stream), "a"));
  }
  Device fitted = a100();
  const auto reports = fit_streams(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].what == "residual_add");
  const Stream unmeasured{StreamKind::fused_pointwise, {5e7}, 0.0};
  CHECK(price(fitted, unmeasured) == price(a100(), unmeasured));
}

TEST_CASE("what has too few points for a fit is named, what has enough is fitted") {
  std::vector<Measurement> points;
  for (const double bytes : powers(1e6, 2.0, static_cast<int>(kFewestStreams))) {
    points.push_back(measured(MeasuredStream{{StreamKind::gelu, {bytes}}}, {bytes / 1e12}, "a"));
  }
  for (const double bytes : powers(1e6, 2.0, 3)) {
    points.push_back(measured(MeasuredStream{{StreamKind::swiglu, {bytes}}}, {bytes / 1e12}, "a"));
  }
  const FusedAttention pass{.batch = 1, .seq = 128, .heads = 8, .kv_heads = 8, .head_dim = 64};
  points.push_back(measured(MeasuredAttention{pass, "flash-9"}, {1e-4}, "a"));
  points.push_back(measured(MeasuredOther{"graph_launch"}, {1e-6}, "a"));
  points.push_back(measured(MeasuredCopy{true, false, {1e6}}, {1e-3}, "a"));
  CHECK(not_fitted(points) ==
        std::vector<std::string>{
            "attention flash-9 64 forward: 1 of 8 points needed; as in the base file",
            "copies of pageable memory: 1 points, for which there is no model",
            "graph_launch: 1 points, for which there is no model",
            "swiglu: 3 of 8 points needed; as in the base file"});
  Device fitted = a100();
  const auto reports = fit_streams(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].what == "gelu");
}

TEST_CASE("the host's link comes from large pinned copies in both directions") {
  Noise noise(0.02);
  std::vector<Measurement> points;
  for (const double bytes : powers(4096.0, 8.0, 7)) {
    for (const bool to_device : {true, false}) {
      const Seconds time{1e-5 + bytes / 2.1e10};
      points.push_back(measured(MeasuredCopy{to_device, true, {bytes}}, time * noise(), "a"));
      points.push_back(measured(MeasuredCopy{to_device, false, {bytes}}, time * 4.0, "a"));
    }
  }
  Device fitted = a100();
  const auto reports = fit_host_link(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(fitted.host_link.value == doctest::Approx(2.1e10).epsilon(0.05));
  CHECK(reports[0].held_out_errors.n == 8);
}

TEST_CASE("the loss by overlap is what products take more beside a collective than alone") {
  Noise noise(0.01);
  std::vector<Measurement> points;
  for (const std::int64_t width : {1024, 2048, 4096, 8192}) {
    const Gemm gemm{4096, width, 4096};
    const Seconds alone = price(a100(), gemm) * 1.3;  // the model's own error does not matter
    points.push_back(measured(gemm, alone, "a"));
    for (int i = 0; i < 3; ++i) {
      points.push_back(measured(MeasuredBeside{gemm}, alone * 1.35 * noise(), "a"));
    }
  }
  const Gemm unmatched{64, 64, 64};
  points.push_back(measured(MeasuredBeside{unmatched}, {1.0}, "a"));
  Device fitted = a100();
  const auto reports = fit_overlap(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].errors.n == 12);
  CHECK(fitted.overlap_loss == doctest::Approx(0.35).epsilon(0.05));
  CHECK(fit_overlap({points.back()}, {}, fitted).empty());
}

TEST_CASE("partly filled waves of rows are found where they show, with the rows of a unit") {
  Device truth = a100();
  const auto kind = static_cast<std::size_t>(StreamKind::swiglu);
  truth.streams[kind] = {{2e-6}, {1.5e7}, 0.9, 0.6, {1e3}, {9e9}, 2.0, 0.7};
  Noise noise(0.02);
  std::vector<Measurement> points;
  for (const double width : {8e3, 2e4, 6e4, 1.2e5}) {
    for (double rows = 16.0; rows < 4000.0; rows *= 1.35) {
      const MeasuredStream what{{StreamKind::swiglu, {std::round(rows) * width}, std::round(rows)}};
      points.push_back(measured(what, price(truth, what.stream) * noise(), "a"));
    }
  }
  Device fitted = a100();
  const auto reports = fit_streams(points, {}, fitted);
  CHECK(fitted.streams[kind].rows_per_unit == 2.0);
  CHECK(fitted.streams[kind].last_wave == doctest::Approx(0.7).epsilon(0.1));
  CHECK(reports[0].errors.mape < 0.025);
}

TEST_CASE("the constants of a row-wise kernel are recovered, in two environments at once") {
  Device truth = a100();
  const auto kind = static_cast<std::size_t>(StreamKind::gelu);
  truth.streams[kind] = {{2e-6}, {1.5e7}, 0.9, 0.6, {1e3}, {9e9}};
  Noise noise(0.02);
  std::vector<Measurement> points;
  for (const double width : {2e3, 5e3, 1.1e4, 3e4, 7e4}) {
    for (const double rows : powers(1.0, 2.0, 16)) {
      const MeasuredStream what{{StreamKind::gelu, {rows * width}, rows}};
      const Seconds time = price(truth, what.stream);
      points.push_back(measured(what, time * noise(), "a"));
      points.push_back(measured(what, time * 1.2 * noise(), "b"));
    }
  }
  Device fitted = a100();
  const auto reports = fit_streams(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].errors.mape < 0.03);
  CHECK(reports[0].held_out_errors.n > 0);
  // The environments' geometric mean is the reference: both factors of sqrt(1.2) go into rates.
  check_found(reports[0], "memory_fraction", 0.6 / std::sqrt(1.2));
}

TEST_CASE("the efficiency of an attention kernel is recovered, and a new kernel is added") {
  Device truth = a100();
  const AttentionPass pass{0.6, 400.0, {1e-5}, 0.5, 0.5, 1.0};
  truth.attention = {{"new", {}, true, {{96.0, 96.0, false, pass, pass}}, {}}};
  Noise noise(0.03);
  std::vector<Measurement> points;
  for (const std::int64_t heads : {4, 8, 16, 32, 64}) {
    for (std::int64_t seq = 256; seq <= 16384; seq *= 2) {
      const FusedAttention what{
          .batch = 2, .seq = seq, .heads = heads, .kv_heads = heads, .head_dim = 96};
      points.push_back(
          measured(MeasuredAttention{what, "new"}, price(truth, what, "new") * noise(), "a"));
    }
  }
  Device fitted = a100();
  const auto reports = fit_attention(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].what == "new 96 forward");
  check_found(reports[0], "efficiency", 0.6);
  CHECK(attention_kernel(fitted, "new").head_sizes.size() == 1);
}

TEST_CASE("of windows the blocks of both formats are told apart") {
  Device truth = h100();
  const WindowedAttention window{{2e-5}, 0.7, {8e-6}, 0.5, 1.5};
  for (AttentionKernel& kernel : truth.attention) {
    if (kernel.name == "cudnn") kernel.window = window;
  }
  Noise noise(0.01);
  std::vector<Measurement> points;
  for (const std::int64_t heads : {4, 8, 16, 32, 64}) {
    for (const std::int64_t seq : {2048, 6144, 16384}) {
      for (const Precision format : {Precision::bf16, Precision::fp8}) {
        FusedAttention what{.batch = 2, .seq = seq, .heads = heads, .kv_heads = heads / 4};
        what.head_dim = 64;
        what.window = 128;
        what.precision = format;
        points.push_back(
            measured(MeasuredAttention{what, "cudnn"}, price(truth, what, "cudnn") * noise(), "a"));
      }
    }
  }
  Device fitted = h100();
  const auto reports = fit_attention(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  check_found(reports[0], "block_s", window.block.value);
  check_found(reports[0], "fp8_factor", window.fp8_factor);
  CHECK(attention_kernel(fitted, "cudnn").window->fp8_factor ==
        fitted_constant(reports[0], "fp8_factor").value);
  // One format alone tells no ratio, so that it stays.
  std::erase_if(points, [](const Measurement& point) {
    return is_quantized(std::get<MeasuredAttention>(point.what).attention.precision);
  });
  const auto alone = fit_attention(points, {}, fitted);
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].constants.size() == 4);
  CHECK(attention_kernel(fitted, "cudnn").window->fp8_factor ==
        fitted_constant(reports[0], "fp8_factor").value);
}

TEST_CASE("GEMM constants of another device are recovered from its times") {
  Device truth = a100();
  auto& model = std::get<TiledGemm>(truth.gemm);
  model.launch = {4e-6};
  model.memory_fraction = 0.7;
  model.efficiency *= 0.9;
  model.wgrad_factor = 1.2;
  model.misaligned_fraction = 0.05;
  Noise noise(0.03);
  std::mt19937_64 random(12);
  std::uniform_int_distribution<std::int64_t> blocks(2, 96);
  std::vector<Measurement> points;
  for (int shape = 0; shape < 40; ++shape) {
    const std::int64_t n = 128 * blocks(random);
    const std::int64_t k = 128 * blocks(random);
    for (std::int64_t m = 64; m <= 8192; m *= 4) {
      const Gemm gemm{m, n, k};
      points.push_back(measured(gemm, price(truth, gemm) * noise(), "a"));
      Gemm gradient = gemm;
      gradient.pass = GemmPass::wgrad;
      points.push_back(measured(gradient, price(truth, gradient) * noise(), "a"));
    }
  }
  for (std::int64_t n = 1024; n <= 8192; n += 1024) {  // of another format, and no part of the fit
    const Gemm gemm{4096, n, 4096, 1, Precision::tf32};
    points.push_back(measured(gemm, price(truth, gemm) * 3.0, "a"));
  }
  for (const std::int64_t head_dim : {108, 150, 450, 110}) {
    const Gemm scores{2048, 2048, head_dim, 16};
    points.push_back(measured(scores, price(truth, scores), "a"));
  }
  Device fitted = a100();
  const auto reports = fit_gemm(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].held_out_errors.mape < 0.05);
  check_found(reports[0], "memory_fraction", 0.7);
  CHECK(std::get<TiledGemm>(fitted.gemm).wgrad_factor == doctest::Approx(1.2).epsilon(0.03));
  CHECK(std::get<TiledGemm>(fitted.gemm).misaligned_fraction ==
        doctest::Approx(0.05).epsilon(0.03));
  const Gemm large{8192, 8192, 8192};
  CHECK(price(fitted, large).value == doctest::Approx(price(truth, large).value).epsilon(0.02));
}

TEST_CASE("what collectives get of a network is found from two nodes and four") {
  const Cluster base = read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/dgx-a100.json"));
  Cluster truth = base;
  truth.network = {0.6, {{3.5e-5}, {6e-6}, {}, {2e-5}, {}}, 0, false};
  Noise noise(0.03);
  std::vector<Measurement> points;
  for (const int nodes : {2, 4, 16}) {
    for (const int in_node : {1, 8}) {
      for (const double bytes : powers(1e4, 3.0, 11)) {
        const MeasuredCollective what{.op = CollectiveOp::all_gather,
                                      .ranks = nodes * in_node,
                                      .nodes = nodes,
                                      .bytes = {bytes}};
        Measurement point = measured(what, {1.0}, "a");
        point.time = predict(truth, point) * noise();
        points.push_back(point);
      }
    }
  }
  Cluster fitted = base;
  const auto reports = fit_network(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].held_out_errors.mape < 0.05);
  check_found(reports[0], "efficiency", 0.6);
  CHECK(fitted.network.link.step.value == doctest::Approx(6e-6).epsilon(0.05));
  CHECK(fitted.node.ring.latency == base.node.ring.latency);
}

/// Layers of experts with casts to blocks, of many shapes.
std::vector<Measurement> expert_layers(const Device& truth, double relative) {
  Noise noise(relative);
  std::vector<Measurement> points;
  for (const int hidden : {1024, 2048, 4096, 7168}) {
    for (const int inner : {512, 1024, 2048}) {
      for (const int tokens : {512, 2048, 8192, 32768}) {
        Measurement point = read_measurement({{"tokens", std::to_string(tokens)},
                                              {"hidden", std::to_string(hidden)},
                                              {"inter", std::to_string(inner)},
                                              {"topk", "4"},
                                              {"experts", "16"},
                                              {"local_rows", std::to_string(4 * tokens)},
                                              {"dtype", "fp8-block"},
                                              {"time_us", "1"}});
        point.time = predict(truth, point) * noise();
        points.push_back(point);
      }
    }
  }
  return points;
}

TEST_CASE("of layers of experts the products, the permutation and the casts are told apart") {
  Device truth = h100();
  StreamModel& cast = truth.streams[static_cast<std::size_t>(StreamKind::quantize_block)];
  StreamModel& permute = truth.streams[static_cast<std::size_t>(StreamKind::permute)];
  truth.grouped.efficiency = 0.7;
  permute.memory_fraction = 0.35;
  cast.memory_fraction = 0.15;
  Device fitted = h100();
  const auto reports = fit_experts(expert_layers(truth, 0.01), {}, fitted);
  REQUIRE(reports.size() == 1);
  check_found(reports[0], "efficiency", 0.7);
  check_found(reports[0], "permute memory_fraction", 0.35);
  check_found(reports[0], "quantize_block memory_fraction", 0.15);
  CHECK(fitted.streams[static_cast<std::size_t>(StreamKind::quantize_block)].memory_fraction ==
        fitted_constant(reports[0], "quantize_block memory_fraction").value);
  CHECK(reports[0].held_out_errors.mape < 0.02);
}

TEST_CASE("kernels of experts that finish tiles faster than single products are told") {
  Device base = h100();
  const auto format = static_cast<std::size_t>(Precision::fp8_block);
  std::get<TiledGemm>(*base.gemm_formats[format]).tile_overhead = {2e-5};
  Device truth = base;
  truth.grouped.tile_overhead_factor = 0.25;
  const auto reports = fit_experts(expert_layers(truth, 0.01), {}, base);
  REQUIRE(reports.size() == 1);
  // Held to single products', so somewhat above the truth.
  CHECK(fitted_constant(reports[0], "tile_overhead_factor").value > 0.2);
  CHECK(fitted_constant(reports[0], "tile_overhead_factor").value < 0.5);
  CHECK(base.grouped.tile_overhead_factor ==
        fitted_constant(reports[0], "tile_overhead_factor").value);
  CHECK(reports[0].held_out_errors.mape < 0.04);
}

TEST_CASE("casts that were timed alone are not fitted to layers of experts") {
  const Device truth = h100();
  std::vector<Measurement> points = expert_layers(truth, 0.0);
  points.push_back(measured(MeasuredStream{{StreamKind::quantize_block, {1e8}}, 1.0}, {1e-4}, "a"));
  Device fitted = h100();
  const auto reports = fit_experts(points, {}, fitted);
  REQUIRE(reports.size() == 1);
  CHECK(std::ranges::none_of(reports[0].constants, [](const FittedConstant& one) {
    return one.name.starts_with("quantize_block");
  }));
}

TEST_CASE("too few points fit nothing and leave the device as it is") {
  Device device = a100();
  const double before = std::get<TiledGemm>(device.gemm).efficiency;
  CHECK(fit_gemm({measured(Gemm{4096, 4096, 4096}, {1e-3}, "a")}, {}, device).empty());
  CHECK(std::get<TiledGemm>(device.gemm).efficiency == before);
}

TEST_CASE("a flat product model is fitted to small products too") {
  Device truth;
  truth.peaks[static_cast<std::size_t>(Precision::fp32)] = {1e12};
  truth.gemm = FlatGemm{0.4, 2e-5};
  std::vector<Measurement> points;
  for (const std::int64_t m : {64, 256, 1024}) {
    for (std::int64_t width = 128; width <= 2048; width += 128) {
      Measurement point;
      point.what = Gemm{m, width, 256, 1, Precision::fp32};
      point.time = price(truth, std::get<Gemm>(point.what));
      points.push_back(point);
    }
  }
  Device device = truth;
  device.gemm = FlatGemm{0.9, 0.0};
  REQUIRE(fit_gemm(points, {}, device).size() == 1);
  CHECK(std::get<FlatGemm>(device.gemm).efficiency == doctest::Approx(0.4).epsilon(0.01));
  CHECK(std::get<FlatGemm>(device.gemm).launch.value == doctest::Approx(2e-5).epsilon(0.02));
}

}  // namespace
}  // namespace prequel
