#include "calibrate/measure/cuda_gemm.hpp"

#include <memory>
#include <string>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_memory.hpp"

namespace prequel {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

/// How cuBLASLt names a format, and what it computes in.
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
    case Precision::fp8: return {CUDA_R_8F_E4M3, CUDA_R_16BF};
    case Precision::fp4:
    case Precision::fp8_block:
    case Precision::fp8_row:
    case Precision::mxfp8: break;
  }
  return {};
}

std::size_t bytes_of(cudaDataType_t type) {
  if (type == CUDA_R_32F) return 4;
  return type == CUDA_R_8F_E4M3 ? 1 : 2;
}

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
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
                  gemm.precision == Precision::fp8 ? RandomNumbers::fp8 : RandomNumbers::bf16,
                  stream),
        workspace_(kWorkspace) {
    try {
      check_cublas(cublasLtCreate(&handle_), "cublasLtCreate");
      describe(gemm);
      choose_kernel();
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~CudaGemm() { destroy(); }
  CudaGemm(const CudaGemm&) = delete;
  CudaGemm& operator=(const CudaGemm&) = delete;

  void launch() {
    const auto& arrays = operands_.next();
    const float alpha = 1.0F;
    check_cublas(
        cublasLtMatmul(handle_, product_, &alpha, arrays[0], a_, arrays[1], b_, &beta_, arrays[2],
                       c_, arrays[2], c_, &kernel_.algo, workspace_.data(), kWorkspace, stream_),
        "cublasLtMatmul");
  }

 private:
  [[nodiscard]] std::vector<std::size_t> sizes(const Gemm& gemm) const {
    const auto elements = [&](std::int64_t rows, std::int64_t columns) {
      return static_cast<std::size_t>(gemm.batch * rows * columns);
    };
    const std::size_t operand = bytes_of(format_.operand);
    return {operand * elements(gemm.n, gemm.k), operand * elements(gemm.m, gemm.k),
            bytes_of(result_) * elements(gemm.m, gemm.n)};
  }

  static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                       std::int64_t batch) {
    cublasLtMatrixLayout_t made = nullptr;
    check_cublas(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
                 "cublasLtMatrixLayoutCreate");
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    check_cublas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                  sizeof count),
                 "cublasLtMatrixLayoutSetAttribute");
    check_cublas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &stride, sizeof stride),
                 "cublasLtMatrixLayoutSetAttribute");
    return made;
  }

  void set(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t value) {
    check_cublas(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }

  /// Column-major: C[n,m] = op(B)·op(A), the row-major product's transpose.
  void describe(const Gemm& gemm) {
    const bool fp8 = gemm.precision == Precision::fp8;
    const bool first = fp8 || gemm.pass == GemmPass::forward;  // transposed
    const bool second = !fp8 && gemm.pass == GemmPass::wgrad;
    check_cublas(cublasLtMatmulDescCreate(&product_, format_.compute, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, first ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second ? CUBLAS_OP_T : CUBLAS_OP_N);
    a_ = layout(format_.operand, first ? gemm.k : gemm.n, first ? gemm.n : gemm.k, gemm.batch);
    b_ = layout(format_.operand, second ? gemm.m : gemm.k, second ? gemm.k : gemm.m, gemm.batch);
    c_ = layout(result_, gemm.n, gemm.m, gemm.batch);
  }

  void choose_kernel() {
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t limit = kWorkspace;
    int found = 0;
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublasLtMatmulAlgoGetHeuristic(handle_, product_, a_, b_, c_, c_, preference, 1,
                                              &kernel_, &found);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) {
      throw SkippedPoint("cuda: cuBLASLt has no kernel for this product");
    }
    check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
  }

  void destroy() {
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
      if (layout) cublasLtMatrixLayoutDestroy(layout);
    }
    if (product_) cublasLtMatmulDescDestroy(product_);
    if (handle_) cublasLtDestroy(handle_);
  }

  cudaStream_t stream_;
  Format format_;
  cudaDataType_t result_;
  float beta_;
  RotatingArrays operands_;
  DeviceBuffer workspace_;
  cublasLtHandle_t handle_{};
  cublasLtMatmulDesc_t product_{};
  cublasLtMatrixLayout_t a_{};
  cublasLtMatrixLayout_t b_{};
  cublasLtMatrixLayout_t c_{};
  cublasLtMatmulHeuristicResult_t kernel_{};
};

}  // namespace

Launch prepare_cuda_gemm(const Gemm& gemm, cudaStream_t stream) {
  if (gemm.precision == Precision::fp8 && !has_fp8(current_device())) {
    throw SkippedPoint("cuda: the device has no fp8");
  }
  if (is_quantized(gemm.precision) && gemm.precision != Precision::fp8) {
    throw SkippedPoint("cuda: products with scales of blocks are not measured");
  }
  return [product = std::make_shared<CudaGemm>(gemm, stream)] { product->launch(); };
}

bool has_fp8(int device) {
  int major = 0;
  int minor = 0;
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "cudaDeviceGetAttribute");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
             "cudaDeviceGetAttribute");
  return 10 * major + minor >= 89;
}

}  // namespace prequel
