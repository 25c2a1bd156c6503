#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/sampling.hpp"
#include "calibrate/measure/stream_kernels.hpp"

namespace prequel {
namespace {

/// Operands are taken from sets of buffers of together about this size, so that a product finds
/// its operands in memory, as in training, and not in the cache.
constexpr double kRotatedBytes = 3.2e7;

/// Most elements of a memory-bound kernel's arrays: far beyond any cache, and quick to fill.
constexpr double kMostElements = 8.5e6;

/// Linux promises more memory than there is and kills who uses it.
void require_memory(double bytes) {
  const double free =
      static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > free) throw OutOfMemory("out of host memory");
}

template <typename Body>
Run timed(Body body) {
  return [body = std::move(body), clock = steady_clock()]() mutable {
    const Seconds start = clock();
    body();
    return Seconds{clock().value - start.value};
  };
}

std::vector<float> random_floats(std::size_t count, float smallest) {
  std::vector<float> floats(count);
  fill_random(floats, smallest);
  return floats;
}

struct Operands {
  std::vector<float> a, b, c;
};

/// Row-major C = A·B. A weight is stored [out, in]: the forward product takes its transpose, dgrad
/// takes it as it is, and wgrad takes the transpose of the output's gradient and accumulates.
void multiply(const Gemm& gemm, Operands& operands) {
  const bool forward = gemm.pass == GemmPass::forward;
  const bool wgrad = gemm.pass == GemmPass::wgrad;
  const auto m = static_cast<blasint>(gemm.m);
  const auto n = static_cast<blasint>(gemm.n);
  const auto k = static_cast<blasint>(gemm.k);
  for (std::int64_t i = 0; i < gemm.batch; ++i) {
    cblas_sgemm(CblasRowMajor, wgrad ? CblasTrans : CblasNoTrans,
                forward ? CblasTrans : CblasNoTrans, m, n, k, 1.0F,
                operands.a.data() + i * gemm.m * gemm.k, wgrad ? m : k,
                operands.b.data() + i * gemm.k * gemm.n, forward ? k : n, wgrad ? 1.0F : 0.0F,
                operands.c.data() + i * gemm.m * gemm.n, n);
  }
}

Run prepare_gemm(const Gemm& gemm) {
  if (gemm.precision != Precision::fp32) throw SkippedPoint("cpu: products are in fp32 only");
  const auto size = [&](std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(gemm.batch * rows * columns);
  };
  const std::size_t a = size(gemm.m, gemm.k);
  const std::size_t b = size(gemm.k, gemm.n);
  const std::size_t c = size(gemm.m, gemm.n);
  const double bytes = 4.0 * static_cast<double>(a + b + c);
  const int sets = static_cast<int>(std::clamp(kRotatedBytes / bytes, 1.0, 8.0));
  require_memory(sets * bytes);
  std::vector<Operands> rotated;
  for (int i = 0; i < sets; ++i) {
    rotated.push_back({random_floats(a, -0.5F), random_floats(b, -0.5F), random_floats(c, -0.5F)});
  }
  return timed([gemm, rotated = std::move(rotated), next = std::size_t{0}]() mutable {
    multiply(gemm, rotated[next++ % rotated.size()]);
  });
}

Run prepare_stream(const Stream& stream) {
  if (stream_passes(stream.kind) == 0) throw SkippedPoint("cpu: this kind has no kernel here");
  require_memory(stream.bytes.value);
  return timed(
      [kind = stream.kind, arrays = make_stream(stream)]() mutable { run_stream(kind, arrays); });
}

/// Scores, softmax and context one after another, each on arrays of its own; the causal mask costs
/// a processor nothing here.
Run prepare_chain(const AttentionChain& chain) {
  const std::int64_t heads = chain.batch * chain.heads;
  const double scores = static_cast<double>(heads * chain.seq * chain.seq);
  const Gemm first{chain.seq, chain.seq, chain.head_dim, heads, Precision::fp32};
  const Stream second{StreamKind::softmax,
                      {4.0 * stream_passes(StreamKind::softmax) * scores},
                      static_cast<double>(heads * chain.seq)};
  const Gemm third{chain.seq, chain.head_dim, chain.seq, heads, Precision::fp32, GemmPass::dgrad};
  return
      [steps = std::vector<Run>{prepare_gemm(first), prepare_stream(second), prepare_gemm(third)}] {
        Seconds total;
        for (const Run& step : steps) total += step();
        return total;
      };
}

Run prepare_norm(const GradientNorm& norm) {
  require_memory(norm.bytes.value);
  const auto count = static_cast<std::size_t>(norm.bytes.value) / sizeof(float);
  return timed([gradients = random_floats(count, -0.5F), sum = 0.0F]() mutable {
    sum += cblas_snrm2(static_cast<blasint>(gradients.size()), gradients.data(), 1);
  });
}

/// Shapes of small transformers: what a processor trains in reasonable time.
void add_gemms(std::vector<Work>& works) {
  for (const std::int64_t m : {128, 512, 1024, 2048}) {
    for (const std::int64_t hidden : {256, 512, 768, 1024}) {
      for (const auto& [n, k] : {std::pair{3 * hidden, hidden}, std::pair{hidden, hidden},
                                 std::pair{4 * hidden, hidden}, std::pair{hidden, 4 * hidden}}) {
        works.emplace_back(Gemm{m, n, k, 1, Precision::fp32, GemmPass::forward});
        if (m != 1024) continue;
        works.emplace_back(Gemm{m, k, n, 1, Precision::fp32, GemmPass::dgrad});
        works.emplace_back(Gemm{n, k, m, 1, Precision::fp32, GemmPass::wgrad});
      }
    }
  }
  for (const std::int64_t seq : {128, 256, 512}) {  // scores and context of unfused attention
    for (const std::int64_t head_dim : {48, 64, 108, 150}) {
      works.emplace_back(Gemm{seq, seq, head_dim, 16, Precision::fp32, GemmPass::forward});
      works.emplace_back(Gemm{seq, head_dim, seq, 16, Precision::fp32, GemmPass::dgrad});
    }
  }
}

void add_others(std::vector<Work>& works) {
  for (const std::int64_t seq : {128, 256, 512}) {
    for (const std::int64_t head_dim : {48, 64}) {
      works.emplace_back(AttentionChain{2, seq, 8, head_dim});
    }
  }
  for (double bytes = 1 << 20; bytes <= 67108864.0; bytes *= 4) {
    works.emplace_back(GradientNorm{{bytes}});
  }
}

void add_streams(std::vector<Work>& works) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(StreamKind::copy); ++i) {
    const auto kind = static_cast<StreamKind>(i);
    const int passes = stream_passes(kind);
    if (passes == 0) continue;
    const bool by_rows = kind == StreamKind::layer_norm || kind == StreamKind::rms_norm ||
                         kind == StreamKind::softmax || kind == StreamKind::cross_entropy;
    if (!by_rows) {
      for (double bytes = 1 << 14; bytes <= 4.0 * passes * kMostElements; bytes *= 2) {
        works.emplace_back(Stream{kind, {bytes}});
      }
      continue;
    }
    for (const double width : {512.0, 1024.0, 4096.0, 32768.0}) {
      for (const double rows : {64.0, 256.0, 1024.0, 2048.0}) {
        if (rows * width > kMostElements) continue;
        const double bytes = 4.0 * passes * rows * width;
        works.emplace_back(Stream{kind, {bytes}, rows});
      }
    }
  }
}

class CpuBackend final : public Backend {
 public:
  [[nodiscard]] std::map<std::string, std::string> context() const override {
    auto context = host_context();
    context["backend"] = "cpu";
    context["openblas"] = openblas_get_config();
    context["threads"] = fmt::format("{}", openblas_get_num_threads());
    return context;
  }

  [[nodiscard]] std::vector<Work> grid() const override {
    std::vector<Work> works;
    add_gemms(works);
    add_streams(works);
    add_others(works);
    return works;
  }

  Run prepare(const Work& work) override {
    try {
      if (const auto* gemm = std::get_if<Gemm>(&work)) return prepare_gemm(*gemm);
      if (const auto* stream = std::get_if<Stream>(&work)) return prepare_stream(*stream);
      if (const auto* chain = std::get_if<AttentionChain>(&work)) return prepare_chain(*chain);
      if (const auto* norm = std::get_if<GradientNorm>(&work)) return prepare_norm(*norm);
    } catch (const std::bad_alloc&) {
      throw OutOfMemory("out of host memory");
    }
    throw SkippedPoint("cpu: not measured by this back end");
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const Clock& /*clock*/) {
  return std::make_unique<CpuBackend>();
}

}  // namespace prequel
