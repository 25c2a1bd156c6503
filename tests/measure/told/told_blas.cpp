/// cuBLASLt, or hipBLASLt under its names, by the told machine: it makes of what it is asked for
/// the product that this is, and checks that operands are where they are said to be.

#include <map>
#include <optional>

#include "calibrate/measure/cuda_blas.hpp"
#include "tests/measure/told/machine.hpp"
#include "tests/measure/told/names.hpp"

using prequel::told::machine;

namespace {

#define PREQUEL_ENTER(function)                       \
  if (const int status = machine().enter(function)) { \
    return static_cast<cublasStatus_t>(status);       \
  }

struct Product {
  cublasComputeType_t compute{};
  std::int32_t transposed_a{}, transposed_b{};
  std::optional<std::int32_t> mode_a, mode_b;
  const void* scales_a{};
  const void* scales_b{};
};

struct Layout {
  cudaDataType_t type{};
  std::int64_t rows{}, columns{}, apart{};
  std::int32_t batch{1};
  std::int64_t stride{};
};

struct Asked {
  prequel::Gemm gemm;
  bool sound{};
};

std::size_t bits_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F: return 32;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 16;
    case CUDA_R_8F_E4M3: return 8;
#if PREQUEL_BLAS_E2M1
    case CUDA_R_4F_E2M1: return 4;
#endif
    default: return 8;
  }
}

const Layout& of(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<const Layout*>(layout);
}

/// By the operands' type, what is computed in and the scales.
prequel::Precision precision_of(const Product& product, const Layout& a) {
  using enum prequel::Precision;
  switch (a.type) {
    case CUDA_R_32F: return product.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? tf32 : fp32;
    case CUDA_R_16F: return fp16;
    case CUDA_R_16BF: return bf16;
#if PREQUEL_BLAS_E2M1
    case CUDA_R_4F_E2M1: return fp4;
#endif
    default: break;
  }
  if (!product.mode_b) return fp8;
  return *product.mode_b == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 ? mxfp8 : fp8_block;
}

/// C[n,m] = op(A)[n,k] · op(B)[k,m], all of them column-major.
Asked asked(const Product& product, const Layout& a, const Layout& b, const Layout& c) {
  const bool ta = product.transposed_a == CUBLAS_OP_T;
  const bool tb = product.transposed_b == CUBLAS_OP_T;
  const std::int64_t n = ta ? a.columns : a.rows;
  const std::int64_t k = ta ? a.rows : a.columns;
  const std::int64_t m = tb ? b.rows : b.columns;
  Asked result;
  result.sound = (tb ? b.columns : b.rows) == k && c.rows == n && c.columns == m &&
                 a.type == b.type && a.batch == b.batch && b.batch == c.batch;
  for (const Layout* one : {&a, &b, &c}) {
    result.sound = result.sound && one->apart == one->rows &&
                   (one->batch == 1 || one->stride == one->rows * one->columns);
  }
  result.gemm = {m, n, k, c.batch, precision_of(product, a)};
  result.gemm.pass =
      !ta ? (tb ? prequel::GemmPass::wgrad : prequel::GemmPass::dgrad) : prequel::GemmPass::forward;
  // In formats that are all of one order the pass shows by the result alone: gradients of weights
  // are summed in fp32.
  const bool narrow = bits_of(a.type) <= 8;
  if (narrow && c.type == CUDA_R_32F) result.gemm.pass = prequel::GemmPass::wgrad;
  return result;
}

/// Returns the bytes that the library reads of the scales of `rows` rows of `summed` elements
/// (NVIDIA, "cuBLAS library", chapter on narrow precisions): tiles of 128 rows and 4 scales of a
/// byte, or fp32.
std::size_t scale_bytes(std::int32_t mode, std::int64_t rows, std::int64_t summed) {
  const auto up = [](std::int64_t value, std::int64_t unit) {
    return static_cast<std::size_t>((value + unit - 1) / unit);
  };
  switch (mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3: return 128 * up(rows, 128) * 4 * up(summed, 64);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0: return 128 * up(rows, 128) * 4 * up(summed, 128);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F: return 4 * up(rows, 1) * up(summed, 128);
    default: return 4 * up(rows, 128) * 4 * up(summed, 512);
  }
}

void check_operand(const char* what, const void* memory, const Layout& layout) {
  const std::int64_t elements = layout.rows * layout.columns * layout.batch;
  machine().check_memory(what, memory,
                         bits_of(layout.type) * static_cast<std::size_t>(elements) / 8);
}

template <typename Made, typename Handle>
cublasStatus_t destroy(Handle handle) {
  delete reinterpret_cast<Made*>(handle);
  --machine().alive;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  PREQUEL_ENTER("cublasLtCreate")
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  ++machine().alive;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy<int>(handle);
}

#ifndef __HIP_PLATFORM_AMD__
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_ALLOC_FAILED ? "no room for what the library needs"
                                              : "some status";
}

size_t cublasLtGetVersion() {
  return 120900;
}
#endif

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t) {
  PREQUEL_ENTER("cublasLtMatmulDescCreate")
  auto* const product = new Product;
  product->compute = compute;
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(product);
  ++machine().alive;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return destroy<Product>(product);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  PREQUEL_ENTER("cublasLtMatmulDescSetAttribute")
  auto& product = *reinterpret_cast<Product*>(handle);
  const bool pointer = which == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER ||
                       which == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER;
  if (bytes != (pointer ? sizeof(void*) : sizeof(std::int32_t))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto number = [&] { return *static_cast<const std::int32_t*>(value); };
  const auto address = [&] { return *static_cast<const void* const*>(value); };
  if (which == CUBLASLT_MATMUL_DESC_TRANSA) product.transposed_a = number();
  if (which == CUBLASLT_MATMUL_DESC_TRANSB) product.transposed_b = number();
  if (which == CUBLASLT_MATMUL_DESC_A_SCALE_MODE) product.mode_a = number();
  if (which == CUBLASLT_MATMUL_DESC_B_SCALE_MODE) product.mode_b = number();
  if (which == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) product.scales_a = address();
  if (which == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) product.scales_b = address();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t apart) {
  PREQUEL_ENTER("cublasLtMatrixLayoutCreate")
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), apart});
  ++machine().alive;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<Layout>(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t bytes) {
  PREQUEL_ENTER("cublasLtMatrixLayoutSetAttribute")
  auto& layout = *reinterpret_cast<Layout*>(handle);
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    if (bytes != sizeof(std::int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
    layout.batch = *static_cast<const std::int32_t*>(value);
  } else {
    if (bytes != sizeof(std::int64_t)) return CUBLAS_STATUS_INVALID_VALUE;
    layout.stride = *static_cast<const std::int64_t*>(value);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  PREQUEL_ENTER("cublasLtMatmulPreferenceCreate")
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new std::size_t);
  ++machine().alive;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<std::size_t>(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t bytes) {
  PREQUEL_ENTER("cublasLtMatmulPreferenceSetAttribute")
  return bytes == sizeof(std::size_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t*, int* found) {
  *found = 0;
  PREQUEL_ENTER("cublasLtMatmulAlgoGetHeuristic")
  const Asked what = asked(*reinterpret_cast<Product*>(product), of(a), of(b), of(c));
  if (!what.sound) return CUBLAS_STATUS_INVALID_VALUE;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t handle, const void*,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void*, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t*, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  PREQUEL_ENTER("cublasLtMatmul")
  const auto& product = *reinterpret_cast<Product*>(handle);
  const Asked what = asked(product, of(a_layout), of(b_layout), of(c_layout));
  if (!what.sound) return CUBLAS_STATUS_INVALID_VALUE;
  check_operand("cublasLtMatmul: A", a, of(a_layout));
  check_operand("cublasLtMatmul: B", b, of(b_layout));
  check_operand("cublasLtMatmul: C", c, of(c_layout));
  check_operand("cublasLtMatmul: D", d, of(c_layout));
  machine().check_memory("cublasLtMatmul: workspace", workspace, workspace_bytes);
  if (product.mode_a) {
    const auto& [m, n, k, batch, precision, pass] = what.gemm;
    machine().check_memory("cublasLtMatmul: scales of A", product.scales_a,
                           scale_bytes(*product.mode_a, n * batch, k));
    machine().check_memory("cublasLtMatmul: scales of B", product.scales_b,
                           scale_bytes(*product.mode_b, m * batch, k));
  }
  machine().submit(*reinterpret_cast<prequel::told::Stream*>(stream), what.gemm, "cublasLtMatmul");
  return CUBLAS_STATUS_SUCCESS;
}
