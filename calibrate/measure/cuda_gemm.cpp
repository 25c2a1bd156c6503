#include "calibrate/measure/cuda_gemm.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_kernels.hpp"

namespace prequel {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
/// Larger than any last-level cache of a GPU.
constexpr double kRotatedBytes = 2.5e8;

struct Operands {
  DeviceBuffer a, b, c;
};

/// Owns everything that a product of one shape needs.
class CudaGemm {
 public:
  CudaGemm(const Gemm& gemm, cudaStream_t stream)
      : stream_(stream), beta_(gemm.pass == GemmPass::wgrad ? 1.0F : 0.0F), workspace_(kWorkspace) {
    check_cublas(cublasLtCreate(&handle_), "cublasLtCreate");
    describe(gemm);
    choose_kernel();
    make_operands(gemm);
  }

  ~CudaGemm() {
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(handle_);
  }
  CudaGemm(const CudaGemm&) = delete;
  CudaGemm& operator=(const CudaGemm&) = delete;

  Seconds run() {
    const Operands& set = *operands_[next_++ % operands_.size()];
    return timer_.time(stream_, [&] {
      const float alpha = 1.0F;
      check_cublas(cublasLtMatmul(handle_, product_, &alpha, set.a.data(), a_, set.b.data(), b_,
                                  &beta_, set.c.data(), c_, set.c.data(), c_, &kernel_.algo,
                                  workspace_.data(), kWorkspace, stream_),
                   "cublasLtMatmul");
    });
  }

 private:
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

  /// Column-major: C[n,m] = op(B)·op(A), the row-major product's transpose.
  void describe(const Gemm& gemm) {
    const cublasOperation_t first = gemm.pass == GemmPass::forward ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = gemm.pass == GemmPass::wgrad ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_cublas(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
    check_cublas(
        cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first),
        "cublasLtMatmulDescSetAttribute");
    check_cublas(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                sizeof second),
                 "cublasLtMatmulDescSetAttribute");
    const bool transposed = first == CUBLAS_OP_T;
    const bool wgrad = gemm.pass == GemmPass::wgrad;
    a_ =
        layout(CUDA_R_16BF, transposed ? gemm.k : gemm.n, transposed ? gemm.n : gemm.k, gemm.batch);
    b_ = layout(CUDA_R_16BF, wgrad ? gemm.m : gemm.k, wgrad ? gemm.k : gemm.m, gemm.batch);
    c_ = layout(wgrad ? CUDA_R_32F : CUDA_R_16BF, gemm.n, gemm.m, gemm.batch);
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
    check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw DeviceError("cuda: cuBLASLt has no kernel for this product");
  }

  void make_operands(const Gemm& gemm) {
    const auto size = [&](std::int64_t rows, std::int64_t columns) {
      return static_cast<std::size_t>(gemm.batch * rows * columns);
    };
    const std::size_t a = size(gemm.n, gemm.k);
    const std::size_t b = size(gemm.m, gemm.k);
    const std::size_t c = size(gemm.m, gemm.n);
    const std::size_t c_bytes = c * (gemm.pass == GemmPass::wgrad ? 4 : 2);
    const double bytes = static_cast<double>(2 * (a + b) + c_bytes);
    const int sets = std::clamp(static_cast<int>(kRotatedBytes / bytes) + 1, 1, 64);
    for (int i = 0; i < sets; ++i) {
      operands_.push_back(std::unique_ptr<Operands>(
          new Operands{DeviceBuffer(2 * a), DeviceBuffer(2 * b), DeviceBuffer(c_bytes)}));
      check_cuda(fill_random_bf16(operands_.back()->a.data(), a, stream_), "fill_random_bf16");
      check_cuda(fill_random_bf16(operands_.back()->b.data(), b, stream_), "fill_random_bf16");
      check_cuda(cudaMemsetAsync(operands_.back()->c.data(), 0, c_bytes, stream_),
                 "cudaMemsetAsync");
    }
  }

  cudaStream_t stream_;
  float beta_;
  DeviceBuffer workspace_;
  cublasLtHandle_t handle_{};
  cublasLtMatmulDesc_t product_{};
  cublasLtMatrixLayout_t a_{};
  cublasLtMatrixLayout_t b_{};
  cublasLtMatrixLayout_t c_{};
  cublasLtMatmulHeuristicResult_t kernel_{};
  std::vector<std::unique_ptr<Operands>> operands_;
  std::size_t next_{};
  DeviceTimer timer_;
};

}  // namespace

Run prepare_cuda_gemm(const Gemm& gemm, cudaStream_t stream) {
  return [product = std::make_shared<CudaGemm>(gemm, stream)] { return product->run(); };
}

}  // namespace prequel
