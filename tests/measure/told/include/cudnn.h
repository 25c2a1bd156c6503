#pragma once

/// As much of cuDNN's interface as prequel-measure calls; told_cudnn.cpp answers. As
/// cuda_runtime_api.h beside it.

#include <cuda_runtime_api.h>

#include <cstdint>

extern "C" {

/// In thousands by category.
typedef enum {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4001,
  CUDNN_STATUS_EXECUTION_FAILED = 5000
} cudnnStatus_t;
#define CUDNN_STATUS_CATEGORY(status) ((status) - (status) % 1000)

typedef enum {
  CUDNN_DATA_FLOAT,
  CUDNN_DATA_INT32,
  CUDNN_DATA_BFLOAT16,
  CUDNN_DATA_BOOLEAN,
  CUDNN_DATA_FP8_E4M3,
  CUDNN_DATA_FP8_E5M2
} cudnnDataType_t;
typedef enum {
  CUDNN_POINTWISE_ADD,
  CUDNN_POINTWISE_BINARY_SELECT,
  CUDNN_POINTWISE_CMP_GE,
  CUDNN_POINTWISE_DIV,
  CUDNN_POINTWISE_EXP,
  CUDNN_POINTWISE_GEN_INDEX,
  CUDNN_POINTWISE_IDENTITY,
  CUDNN_POINTWISE_LOG,
  CUDNN_POINTWISE_MUL,
  CUDNN_POINTWISE_SUB
} cudnnPointwiseMode_t;
typedef enum {
  CUDNN_REDUCE_TENSOR_ADD,
  CUDNN_REDUCE_TENSOR_AMAX,
  CUDNN_REDUCE_TENSOR_MAX
} cudnnReduceTensorOp_t;
typedef enum { CUDNN_HEUR_MODE_A } cudnnBackendHeurMode_t;
typedef enum {
  CUDNN_TYPE_BACKEND_DESCRIPTOR,
  CUDNN_TYPE_BOOLEAN,
  CUDNN_TYPE_CHAR,
  CUDNN_TYPE_DATA_TYPE,
  CUDNN_TYPE_HEUR_MODE,
  CUDNN_TYPE_INT32,
  CUDNN_TYPE_INT64,
  CUDNN_TYPE_POINTWISE_MODE,
  CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
  CUDNN_TYPE_VOID_PTR
} cudnnBackendAttributeType_t;
typedef enum {
  CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
  CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
  CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
  CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
  CUDNN_BACKEND_MATMUL_DESCRIPTOR,
  CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
  CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
  CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
  CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
  CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
  CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
  CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
  CUDNN_BACKEND_TENSOR_DESCRIPTOR,
  CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR
} cudnnBackendDescriptorType_t;
typedef enum {
  CUDNN_ATTR_DEVICEPROP_DEVICE_ID,
  CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
  CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
  CUDNN_ATTR_ENGINEHEUR_MODE,
  CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
  CUDNN_ATTR_ENGINEHEUR_RESULTS,
  CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
  CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
  CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
  CUDNN_ATTR_MATMUL_COMP_TYPE,
  CUDNN_ATTR_OPERATIONGRAPH_OPS,
  CUDNN_ATTR_OPERATION_MATMUL_ADESC,
  CUDNN_ATTR_OPERATION_MATMUL_BDESC,
  CUDNN_ATTR_OPERATION_MATMUL_CDESC,
  CUDNN_ATTR_OPERATION_MATMUL_DESC,
  CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
  CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
  CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
  CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
  CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
  CUDNN_ATTR_OPERATION_REDUCTION_DESC,
  CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
  CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
  CUDNN_ATTR_OPERATION_RESHAPE_XDESC,
  CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
  CUDNN_ATTR_POINTWISE_AXIS,
  CUDNN_ATTR_POINTWISE_MATH_PREC,
  CUDNN_ATTR_POINTWISE_MODE,
  CUDNN_ATTR_REDUCTION_COMP_TYPE,
  CUDNN_ATTR_REDUCTION_OPERATOR,
  CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
  CUDNN_ATTR_TENSOR_DATA_TYPE,
  CUDNN_ATTR_TENSOR_DIMENSIONS,
  CUDNN_ATTR_TENSOR_IS_BY_VALUE,
  CUDNN_ATTR_TENSOR_IS_VIRTUAL,
  CUDNN_ATTR_TENSOR_STRIDES,
  CUDNN_ATTR_TENSOR_UNIQUE_ID,
  CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
  CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
  CUDNN_ATTR_VARIANT_PACK_WORKSPACE
} cudnnBackendAttributeName_t;

typedef struct cudnnContext* cudnnHandle_t;
typedef void* cudnnBackendDescriptor_t;

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* made);
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t bound);
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t* count, void* values);
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values);
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
const char* cudnnGetErrorString(cudnnStatus_t status);
void cudnnGetLastErrorString(char* message, size_t most);
size_t cudnnGetVersion();
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
}
