#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_device.hpp"
#include "calibrate/measure/cuda_timing.hpp"
#include "calibrate/measure/cuda_works.hpp"
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
Launch prepare_cuda(const FusedAttention& /*attention*/, cudaStream_t /*stream*/) {
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
    stream_ = make_stream();
    sensors_ = sensors_of(0);
    abilities_ = abilities_of(0);
  }

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
    return std::visit([this](const auto& what) { return prepare_this(what); }, work);
  }

 private:
  template <class What>
  Run prepare_this(const What& what) {
    cudaStream_t on = stream_.get();
    if constexpr (requires { prepare_cuda(what, on, patience_); }) {
      return prepare_cuda(what, on, patience_);
    } else if constexpr (requires { prepare_cuda(what, on); }) {
      return timed(prepare_cuda(what, on), on, patience_);
    } else {
      throw SkippedPoint(fmt::format("{}: not measured by this back end", kGpuRuntime));
    }
  }

  Patience patience_;
  OwnedStream stream_;
  std::unique_ptr<GpuSensors> sensors_;
  GpuAbilities abilities_;
};

}  // namespace

std::unique_ptr<Backend> make_gpu_backend(const Clock& clock) {
  return std::make_unique<CudaBackend>(clock);
}

}  // namespace prequel
