#pragma once

/// CUDA's names of what the told machine answers beside what prequel-measure itself asks for
/// (calibrate/measure/cuda_or_hip.hpp), where HIP has others.

#include "calibrate/measure/cuda_or_hip.hpp"

#ifdef __HIP_PLATFORM_AMD__
#define cudaErrorECCUncorrectable hipErrorECCNotCorrectable
#define cudaErrorIllegalAddress hipErrorIllegalAddress
#define cudaErrorInsufficientDriver hipErrorInsufficientDriver
#define cudaErrorInvalidResourceHandle hipErrorInvalidHandle
#define cudaErrorInvalidValue hipErrorInvalidValue
#define cudaErrorNoDevice hipErrorNoDevice
#define cudaMemcpyKind hipMemcpyKind
#define cudaStreamCaptureMode hipStreamCaptureMode

#define CUBLAS_STATUS_INVALID_VALUE HIPBLAS_STATUS_INVALID_VALUE
#define cublasLtMatmulAlgo_t hipblasLtMatmulAlgo_t
#define cublasLtMatmulPreferenceAttributes_t hipblasLtMatmulPreferenceAttributes_t
#define cublasLtMatrixLayoutAttribute_t hipblasLtMatrixLayoutAttribute_t
#endif
