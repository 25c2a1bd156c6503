#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_device.hpp"
#include "calibrate/measure/cuda_gemm.hpp"
#include "calibrate/measure/cuda_host.hpp"
#include "calibrate/measure/cuda_streams.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#ifdef PREQUEL_HAS_CUDNN
#include "calibrate/measure/cudnn_attention.hpp"
#endif

namespace prequel {
namespace {

#ifdef PREQUEL_HAS_CUDNN
std::string cudnn_version() {
  return fmt::format("{}", cudnnGetVersion());
}
#else
std::string cudnn_version() {
  return "absent";
}
Launch prepare_cudnn_attention(const FusedAttention& /*attention*/, cudaStream_t /*stream*/) {
  throw SkippedPoint(
      fmt::format("{}: built without cuDNN, which does fused attention", kGpuRuntime));
}
#endif

/// The first device.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const Clock& clock) : patience_(clock) {
    (void)device_count();
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    sensors_ = sensors_of(0);
    abilities_ = abilities_of(0);
  }
  ~CudaBackend() override { (void)cudaStreamDestroy(stream_); }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  [[nodiscard]] std::map<std::string, std::string> context() const override {
    auto context = context_of(0, *sensors_);
    context.insert(product_library());
    context["cudnn"] = cudnn_version();
    if (!abilities_.lacks.empty()) {
      context["not_measured"] = fmt::format("{}", fmt::join(abilities_.lacks, "; "));
    }
    return context;
  }

  [[nodiscard]] std::vector<Unproven> unproven() const override {
    return unproven_kernels(grid(), product_library().first);
  }

  [[nodiscard]] std::map<std::string, double> state() const override { return sensors_->state(); }

  [[nodiscard]] std::string kernel(const Work& work) const override {
    return std::holds_alternative<FusedAttention>(work) ? "cudnn" : "";
  }

  [[nodiscard]] std::vector<Work> grid() const override { return gpu_grid(abilities_); }

  Run prepare(const Work& work) override {
    if (const auto* copy = std::get_if<HostCopy>(&work)) {
      return prepare_cuda_copy(*copy, stream_, patience_);
    }
    if (const auto* launch = std::get_if<KernelLaunch>(&work)) {
      return prepare_cuda_launch(*launch, stream_, patience_);
    }
    return timed(launch_of(work), stream_, patience_);
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
    throw SkippedPoint(fmt::format("{}: not measured by this back end", kGpuRuntime));
  }

  Patience patience_;
  cudaStream_t stream_{};
  std::unique_ptr<GpuSensors> sensors_;
  GpuAbilities abilities_;
};

}  // namespace

std::unique_ptr<Backend> make_gpu_backend(const Clock& clock) {
  return std::make_unique<CudaBackend>(clock);
}

}  // namespace prequel
