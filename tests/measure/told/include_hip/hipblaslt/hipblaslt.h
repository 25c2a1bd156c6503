#pragma once

/// As much of hipBLASLt's interface as prequel-measure calls; told_blas.cpp answers. As
/// hip_runtime_api.h beside it.

#include <hip/hip_runtime_api.h>

#include <cstdint>

extern "C" {

typedef enum hipDataType {
  HIP_R_32F,
  HIP_R_16F,
  HIP_R_16BF,
  HIP_R_8F_E4M3,
  HIP_R_8F_E4M3_FNUZ
} hipDataType;

typedef enum {
  HIPBLAS_STATUS_SUCCESS,
  HIPBLAS_STATUS_ALLOC_FAILED,
  HIPBLAS_STATUS_INVALID_VALUE,
  HIPBLAS_STATUS_EXECUTION_FAILED,
  HIPBLAS_STATUS_NOT_SUPPORTED
} hipblasStatus_t;
typedef enum { HIPBLAS_COMPUTE_32F, HIPBLAS_COMPUTE_32F_FAST_TF32 } hipblasComputeType_t;
typedef enum { HIPBLAS_OP_N, HIPBLAS_OP_T } hipblasOperation_t;
typedef enum {
  HIPBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 = 1,
  HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0,
  HIPBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
  HIPBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F
} hipblasLtMatmulMatrixScale_t;
typedef enum {
  HIPBLASLT_MATMUL_DESC_TRANSA,
  HIPBLASLT_MATMUL_DESC_TRANSB,
  HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER,
  HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER,
  HIPBLASLT_MATMUL_DESC_A_SCALE_MODE,
  HIPBLASLT_MATMUL_DESC_B_SCALE_MODE
} hipblasLtMatmulDescAttributes_t;
typedef enum {
  HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
} hipblasLtMatrixLayoutAttribute_t;
typedef enum { HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES } hipblasLtMatmulPreferenceAttributes_t;

typedef struct hipblasLtContext* hipblasLtHandle_t;
typedef struct hipblasLtMatmulDescOpaque* hipblasLtMatmulDesc_t;
typedef struct hipblasLtMatrixLayoutOpaque* hipblasLtMatrixLayout_t;
typedef struct hipblasLtMatmulPreferenceOpaque* hipblasLtMatmulPreference_t;
typedef struct {
  uint64_t data[8];
} hipblasLtMatmulAlgo_t;
typedef struct {
  hipblasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  hipblasStatus_t state;
} hipblasLtMatmulHeuristicResult_t;

hipblasStatus_t hipblasLtCreate(hipblasLtHandle_t* handle);
hipblasStatus_t hipblasLtDestroy(hipblasLtHandle_t handle);
hipblasStatus_t hipblasLtMatmul(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t product,
                                const void* alpha, const void* a, hipblasLtMatrixLayout_t a_layout,
                                const void* b, hipblasLtMatrixLayout_t b_layout, const void* beta,
                                const void* c, hipblasLtMatrixLayout_t c_layout, void* d,
                                hipblasLtMatrixLayout_t d_layout, const hipblasLtMatmulAlgo_t* algo,
                                void* workspace, size_t workspace_bytes, hipStream_t stream);
hipblasStatus_t hipblasLtMatmulAlgoGetHeuristic(
    hipblasLtHandle_t handle, hipblasLtMatmulDesc_t product, hipblasLtMatrixLayout_t a,
    hipblasLtMatrixLayout_t b, hipblasLtMatrixLayout_t c, hipblasLtMatrixLayout_t d,
    hipblasLtMatmulPreference_t preference, int wanted, hipblasLtMatmulHeuristicResult_t* results,
    int* found);
hipblasStatus_t hipblasLtMatmulDescCreate(hipblasLtMatmulDesc_t* made, hipblasComputeType_t compute,
                                          hipDataType scale);
hipblasStatus_t hipblasLtMatmulDescDestroy(hipblasLtMatmulDesc_t product);
hipblasStatus_t hipblasLtMatmulDescSetAttribute(hipblasLtMatmulDesc_t product,
                                                hipblasLtMatmulDescAttributes_t which,
                                                const void* value, size_t bytes);
hipblasStatus_t hipblasLtMatmulPreferenceCreate(hipblasLtMatmulPreference_t* made);
hipblasStatus_t hipblasLtMatmulPreferenceDestroy(hipblasLtMatmulPreference_t preference);
hipblasStatus_t hipblasLtMatmulPreferenceSetAttribute(hipblasLtMatmulPreference_t preference,
                                                      hipblasLtMatmulPreferenceAttributes_t which,
                                                      const void* value, size_t bytes);
hipblasStatus_t hipblasLtMatrixLayoutCreate(hipblasLtMatrixLayout_t* made, hipDataType type,
                                            uint64_t rows, uint64_t columns, int64_t stride);
hipblasStatus_t hipblasLtMatrixLayoutDestroy(hipblasLtMatrixLayout_t layout);
hipblasStatus_t hipblasLtMatrixLayoutSetAttribute(hipblasLtMatrixLayout_t layout,
                                                  hipblasLtMatrixLayoutAttribute_t which,
                                                  const void* value, size_t bytes);
}
