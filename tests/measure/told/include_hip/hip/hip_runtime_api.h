#pragma once

/// As much of HIP's interface as prequel-measure calls, declared for tests on machines without
/// ROCm; told_runtime.cpp answers. Numbers are of our own: programs ask by names.

#include <cstddef>

extern "C" {

typedef enum hipError {
  hipSuccess,
  hipErrorInvalidValue,
  hipErrorOutOfMemory,
  hipErrorInsufficientDriver,
  hipErrorNoDevice,
  hipErrorECCNotCorrectable,
  hipErrorInvalidHandle,
  hipErrorNotReady,
  hipErrorIllegalAddress,
  hipErrorNotSupported
} hipError_t;

typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphExec* hipGraphExec_t;

enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
enum hipStreamCaptureMode { hipStreamCaptureModeThreadLocal };
typedef enum hipDeviceAttribute_t { hipDeviceAttributeL2CacheSize } hipDeviceAttribute_t;
enum { hipStreamNonBlocking = 1, hipEventDisableTiming = 2 };

typedef struct hipDeviceProp_t {
  char name[256];
  size_t totalGlobalMem;
  int multiProcessorCount;
  char gcnArchName[256];
} hipDeviceProp_t;

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int device);
hipError_t hipDeviceGetPCIBusId(char* bus, int length, int device);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipFree(void* memory);
hipError_t hipHostFree(void* memory);
hipError_t hipGetDevice(int* device);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
const char* hipGetErrorString(hipError_t error);
hipError_t hipGetLastError();
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphExecDestroy(hipGraphExec_t graph);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* ready, hipGraph_t graph,
                                        unsigned long long flags);
hipError_t hipGraphLaunch(hipGraphExec_t graph, hipStream_t stream);
hipError_t hipMalloc(void** memory, size_t bytes);
hipError_t hipHostMalloc(void** memory, size_t bytes, unsigned flags = 0);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, enum hipMemcpyKind kind,
                          hipStream_t stream);
hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream);
hipError_t hipRuntimeGetVersion(int* version);
hipError_t hipSetDevice(int device);
hipError_t hipStreamBeginCapture(hipStream_t stream, enum hipStreamCaptureMode mode);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
}
