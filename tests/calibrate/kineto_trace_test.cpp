#include "calibrate/readings/kineto_trace.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibrate/fit/fit.hpp"
#include "calibrate/readings/measurement_file.hpp"
#include "hw/base/errors.hpp"

namespace prequel {
namespace {

std::string fixture(const std::string& version) {
  return PREQUEL_TEST_DIR "/fixtures/kineto-pytorch-" + version + ".json";
}

KinetoTrace trace_of(const std::string& version) {
  std::ifstream in(fixture(version));
  return read_kineto_trace(in, "trace.json");
}

KinetoTrace trace_of_text(const std::string& text) {
  std::istringstream in(text);
  return read_kineto_trace(in, "trace.json");
}

const KernelSum& sum_of(const KinetoTrace& trace, const std::string& kind) {
  const auto found = std::ranges::find(trace.sums, kind, &KernelSum::kind);
  REQUIRE(found != trace.sums.end());
  return *found;
}

/// Milliseconds by kind that the traces were written with, by hand after the format of each
/// version.
using Sums = std::map<std::string, double>;
const std::map<std::string, Sums> kWritten{{"1.8",
                                            {{"norm", 0.137},
                                             {"gemm", 6.981},
                                             {"softmax", 1.038},
                                             {"pointwise", 0.092},
                                             {"activation", 0.253},
                                             {"optimizer", 0.832},
                                             {"collective", 3.608},
                                             {"copy", 2.863},
                                             {"memset", 0.002}}},
                                           {"1.13",
                                            {{"norm", 0.137427},
                                             {"gemm", 11.875047},
                                             {"attention", 0.824895},
                                             {"pointwise", 0.092969},
                                             {"activation", 0.247854},
                                             {"optimizer", 0.727571},
                                             {"collective", 3.606403},
                                             {"copy", 2.890985},
                                             {"memset", 0.002078}}},
                                           {"2.4",
                                            {{"norm", 0.138058},
                                             {"gemm", 11.833435},
                                             {"attention", 0.840025},
                                             {"pointwise", 0.149017},
                                             {"activation", 0.246588},
                                             {"optimizer", 0.720789},
                                             {"collective", 6.940381},
                                             {"copy", 2.899313},
                                             {"memset", 0.002011},
                                             {"other", 0.012341}}}};

TEST_CASE("sums by kind are those of the trace, in the formats of three versions of PyTorch") {
  for (const auto& [version, written] : kWritten) {
    CAPTURE(version);
    const KinetoTrace trace = trace_of(version);
    CHECK(trace.sums.size() == written.size());
    for (const auto& [kind, milliseconds] : written) {
      CAPTURE(kind);
      CHECK(1e3 * sum_of(trace, kind).time.value == doctest::Approx(milliseconds).epsilon(1e-4));
    }
  }
}

TEST_CASE("every event of the device is in one sum") {
  for (const auto& [version, written] : kWritten) {
    std::ifstream in(fixture(version));
    double whole = 0.0;
    std::size_t events = 0;
    const nlohmann::json trace = nlohmann::json::parse(in);
    for (const auto& event : trace["traceEvents"]) {
      const std::string category = event.value("cat", "");
      if (category != "kernel" && category != "Kernel" && category != "gpu_memcpy" &&
          category != "Memcpy" && category != "gpu_memset" && category != "Memset") {
        continue;
      }
      whole += 1e-6 * event["dur"].get<double>();
      ++events;
    }
    double sum = 0.0;
    std::size_t counted = 0;
    const KinetoTrace read = trace_of(version);
    for (const KernelSum& one : read.sums) {
      sum += one.time.value;
      counted += one.count;
    }
    CHECK(sum == doctest::Approx(whole).epsilon(1e-9));
    CHECK(counted == events);
  }
}

template <typename What>
std::size_t points_of(const MeasurementFile& file) {
  return static_cast<std::size_t>(std::ranges::count_if(file.points, [](const Measurement& point) {
    return std::holds_alternative<What>(point.what);
  }));
}

TEST_CASE("operators with shapes become points, one a shape, and passes are told by strides") {
  const MeasurementFile file = trace_of("2.4").file;
  CHECK(file.context.at("device") == "NVIDIA H100 80GB HBM3");
  std::map<GemmPass, int> passes;
  for (const Measurement& point : file.points) {
    const auto* gemm = std::get_if<Gemm>(&point.what);
    if (!gemm) continue;
    ++passes[gemm->pass];
    CHECK(gemm->precision == Precision::bf16);
    const double tflops = flops(*gemm).value / point.time.value / 1e12;
    CHECK(tflops > 350.0);
    CHECK(tflops < 620.0);
  }
  CHECK(passes == std::map<GemmPass, int>{
                      {GemmPass::forward, 4}, {GemmPass::dgrad, 4}, {GemmPass::wgrad, 4}});
  CHECK(points_of<MeasuredAttention>(file) == 1);
  CHECK(points_of<MeasuredStream>(file) == 3);  // norm, residual, GELU
  CHECK(points_of<MeasuredCopy>(file) == 4);
}

TEST_CASE("without strides backward products, and without values attention, tell no point") {
  const MeasurementFile file = trace_of("1.13").file;
  for (const Measurement& point : file.points) {
    if (const auto* gemm = std::get_if<Gemm>(&point.what)) CHECK(gemm->pass == GemmPass::forward);
  }
  CHECK(points_of<Gemm>(file) == 4);
  CHECK(points_of<MeasuredAttention>(file) == 0);
  CHECK(points_of<MeasuredCollective>(file) == 0);
  // Products a head, of unfused attention.
  CHECK(points_of<Gemm>(trace_of("1.8").file) == 6);
}

TEST_CASE("collectives have their group, its nodes and the bytes that nccl-tests counts") {
  std::map<CollectiveOp, MeasuredCollective> found;
  const KinetoTrace trace = trace_of("2.4");
  for (const Measurement& point : trace.file.points) {
    if (const auto* what = std::get_if<MeasuredCollective>(&point.what)) found[what->op] = *what;
  }
  CHECK(found.size() == 3);
  for (const auto& [op, what] : found) {
    CHECK(what.ranks == 16);
    CHECK(what.nodes == 2);
    CHECK(what.bytes.value == (op == CollectiveOp::all_reduce ? 33554432.0 : 134217728.0));
  }
}

TEST_CASE("few products of the device itself move its rate alone, and the fit meets them") {
  Device device = read_device(Document::read(PREQUEL_DATA_DIR "/devices/h100-sxm.json"));
  const TiledGemm before = std::get<TiledGemm>(device.gemm);
  const auto points = read_measurements(fixture("2.4")).points;
  CHECK(fit_gemm(points, {1, "source", false}, device).empty());
  const DeviceFits fits = fit_device(points, {1, "source", true}, device);
  REQUIRE(fits.gemm.size() == 1);
  CHECK(fits.gemm[0].constants.size() == 1);
  CHECK(fits.gemm[0].errors.mape < 0.1);
  CHECK(fits.gemm[0].warnings.back().find("rate alone") != std::string::npos);
  const auto& after = std::get<TiledGemm>(device.gemm);
  CHECK(after.efficiency != before.efficiency);
  CHECK(after.launch.value == before.launch.value);
  CHECK(fits.attention.size() == 1);
  CHECK(fits.streams.size() == 3);
  CHECK(fits.host_link.size() == 1);
  CHECK(device.host_link.value == doctest::Approx(45e9).epsilon(0.05));
}

TEST_CASE("traces that are cut off, packed, empty or of something else are refused with a reason") {
  CHECK_THROWS_WITH_AS((void)trace_of_text(R"({"traceEvents":[{"ph":"X")"),
                       doctest::Contains("cut off"), InputError);
  CHECK_THROWS_WITH_AS((void)trace_of_text("\x1f\x8b\x08 packed"), doctest::Contains("gunzip"),
                       InputError);
  CHECK_THROWS_WITH_AS((void)trace_of_text(R"({"traceEvents":[{"ph":"X","cat":"cpu_op"}]})"),
                       doctest::Contains("a trace without kernels"), InputError);
  std::string deep = R"({"traceEvents":[)";
  for (int i = 0; i < 100; ++i) deep += R"({"args":)";
  CHECK_THROWS_AS((void)trace_of_text(deep), InputError);
  const KinetoTrace bare = trace_of_text(
      R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","dur":2.5,"args":{}},)"
      R"({"ph":"X","cat":"kernel","name":"gemm","dur":"long"},7,{"ph":1}]})");
  CHECK(bare.sums.size() == 1);
  CHECK(bare.sums[0].count == 1);
  CHECK(bare.file.points.empty());
  CHECK(bare.file.notes.back().find("record_shapes=True") != std::string::npos);
}

}  // namespace
}  // namespace prequel
