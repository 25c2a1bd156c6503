#include "calibrate/measure/cuda_works.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "calibrate/measure/cuda_blas.hpp"
#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_device.hpp"
#include "calibrate/measure/cuda_memory.hpp"

namespace prequel {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

#ifdef __HIP_PLATFORM_AMD__
std::pair<std::string, std::string> library() {
  return {"hipblaslt", fmt::format("{}.{}.{}", HIPBLASLT_VERSION_MAJOR, HIPBLASLT_VERSION_MINOR,
                                   HIPBLASLT_VERSION_PATCH)};
}

std::string text_of(cublasStatus_t status) {
  return fmt::format("status {}", static_cast<int>(status));
}

/// As the device of this thread has it.
cudaDataType_t e4m3() {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, current_device()), "cudaGetDeviceProperties");
  return has_fnuz(properties.gcnArchName) ? HIP_R_8F_E4M3_FNUZ : HIP_R_8F_E4M3;
}
#else
std::pair<std::string, std::string> library() {
  return {"cublaslt", fmt::format("{}", cublasLtGetVersion())};
}

std::string text_of(cublasStatus_t status) {
  return cublasLtGetStatusString(status);
}

cudaDataType_t e4m3() {
  return CUDA_R_8F_E4M3;
}
#endif

void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = fmt::format("{}: {}: {}", kGpuRuntime, call, text_of(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(text);
  throw DeviceError(text);
}

/// How the library names a format, and what it computes in.
struct Format {
  cudaDataType_t operand{};
  cudaDataType_t result{};  ///< of forward and dgrad
  cublasComputeType_t compute{CUBLAS_COMPUTE_32F};
};

Format format_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return {CUDA_R_32F, CUDA_R_32F};
    case Precision::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case Precision::fp16: return {CUDA_R_16F, CUDA_R_16F};
    case Precision::bf16: return {CUDA_R_16BF, CUDA_R_16BF};
    case Precision::fp8:
    case Precision::fp8_block:
    case Precision::mxfp8: return {e4m3(), CUDA_R_16BF};
    case Precision::fp8_row: break;
    case Precision::fp4:
#if PREQUEL_BLAS_E2M1
      return {CUDA_R_4F_E2M1, CUDA_R_16BF};
#else
      break;
#endif
  }
  return {};
}

std::size_t bits_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F: return 32;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 16;
#if PREQUEL_BLAS_E2M1
    case CUDA_R_4F_E2M1: return 4;
#endif
    default: return 8;
  }
}

/// Scales of the blocks of an operand with `rows` rows of `summed` elements: room for what the
/// library wants of any format, and the byte that they consist of (a power of two, 1, or near it).
struct BlockScales {
  std::size_t bytes{};
  int byte{};
};

BlockScales block_scales(Precision precision, std::int64_t rows, std::int64_t summed) {
  const auto up = [](std::int64_t value, std::int64_t unit) {
    return static_cast<std::size_t>((value + unit - 1) / unit * unit);
  };
  switch (precision) {
    case Precision::mxfp8: return {up(rows, 128) * up((summed + 31) / 32, 4), 0x7f};
    case Precision::fp4: return {up(rows, 128) * up((summed + 15) / 16, 4), 0x38};
    default: return {sizeof(float) * up(rows, 128) * up((summed + 127) / 128, 4), 0x3f};
  }
}

/// Owns everything that a product of one shape needs.
class CudaGemm {
 public:
  CudaGemm(const Gemm& gemm, cudaStream_t stream)
      : stream_(stream),
        format_(format_of(gemm.precision)),
        result_(gemm.pass == GemmPass::wgrad ? CUDA_R_32F : format_.result),
        beta_(gemm.pass == GemmPass::wgrad ? 1.0F : 0.0F),
        operands_(sizes(gemm),
                  is_quantized(gemm.precision) ? RandomNumbers::fp8 : RandomNumbers::bf16, stream),
        workspace_(kWorkspace) {
    cublasLtHandle_t made{};
    check_cublas(cublasLtCreate(&made), "cublasLtCreate");
    handle_.reset(made);
    describe(gemm);
    choose_kernel();
  }

  void launch() {
    const auto& arrays = operands_.next();
    const float alpha = 1.0F;
    check_cublas(cublasLtMatmul(handle_.get(), product_.get(), &alpha, arrays[0], a_.get(),
                                arrays[1], b_.get(), &beta_, arrays[2], c_.get(), arrays[2],
                                c_.get(), &kernel_.algo, workspace_.data(), kWorkspace, stream_),
                 "cublasLtMatmul");
  }

 private:
  [[nodiscard]] std::vector<std::size_t> sizes(const Gemm& gemm) const {
    const auto elements = [&](std::int64_t rows, std::int64_t columns) {
      return static_cast<std::size_t>(gemm.batch * rows * columns);
    };
    const std::size_t operand = bits_of(format_.operand);
    return {operand * elements(gemm.n, gemm.k) / 8, operand * elements(gemm.m, gemm.k) / 8,
            bits_of(result_) * elements(gemm.m, gemm.n) / 8};
  }

  using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
  static Layout layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                       std::int64_t batch) {
    cublasLtMatrixLayout_t made = nullptr;
    check_cublas(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
                 "cublasLtMatrixLayoutCreate");
    Layout owned(made);
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    check_cublas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                  sizeof count),
                 "cublasLtMatrixLayoutSetAttribute");
    check_cublas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &stride, sizeof stride),
                 "cublasLtMatrixLayoutSetAttribute");
    return owned;
  }

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check_cublas(cublasLtMatmulDescSetAttribute(product_.get(), attribute, &value, sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }

  /// Column-major: C[n,m] = op(B)·op(A), the row-major product's transpose.
  void describe(const Gemm& gemm) {
    const bool narrow = is_quantized(gemm.precision);
    const bool first = narrow || gemm.pass == GemmPass::forward;  // transposed
    const bool second = !narrow && gemm.pass == GemmPass::wgrad;
    cublasLtMatmulDesc_t made{};
    check_cublas(cublasLtMatmulDescCreate(&made, format_.compute, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
    product_.reset(made);
    set(CUBLASLT_MATMUL_DESC_TRANSA, first ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second ? CUBLAS_OP_T : CUBLAS_OP_N);
    a_ = layout(format_.operand, first ? gemm.k : gemm.n, first ? gemm.n : gemm.k, gemm.batch);
    b_ = layout(format_.operand, second ? gemm.m : gemm.k, second ? gemm.k : gemm.m, gemm.batch);
    c_ = layout(result_, gemm.n, gemm.m, gemm.batch);
    if (narrow && gemm.precision != Precision::fp8) scale_blocks(gemm);
  }

  void scale_blocks(const Gemm& gemm) {
#if PREQUEL_BLAS_BLOCK_SCALES
    const auto mode = [&](bool weights) {
      if (gemm.precision == Precision::mxfp8) return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
      if (gemm.precision == Precision::fp4) return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
      return weights && gemm.pass != GemmPass::wgrad ? CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F
                                                     : CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    };
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode(true));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode(false));
    const auto scales = [&](std::optional<DeviceBuffer>& buffer, std::int64_t rows) {
      const auto [bytes, byte] = block_scales(gemm.precision, rows * gemm.batch, gemm.k);
      buffer.emplace(bytes);
      check_cuda(cudaMemsetAsync(buffer->data(), byte, bytes, stream_), "cudaMemsetAsync");
      return buffer->data();
    };
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales(a_scales_, gemm.n));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales(b_scales_, gemm.m));
#else
    throw SkippedPoint(fmt::format("{}: scales of blocks need {}", kGpuRuntime, kBlockScalesNeed));
#endif
  }

  void choose_kernel() {
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t limit = kWorkspace;
    int found = 0;
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublasLtMatmulAlgoGetHeuristic(handle_.get(), product_.get(), a_.get(), b_.get(),
                                              c_.get(), c_.get(), preference, 1, &kernel_, &found);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) {
      throw SkippedPoint(
          fmt::format("{}: {} has no kernel for this product", kGpuRuntime, kGpuBlas));
    }
    check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
  }

  cudaStream_t stream_;
  Format format_;
  cudaDataType_t result_;
  float beta_;
  RotatingArrays operands_;
  DeviceBuffer workspace_;
  std::optional<DeviceBuffer> a_scales_;  ///< of blocks
  std::optional<DeviceBuffer> b_scales_;
  Owned<cublasLtHandle_t, cublasLtDestroy> handle_;
  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> product_;
  Layout a_;
  Layout b_;
  Layout c_;
  cublasLtMatmulHeuristicResult_t kernel_{};
};

}  // namespace

Launch prepare_cuda(const Gemm& gemm, cudaStream_t stream) {
  if (!abilities_of(current_device()).formats.contains(gemm.precision)) {
    throw SkippedPoint(fmt::format("{}: the device has no products in {}, or its library none",
                                   kGpuRuntime, name(gemm.precision)));
  }
  return [product = std::make_shared<CudaGemm>(gemm, stream)] { product->launch(); };
}

Launch prepare_cuda(const GroupedGemm& product, cudaStream_t stream) {
  const std::int64_t rows = product.rows / product.groups;
  const std::int64_t batch = product.one_launch ? product.groups : 1;
  Gemm one{rows, product.outputs, product.inputs, batch, product.precision, product.pass};
  if (product.pass == GemmPass::dgrad) std::swap(one.n, one.k);
  if (product.pass == GemmPass::wgrad) {
    one.m = product.outputs;
    one.n = product.inputs;
    one.k = rows;
  }
  Launch launch = prepare_cuda(one, stream);
  if (product.one_launch) return launch;
  return [launch = std::move(launch), groups = product.groups] {
    for (std::int64_t i = 0; i < groups; ++i) launch();
  };
}

std::pair<std::string, std::string> product_library() {
  return library();
}

}  // namespace prequel
