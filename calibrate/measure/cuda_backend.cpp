#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_gemm.hpp"
#include "calibrate/measure/cuda_host.hpp"
#include "calibrate/measure/cuda_streams.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/gpu_grid.hpp"
#include "calibrate/measure/host_context.hpp"
#include "calibrate/measure/nvml.hpp"
#ifdef PREQUEL_HAS_CUDNN
#include "calibrate/measure/cudnn_attention.hpp"
#endif

namespace prequel {
namespace {

#ifdef PREQUEL_HAS_CUDNN
constexpr bool kHasCudnn = true;
std::string cudnn_version() {
  return fmt::format("{}", cudnnGetVersion());
}
#else
constexpr bool kHasCudnn = false;
std::string cudnn_version() {
  return "absent";
}
Launch prepare_cudnn_attention(const FusedAttention& /*attention*/, cudaStream_t /*stream*/) {
  throw SkippedPoint("cuda: built without cuDNN, which does fused attention");
}
#endif

/// The first device.
class CudaBackend final : public Backend {
 public:
  CudaBackend() {
    (void)device_count();
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    nvml_.emplace(bus_of(0));
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
    context.merge(nvml_->settings());
    context["backend"] = "cuda";
    context["device"] = device.name;
    context["compute_capability"] = fmt::format("{}.{}", device.major, device.minor);
    context["compute_units"] = fmt::format("{}", device.multiProcessorCount);
    context["memory_bytes"] = fmt::format("{}", device.totalGlobalMem);
    context["cache_bytes"] = fmt::format("{}", device.l2CacheSize);
    context["cuda_driver"] = fmt::format("{}", driver);
    context["cuda_runtime"] = fmt::format("{}", runtime);
    context["cublaslt"] = fmt::format("{}", cublasLtGetVersion());
    context["cudnn"] = cudnn_version();
    return context;
  }

  [[nodiscard]] std::map<std::string, double> state() const override { return nvml_->state(); }

  [[nodiscard]] std::string kernel(const Work& work) const override {
    return std::holds_alternative<FusedAttention>(work) ? "cudnn" : "";
  }

  [[nodiscard]] std::vector<Work> grid() const override {
    return gpu_grid({capability_of(0), kHasCudnn});
  }

  Run prepare(const Work& work) override {
    if (const auto* copy = std::get_if<HostCopy>(&work)) return prepare_cuda_copy(*copy, stream_);
    if (const auto* launch = std::get_if<KernelLaunch>(&work)) {
      return prepare_cuda_launch(*launch, stream_);
    }
    return timed(launch_of(work), stream_);
  }

 private:
  Launch launch_of(const Work& work) {
    if (const auto* gemm = std::get_if<Gemm>(&work)) return prepare_cuda_gemm(*gemm, stream_);
    if (const auto* grouped = std::get_if<GroupedGemm>(&work)) {
      return prepare_cuda_grouped(*grouped, stream_);
    }
    if (const auto* kernel = std::get_if<Stream>(&work)) {
      return prepare_cuda_stream(*kernel, stream_);
    }
    if (const auto* chain = std::get_if<AttentionChain>(&work)) {
      return prepare_cuda_chain(*chain, stream_);
    }
    if (const auto* attention = std::get_if<FusedAttention>(&work)) {
      return prepare_cudnn_attention(*attention, stream_);
    }
    if (const auto* norm = std::get_if<GradientNorm>(&work)) {
      return prepare_cuda_norm(*norm, stream_);
    }
    throw SkippedPoint("cuda: not measured by this back end");
  }

  cudaStream_t stream_{};
  std::optional<Nvml> nvml_;  ///< of the device, which must be there
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() {
  return std::make_unique<CudaBackend>();
}

}  // namespace prequel
