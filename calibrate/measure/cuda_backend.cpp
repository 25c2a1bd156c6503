#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_gemm.hpp"
#include "calibrate/measure/cuda_kernels.hpp"
#include "calibrate/measure/host_context.hpp"
#include "calibrate/measure/sampling.hpp"

namespace prequel {
namespace {

/// Launches between two looks at the clock: one alone is shorter than the clock's call.
constexpr int kLaunches = 200;

std::optional<CudaKernel> kernel_of(StreamKind kind) {
  switch (kind) {
    case StreamKind::copy: return CudaKernel::copy;
    case StreamKind::residual_add: return CudaKernel::residual_add;
    case StreamKind::gelu: return CudaKernel::gelu;
    case StreamKind::swiglu: return CudaKernel::swiglu;
    case StreamKind::layer_norm: return CudaKernel::layer_norm;
    case StreamKind::rms_norm: return CudaKernel::rms_norm;
    default: return std::nullopt;
  }
}

/// Arrays that each element passes through, 2 bytes each.
int passes_of(StreamKind kind) {
  return kind == StreamKind::residual_add || kind == StreamKind::swiglu ? 3 : 2;
}

Run prepare_stream(const Stream& stream, cudaStream_t on) {
  const auto passes = static_cast<std::size_t>(passes_of(stream.kind));
  const auto rows = static_cast<std::size_t>(stream.rows);
  const std::size_t width = static_cast<std::size_t>(stream.bytes.value) / (2 * passes * rows);
  struct Arrays {
    DeviceBuffer a, b, c;
    DeviceTimer timer;
  };
  const std::size_t bytes = 2 * rows * width;
  auto arrays = std::shared_ptr<Arrays>(
      new Arrays{DeviceBuffer(bytes), DeviceBuffer(bytes), DeviceBuffer(bytes), {}});
  check_cuda(fill_random_bf16(arrays->a.data(), rows * width, on), "fill_random_bf16");
  check_cuda(fill_random_bf16(arrays->b.data(), rows * width, on), "fill_random_bf16");
  return [=, kernel = kernel_of(stream.kind).value()] {
    return arrays->timer.time(on, [&] {
      check_cuda(launch_stream_kernel(kernel, arrays->a.data(), arrays->b.data(), arrays->c.data(),
                                      rows, width, on),
                 "launch_stream_kernel");
    });
  };
}

Run prepare_copy(const HostCopy& copy, cudaStream_t on) {
  const auto bytes = static_cast<std::size_t>(copy.bytes.value);
  struct Sides {
    DeviceBuffer device;
    DeviceTimer timer;
    void* pinned{};
    explicit Sides(std::size_t size) : device(size) {
      check_cuda(cudaMallocHost(&pinned, size), "cudaMallocHost");
    }
    ~Sides() { cudaFreeHost(pinned); }
    Sides(const Sides&) = delete;
    Sides& operator=(const Sides&) = delete;
  };
  const auto sides = std::make_shared<Sides>(bytes);
  return [=, to_device = copy.to_device] {
    return sides->timer.time(on, [&] {
      check_cuda(to_device ? cudaMemcpyAsync(sides->device.data(), sides->pinned, bytes,
                                             cudaMemcpyHostToDevice, on)
                           : cudaMemcpyAsync(sides->pinned, sides->device.data(), bytes,
                                             cudaMemcpyDeviceToHost, on),
                 "cudaMemcpyAsync");
    });
  };
}

/// Host time of one launch in a row of them.
Run prepare_launch(cudaStream_t on) {
  return [on, clock = steady_clock()] {
    check_cuda(cudaStreamSynchronize(on), "cudaStreamSynchronize");
    const Seconds start = clock();
    for (int i = 0; i < kLaunches; ++i) check_cuda(launch_empty_kernel(on), "launch_empty_kernel");
    const Seconds time{(clock().value - start.value) / kLaunches};
    check_cuda(cudaStreamSynchronize(on), "cudaStreamSynchronize");
    return time;
  };
}

class CudaBackend final : public Backend {
 public:
  CudaBackend() {
    int devices = 0;
    check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices == 0) throw DeviceError("cuda: no device");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~CudaBackend() override { cudaStreamDestroy(stream_); }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  [[nodiscard]] std::map<std::string, std::string> context() const override {
    cudaDeviceProp device{};
    int driver = 0;
    int runtime = 0;
    check_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    auto context = host_context();
    context["backend"] = "cuda";
    context["device"] = device.name;
    context["compute_units"] = fmt::format("{}", device.multiProcessorCount);
    context["cuda_driver"] = fmt::format("{}", driver);
    context["cuda_runtime"] = fmt::format("{}", runtime);
    context["cublaslt"] = fmt::format("{}", cublasLtGetVersion());
    return context;
  }

  [[nodiscard]] std::vector<Work> grid() const override {
    std::vector<Work> works{KernelLaunch{}};
    for (const std::int64_t m : {1024, 2048, 4096, 8192}) {
      for (const std::int64_t hidden : {1024, 2048, 4096, 5120, 8192}) {
        for (const auto& [n, k] : {std::pair{3 * hidden, hidden}, std::pair{hidden, hidden},
                                   std::pair{4 * hidden, hidden}, std::pair{hidden, 4 * hidden}}) {
          works.emplace_back(Gemm{m, n, k});
          if (m != 4096) continue;
          works.emplace_back(Gemm{m, k, n, 1, Precision::bf16, GemmPass::dgrad});
          works.emplace_back(Gemm{n, k, m, 1, Precision::bf16, GemmPass::wgrad});
        }
      }
    }
    for (const std::int64_t head_dim : {64, 108, 128, 150}) {  // two of them misaligned
      works.emplace_back(Gemm{2048, 2048, head_dim, 32});
      works.emplace_back(Gemm{2048, head_dim, 2048, 32, Precision::bf16, GemmPass::dgrad});
    }
    for (std::size_t i = 0; i <= static_cast<std::size_t>(StreamKind::copy); ++i) {
      const auto kind = static_cast<StreamKind>(i);
      if (!kernel_of(kind)) continue;
      const int passes = passes_of(kind);
      for (const double rows : {512.0, 2048.0, 8192.0, 32768.0}) {
        for (const double width : {1024.0, 4096.0, 8192.0, 16384.0}) {
          works.emplace_back(Stream{kind, {2.0 * passes * rows * width}, rows});
        }
      }
    }
    for (double bytes = 4096; bytes <= 1073741824.0; bytes *= 8) {
      works.emplace_back(HostCopy{true, true, {bytes}});
      works.emplace_back(HostCopy{false, true, {bytes}});
    }
    return works;
  }

  Run prepare(const Work& work) override {
    if (const auto* gemm = std::get_if<Gemm>(&work)) return prepare_cuda_gemm(*gemm, stream_);
    if (const auto* stream = std::get_if<Stream>(&work)) return prepare_stream(*stream, stream_);
    if (const auto* copy = std::get_if<HostCopy>(&work)) return prepare_copy(*copy, stream_);
    if (std::holds_alternative<KernelLaunch>(work)) return prepare_launch(stream_);
    throw SkippedPoint("cuda: not measured by this back end");
  }

 private:
  cudaStream_t stream_{};
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() {
  return std::make_unique<CudaBackend>();
}

}  // namespace prequel
