#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/gpu_grid.hpp"
#include "calibrate/measure/session.hpp"
#include "hw/kernels/gemm.hpp"
#include "tests/measure/temporary_file.hpp"
#include "tests/measure/told/machine.hpp"

namespace prequel {
namespace {

using told::Machine;
using told::Orders;

/// "cuda" or "hip", whichever this program's back ends are.
std::string runtime() {
  for (const char* name : {"cuda", "hip"}) {
    try {
      (void)make_backend(name, told::machine().clock());
      return name;
    } catch (const DeviceError&) {
      continue;
    }
  }
  return {};
}

bool on_nvidia() {
  static const bool is = runtime() == "cuda";
  return is;
}

/// The time of a work, which tells works apart: products by their FLOP, others by their bytes.
struct WorkTime {
  double operator()(const Gemm& gemm) const { return 3e-6 + flops(gemm).value / 4e14; }
  double operator()(const Stream& stream) const { return 2e-6 + stream.bytes.value / 2.5e12; }
  double operator()(const FusedAttention& what) const {
    const double square = static_cast<double>(what.batch * what.heads * what.seq * what.seq);
    return 1e-5 + square * static_cast<double>(what.head_dim) / 4e14 * (what.backward ? 2.5 : 1.0);
  }
  double operator()(const HostCopy& copy) const { return 8e-6 + copy.bytes.value / 5e10; }
  double operator()(const GradientNorm& norm) const { return 2e-6 + norm.bytes.value / 2.5e12; }
  double operator()(const CollectiveWork& what) const { return 1e-5 + what.bytes.value / 3e11; }
  double operator()(const AttentionChain& chain) const {
    const std::int64_t heads = chain.batch * chain.heads;
    const double rows = static_cast<double>(heads * chain.seq);
    return (*this)(Gemm{chain.seq, chain.seq, chain.head_dim, heads}) +
           (*this)(Gemm{chain.seq, chain.head_dim, chain.seq, heads}) +
           (*this)(Stream{StreamKind::softmax, {4.0 * rows * static_cast<double>(chain.seq)}});
  }
  double operator()(const GroupedGemm& what) const {
    const std::int64_t rows = what.rows / what.groups;
    if (what.one_launch) {
      return (*this)(Gemm{rows, what.outputs, what.inputs, what.groups});
    }
    return static_cast<double>(what.groups) * (*this)(Gemm{rows, what.outputs, what.inputs});
  }
  double operator()(const KernelLaunch&) const { return 0.0; }
  double operator()(const GemmBeside&) const { return 0.0; }
};

double told_seconds(const Work& work) {
  return std::visit(WorkTime{}, work);
}

Orders usual() {
  Orders orders;
  orders.cost = told_seconds;
  if (!on_nvidia()) orders.name = "AMD Instinct MI300X";
  return orders;
}

std::unique_ptr<Backend> backend_of(Machine& machine) {
  return make_backend(on_nvidia() ? "cuda" : "hip", machine.clock());
}

void check_contented(const Machine& machine) {
  for (const std::string& complaint : machine.complaints()) FAIL_CHECK(complaint);
  CHECK(machine.alive == 0);
  CHECK(machine.allocated() == 0);
}

SessionResult measure(Machine& machine, Journal& journal,
                      SessionOptions options = {{1e9}, {}, {}}) {
  options.rule.most = 20;
  const auto backend = backend_of(machine);
  return run_session(*backend, &journal, options, machine.clock(),
                     [](std::size_t, std::size_t, Seconds) {});
}

TEST_CASE("what is measured is what the driver was told, for each work of the grid") {
  for (const int capability : {80, 90, 100}) {
    if (!on_nvidia() && capability != 90) continue;
    CAPTURE(capability);
    Orders orders = usual();
    orders.capability = capability;
    Machine& machine = told::tell(orders);
    {
      const auto backend = backend_of(machine);
      std::size_t measured = 0;
      for (const Work& work : backend->grid()) {
        if (std::holds_alternative<KernelLaunch>(work)) continue;
        const Run run = backend->prepare(work);
        for (int i = 0; i < 2; ++i) {
          const double ratio = run().value / told_seconds(work);
          if (std::abs(ratio - 1.0) > 0.01) FAIL_CHECK(work_text(work), " by ", ratio);
        }
        ++measured;
      }
      CHECK(measured > 700);
    }
    check_contented(machine);
  }
}

TEST_CASE("products are asked for as the measurement file names them") {
  Machine& machine = told::tell(usual());
  machine.keeps_works = true;
  const auto backend = backend_of(machine);
  for (const Work& work : backend->grid()) {
    const auto* gemm = std::get_if<Gemm>(&work);
    if (!gemm) continue;
    machine.works.clear();
    (void)backend->prepare(work);
    Gemm asked = *gemm;
    // In 8 and 4 bits all passes are TN, and only gradients of weights show, by their type.
    if (is_quantized(asked.precision) && asked.pass == GemmPass::dgrad) {
      asked.pass = GemmPass::forward;
    }
    REQUIRE(!machine.works.empty());
    CHECK(work_text(machine.works.front()) == work_text(asked));
  }
}

TEST_CASE("operands of small kernels come from memory: their sets are twice the cache") {
  Orders orders = usual();
  orders.cache = 96 << 20;
  Machine& machine = told::tell(orders);
  const auto backend = backend_of(machine);
  for (const Work& work : {Work{Gemm{1024, 1024, 1024}}, Work{Stream{StreamKind::gelu, {1e6}}}}) {
    const Run run = backend->prepare(work);
    const double cache = on_nvidia() ? 96.0 * 1048576 : 268435456.0;
    CHECK(static_cast<double>(machine.allocated()) >= 2.0 * cache);
  }
}

TEST_CASE("a launch takes the host's time, a graph's node the device's") {
  Machine& machine = told::tell(usual());
  const auto backend = backend_of(machine);
  const double call = machine.orders().call;
  const double launch = backend->prepare(KernelLaunch{false})().value;
  CHECK(launch == doctest::Approx(machine.orders().launch + call).epsilon(0.01));
  const double node = backend->prepare(KernelLaunch{true})().value;
  CHECK(node == doctest::Approx(machine.orders().graph_node).epsilon(0.1));
}

TEST_CASE("events tell kernels that are shorter than their launch") {
  Orders orders = usual();
  orders.launch = 8e-6;
  orders.cost = [](const Work&) { return 1.5e-6; };
  Machine& machine = told::tell(orders);
  const auto backend = backend_of(machine);
  CHECK(backend->prepare(Gemm{128, 128, 128})().value == doctest::Approx(1.5e-6).epsilon(0.01));
}

TEST_CASE("the median is that of the told noise, to what its samples can tell") {
  Orders orders = usual();
  orders.noise = 0.3;
  Machine& machine = told::tell(orders);
  const auto backend = backend_of(machine);
  SamplingRule rule;
  rule.most = 400;
  rule.budget = {1e9};
  for (const Work& work : {Work{Gemm{8192, 8192, 8192}}, Work{Stream{StreamKind::gelu, {1e9}}}}) {
    const auto samples =
        sample(backend->prepare(work), rule, machine.clock(), [](bool on) { return on; });
    const double error = std::log(quantiles(samples).median.value / told_seconds(work));
    CHECK(std::abs(error) < 3.0 * 1.2533 * 0.3 / std::sqrt(static_cast<double>(samples.size())));
    CHECK(quantiles(samples).p90.value / quantiles(samples).p10.value > 1.5);
  }
}

TEST_CASE("what a device lacks is not in the grid, is said, and is skipped when asked for") {
  Orders orders = usual();
  orders.capability = 80;
  orders.architecture = "gfx90a";
  Machine& machine = told::tell(orders);
  const auto backend = backend_of(machine);
  CHECK(backend->context().at("not_measured").find("fp8") != std::string::npos);
  for (const Precision precision : {Precision::fp8, Precision::fp4, Precision::mxfp8}) {
    CHECK_THROWS_AS((void)backend->prepare(Gemm{1024, 1024, 1024, 1, precision}), SkippedPoint);
  }
  CHECK_THROWS_AS((void)backend->prepare(CollectiveWork{CollectiveOp::all_reduce, 2, 1, {1e6}}),
                  SkippedPoint);
}

TEST_CASE("points without room are skipped, nothing stays behind, and the others go on") {
  Orders orders = usual();
  orders.memory = on_nvidia() ? 6e8 : 1.2e9;
  Machine& machine = told::tell(orders);
  const TemporaryFile file("told_room.jsonl");
  {
    Journal journal(file.path(), false, "{}");
    const SessionResult result = measure(machine, journal);
    CHECK(result.skipped > 50);
    CHECK(result.measured > 100);
    CHECK(result.left == 0);
  }
  CHECK(file.text().find("out of memory") != std::string::npos);
  check_contented(machine);
}

TEST_CASE("an error of the device that stays ends the session, and what was measured is kept") {
  Orders orders = usual();
  orders.faults["launch_stream_kernel"] = {400, told::status_of("illegal-address"), false, true};
  Machine& machine = told::tell(orders);
  const TemporaryFile file("told_sticky.jsonl");
  {
    Journal journal(file.path(), false, "{}");
    CHECK_THROWS_WITH_AS((void)measure(machine, journal),
                         doctest::Contains("an illegal memory access"), DeviceError);
  }
  CHECK(file.text().find("time_s") != std::string::npos);
  CHECK(file.text().ends_with("}\n"));
}

TEST_CASE("a library without a kernel or without room for one costs a point, not the session") {
  for (const char* status : {"blas-not-supported", "blas-oom"}) {
    Orders orders = usual();
    orders.faults["cublasLtMatmulAlgoGetHeuristic"] = {3, told::status_of(status)};
    Machine& machine = told::tell(orders);
    const TemporaryFile file("told_kernel.jsonl");
    Journal journal(file.path(), false, "{}");
    CHECK(measure(machine, journal).skipped == 1);
    check_contented(machine);
  }
}

TEST_CASE("of cuDNN's engines the first that takes the graph is measured, and none is a reason") {
  if (!on_nvidia()) return;
  Orders orders = usual();
  orders.engines_that_fail = 1;
  {
    Machine& machine = told::tell(orders);
    CHECK(backend_of(machine)->prepare(FusedAttention{1, 1024, 8, 8, 64})().value > 0.0);
    check_contented(machine);
  }
  orders.engines_that_fail = 2;
  {
    Machine& machine = told::tell(orders);
    const auto backend = backend_of(machine);
    CHECK_THROWS_WITH_AS((void)backend->prepare(FusedAttention{1, 1024, 8, 8, 64}),
                         doctest::Contains("does not take the graph"), SkippedPoint);
  }
  orders.engines = 0;
  Machine& machine = told::tell(orders);
  const auto backend = backend_of(machine);
  CHECK_THROWS_WITH_AS((void)backend->prepare(FusedAttention{1, 1024, 8, 8, 64}),
                       doctest::Contains("no kernel for this shape"), SkippedPoint);
}

TEST_CASE("attention is asked for with its heads, groups, format and pass") {
  if (!on_nvidia()) return;
  Machine& machine = told::tell(usual());
  machine.keeps_works = true;
  const auto backend = backend_of(machine);
  for (const Work& work : backend->grid()) {
    if (!std::holds_alternative<FusedAttention>(work)) continue;
    machine.works.clear();
    (void)backend->prepare(work);
    CHECK(work_text(machine.works.front()) == work_text(work));
  }
}

TEST_CASE("clocks that fall under load are in the file and in the result") {
  if (!on_nvidia()) return;
  Orders orders = usual();
  orders.clock = [](double busy) { return 0.6 + 0.4 * std::exp(-busy / 0.5); };
  Machine& machine = told::tell(orders);
  const TemporaryFile file("told_clock.jsonl");
  Journal journal(file.path(), false, "{}");
  const SessionResult result = measure(machine, journal);
  CHECK(result.highest_mhz > 1900.0);
  CHECK(result.lowest_mhz == doctest::Approx(0.6 * 1980.0).epsilon(0.01));
  CHECK(file.text().find(R"("throttle":4.0)") != std::string::npos);
}

TEST_CASE("a machine without sensors is measured all the same") {
  Orders orders = usual();
  orders.sensors = false;
  Machine& machine = told::tell(orders);
  const auto backend = backend_of(machine);
  CHECK(backend->state().empty());
  CHECK(backend->context().at("backend") == (on_nvidia() ? "cuda" : "hip"));
}

TEST_CASE("a timer that tells no time makes no point") {
  Orders orders = usual();
  orders.timer = 0.0;
  Machine& machine = told::tell(orders);
  const TemporaryFile file("told_timer.jsonl");
  Journal journal(file.path(), false, "{}");
  const SessionResult result = measure(machine, journal, {{0.05}, {}, {}});
  CHECK(result.skipped > 0);
  CHECK(file.text().find(R"("time_s":0)") == std::string::npos);
  CHECK(file.text().find("the timer told 0 s") != std::string::npos);
}

TEST_CASE("no device, and a driver that is too old, are said") {
  Orders orders = usual();
  orders.devices = 0;
  CHECK_THROWS_WITH_AS((void)backend_of(told::tell(orders)), doctest::Contains("there is none"),
                       DeviceError);
  orders.devices = 1;
  orders.faults["cudaGetDeviceCount"] = {1, told::status_of("old-driver"), true};
  CHECK_THROWS_WITH_AS((void)backend_of(told::tell(orders)),
                       doctest::Contains("older than the runtime"), DeviceError);
}

TEST_CASE("each kernel of the grid is in the list of what is not proven on a device") {
  Machine& machine = told::tell(usual());
  const auto backend = backend_of(machine);
  std::string all;
  for (const Unproven& one : backend->unproven()) all += ", " + one.kernels + ", ";
  for (const Work& work : backend->grid()) {
    const std::string text = work_text(work);
    const std::string op = text.substr(7, text.find('"', 7) - 7);
    if (all.find(", " + op + ", ") == std::string::npos) FAIL_CHECK(op);
  }
}

}  // namespace
}  // namespace prequel
