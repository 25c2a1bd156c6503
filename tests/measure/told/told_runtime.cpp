/// The runtime of CUDA, or under HIP's names of HIP, by the told machine; and the device code of
/// calibrate/measure/cuda_kernels.hpp, as kernels of the cost that it was told.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "calibrate/measure/cuda_kernels.hpp"
#include "calibrate/measure/gpu_grid.hpp"
#include "tests/measure/told/machine.hpp"
#include "tests/measure/told/names.hpp"

using prequel::told::Machine;
using prequel::told::machine;

namespace {

/// Orders know functions by CUDA's names, of HIP, too.
#define PREQUEL_ENTER(function)                             \
  if (const int status = machine().enter(function, true)) { \
    return static_cast<cudaError_t>(status);                \
  }

prequel::told::Stream& stream_of(cudaStream_t stream) {
  if (!stream) machine().complain("work on the default stream, which waits for all others");
  static prequel::told::Stream none;
  return stream ? *reinterpret_cast<prequel::told::Stream*>(stream) : none;
}

prequel::told::Event& event_of(cudaEvent_t event) {
  return *reinterpret_cast<prequel::told::Event*>(event);
}

cudaError_t failed(cudaError_t status) {
  machine().last_error = status;
  return status;
}

template <typename Made, typename Handle>
cudaError_t make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(new Made);
  ++machine().alive;
  return cudaSuccess;
}

template <typename Made, typename Handle>
cudaError_t destroy(Handle handle) {
  if (!handle) return cudaErrorInvalidResourceHandle;
  delete reinterpret_cast<Made*>(handle);
  --machine().alive;
  return cudaSuccess;
}

cudaError_t ask(double moment) {
  return machine().passes(moment) ? cudaSuccess : failed(cudaErrorNotReady);
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  PREQUEL_ENTER("cudaGetDeviceCount")
  *count = machine().orders().devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  PREQUEL_ENTER("cudaSetDevice")
  if (device >= machine().orders().devices) return failed(cudaErrorInvalidValue);
  machine().device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  PREQUEL_ENTER("cudaGetDevice")
  *device = machine().device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  PREQUEL_ENTER("cudaGetDeviceProperties")
  const auto& orders = machine().orders();
  *properties = cudaDeviceProp{};
  std::snprintf(properties->name, sizeof properties->name, "%s", orders.name.c_str());
  properties->totalGlobalMem = static_cast<std::size_t>(orders.memory);
  properties->multiProcessorCount = orders.units;
#ifdef __HIP_PLATFORM_AMD__
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "%s",
                orders.architecture.c_str());
#else
  properties->major = orders.capability / 10;
  properties->minor = orders.capability % 10;
#endif
  return cudaSuccess;
}

#ifdef __HIP_PLATFORM_AMD__
cudaError_t cudaDeviceGetAttribute(int* value, hipDeviceAttribute_t, int) {
  PREQUEL_ENTER("cudaDeviceGetAttribute")
  *value = machine().orders().cache;
  return cudaSuccess;
}
#else
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  PREQUEL_ENTER("cudaDeviceGetAttribute")
  const auto& orders = machine().orders();
  *value = which == cudaDevAttrL2CacheSize ? orders.cache
           : which == cudaDevAttrComputeCapabilityMajor ? orders.capability / 10
                                                        : orders.capability % 10;
  return cudaSuccess;
}
#endif

cudaError_t cudaDeviceGetPCIBusId(char* bus, int length, int device) {
  PREQUEL_ENTER("cudaDeviceGetPCIBusId")
  std::snprintf(bus, static_cast<std::size_t>(length), "0000:%02x:00.0", 0x3b + device);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  PREQUEL_ENTER("cudaDriverGetVersion")
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  PREQUEL_ENTER("cudaRuntimeGetVersion")
  *version = 12090;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "the driver is older than the runtime";
    case cudaErrorNoDevice: return "no device is there";
    case cudaErrorECCUncorrectable: return "uncorrectable ECC error";
    case cudaErrorIllegalAddress: return "an illegal memory access";
    default: return "some error";
  }
}

cudaError_t cudaGetLastError() {
  const auto error = static_cast<cudaError_t>(machine().last_error);
  machine().last_error = cudaSuccess;
  return error;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  PREQUEL_ENTER("cudaMalloc")
  if (bytes == 0) {
    *memory = nullptr;
    return cudaSuccess;
  }
  *memory = machine().allocate(bytes);
  return *memory ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* memory) {
  PREQUEL_ENTER("cudaFree")
  return !memory || machine().release(memory) ? cudaSuccess : failed(cudaErrorInvalidValue);
}

#ifdef __HIP_PLATFORM_AMD__
cudaError_t cudaMallocHost(void** memory, size_t bytes, unsigned) {
#else
cudaError_t cudaMallocHost(void** memory, size_t bytes) {
#endif
  PREQUEL_ENTER("cudaMallocHost")
  *memory = std::malloc(bytes);
  if (!*memory) return failed(cudaErrorMemoryAllocation);
  ++machine().alive;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  --machine().alive;
  PREQUEL_ENTER("cudaFreeHost")
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  PREQUEL_ENTER("cudaMemcpyAsync")
  const bool to_device = kind == cudaMemcpyHostToDevice;
  machine().check_memory("cudaMemcpyAsync", to_device ? to : from, bytes);
  machine().submit(stream_of(stream),
                   prequel::HostCopy{to_device, true, {static_cast<double>(bytes)}},
                   "cudaMemcpyAsync");
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int, size_t bytes, cudaStream_t stream) {
  PREQUEL_ENTER("cudaMemsetAsync")
  machine().check_memory("cudaMemsetAsync", memory, bytes);
  machine().submit(stream_of(stream), 0.0, "cudaMemsetAsync");
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  PREQUEL_ENTER("cudaStreamCreateWithFlags")
  return make<prequel::told::Stream>(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t gone = destroy<prequel::told::Stream>(stream);  // of a lost device, too
  PREQUEL_ENTER("cudaStreamDestroy")
  return gone;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  PREQUEL_ENTER("cudaStreamQuery")
  return ask(stream_of(stream).end);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  PREQUEL_ENTER("cudaStreamWaitEvent")
  stream_of(stream).end = std::max(stream_of(stream).end, event_of(event).time);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  PREQUEL_ENTER("cudaStreamBeginCapture")
  stream_of(stream).capturing = true;
  stream_of(stream).captured = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  PREQUEL_ENTER("cudaStreamEndCapture")
  stream_of(stream).capturing = false;
  make<prequel::told::Graph>(graph);
  reinterpret_cast<prequel::told::Graph*>(*graph)->nodes = stream_of(stream).captured;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  PREQUEL_ENTER("cudaGraphInstantiate")
  make<prequel::told::Graph>(ready);
  *reinterpret_cast<prequel::told::Graph*>(*ready) =
      *reinterpret_cast<prequel::told::Graph*>(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  PREQUEL_ENTER("cudaGraphLaunch")
  const int nodes = reinterpret_cast<prequel::told::Graph*>(graph)->nodes;
  machine().submit(stream_of(stream), nodes * machine().orders().graph_node, "cudaGraphLaunch");
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return destroy<prequel::told::Graph>(graph);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return destroy<prequel::told::Graph>(graph);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  PREQUEL_ENTER("cudaEventCreate")
  return make<prequel::told::Event>(event);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  PREQUEL_ENTER("cudaEventCreateWithFlags")
  return make<prequel::told::Event>(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const cudaError_t gone = destroy<prequel::told::Event>(event);  // of a lost device, too
  PREQUEL_ENTER("cudaEventDestroy")
  return gone;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  PREQUEL_ENTER("cudaEventRecord")
  machine().record(event_of(event), stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  PREQUEL_ENTER("cudaEventQuery")
  return ask(event_of(event).time);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  PREQUEL_ENTER("cudaEventElapsedTime")
  if (event_of(start).time < 0.0 || event_of(stop).time < 0.0) {
    return failed(cudaErrorInvalidResourceHandle);
  }
  if (event_of(stop).time > machine().now()) return failed(cudaErrorNotReady);
  *milliseconds = static_cast<float>(1e3 * machine().between(event_of(start), event_of(stop)));
  return cudaSuccess;
}

namespace prequel {
namespace {

/// The kind of memory-bound kernel that a kernel does; the first where it does several.
StreamKind kind_of(CudaKernel kernel) {
  switch (kernel) {
    case CudaKernel::copy: return StreamKind::copy;
    case CudaKernel::residual_add: return StreamKind::residual_add;
    case CudaKernel::swiglu: return StreamKind::swiglu;
    case CudaKernel::gelu: return StreamKind::gelu;
    case CudaKernel::bias_dropout_add: return StreamKind::fused_pointwise;
    case CudaKernel::layer_norm: return StreamKind::layer_norm;
    case CudaKernel::rms_norm: return StreamKind::rms_norm;
    case CudaKernel::softmax:
    case CudaKernel::causal_softmax: return StreamKind::softmax;
    case CudaKernel::embedding: return StreamKind::embedding;
    case CudaKernel::adam: return StreamKind::optimizer;
    case CudaKernel::cast: return StreamKind::quantize;
    case CudaKernel::cast_absmax: return StreamKind::quantize_absmax;
    case CudaKernel::cast_rows: return StreamKind::quantize_row;
    case CudaKernel::cast_blocks: return StreamKind::quantize_block;
    case CudaKernel::cast_mxfp8: return StreamKind::quantize_mxfp8;
    case CudaKernel::cast_nvfp4: return StreamKind::quantize_nvfp4;
  }
  return StreamKind::copy;
}

/// Launches report what went wrong before them, too, as `cudaGetLastError` does.
cudaError_t launched(const char* function) {
  const int status = machine().enter(function, true);
  const cudaError_t last = cudaGetLastError();
  return status != 0 ? static_cast<cudaError_t>(status) : last;
}

}  // namespace

cudaError_t fill_random(void* data, std::size_t bytes, RandomNumbers, cudaStream_t stream) {
  const cudaError_t status = launched("fill_random");
  if (status != cudaSuccess) return status;
  machine().check_memory("fill_random", data, bytes);
  machine().submit(stream_of(stream), 1e-6, "fill_random");
  return cudaSuccess;
}

cudaError_t launch_stream_kernel(CudaKernel kernel, const std::vector<void*>& arrays,
                                 std::size_t rows, std::size_t width, cudaStream_t stream) {
  const cudaError_t status = launched("launch_stream_kernel");
  if (status != cudaSuccess) return status;
  const StreamKind kind = kind_of(kernel);
  const StreamTraffic traffic = *stream_traffic(kind);
  if (arrays.size() != traffic.arrays.size()) machine().complain("a kernel lacks arrays");
  for (std::size_t i = 0; i < std::min(arrays.size(), traffic.arrays.size()); ++i) {
    machine().check_memory("launch_stream_kernel", arrays[i], traffic.arrays[i] * rows * width);
  }
  const double elements = static_cast<double>(rows * width);
  machine().submit(stream_of(stream),
                   Stream{kind, {elements * traffic.bytes_per_element}, static_cast<double>(rows)},
                   "launch_stream_kernel");
  return cudaSuccess;
}

cudaError_t launch_sum_of_squares(const void* data, std::size_t count, float* sum,
                                  cudaStream_t stream) {
  const cudaError_t status = launched("launch_sum_of_squares");
  if (status != cudaSuccess) return status;
  machine().check_memory("launch_sum_of_squares", data, 4 * count);
  machine().check_memory("launch_sum_of_squares", sum, sizeof *sum);
  machine().submit(stream_of(stream), GradientNorm{{4.0 * static_cast<double>(count)}},
                   "launch_sum_of_squares");
  return cudaSuccess;
}

cudaError_t launch_empty_kernel(cudaStream_t stream) {
  const cudaError_t status = launched("launch_empty_kernel");
  if (status != cudaSuccess) return status;
  machine().submit(stream_of(stream), machine().orders().start, "launch_empty_kernel");
  return cudaSuccess;
}

cudaError_t launch_delay(unsigned nanoseconds, cudaStream_t stream) {
  const cudaError_t status = launched("launch_delay");
  if (status != cudaSuccess) return status;
  machine().submit(stream_of(stream), 1e-9 * nanoseconds, "launch_delay");
  return cudaSuccess;
}

}  // namespace prequel
