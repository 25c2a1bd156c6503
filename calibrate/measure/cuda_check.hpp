#pragma once

/// Checks and owners for all sources for GPUs: no call goes unchecked, nothing leaks.

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_or_hip.hpp"

namespace prequel {

/// Throws OutOfMemory where memory was asked for in vain, else DeviceError with the call's name.
inline void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const std::string text =
      std::string(kGpuRuntime) + ": " + call + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // else it would be reported again
    throw OutOfMemory(text);
  }
  throw DeviceError(text);
}

/// How many devices there are, one at least. Throws DeviceError with the driver's reason.
inline int device_count() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return devices;
  throw DeviceError(std::string(kGpuRuntime) + ": no " + kGpuMaker +
                    " GPU that this program can use: " +
                    (status == cudaSuccess ? "there is none" : cudaGetErrorString(status)));
}

/// Frees a handle of a library by `destroy`.
template <typename Handle, auto destroy>
struct Destroyer {
  using pointer = Handle;
  void operator()(Handle handle) const { (void)destroy(handle); }
};
template <typename Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Handle, destroy>>;

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

inline OwnedStream make_stream() {
  cudaStream_t made{};
  check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreate");
  return OwnedStream(made);
}

/// Only for order where `flags` say so, else to be timed, too.
inline OwnedEvent make_event(unsigned flags = 0) {
  cudaEvent_t made{};
  check_cuda(cudaEventCreateWithFlags(&made, flags), "cudaEventCreate");
  return OwnedEvent(made);
}

/// Memory of the device.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) {
    void* made{};
    check_cuda(cudaMalloc(&made, bytes), "cudaMalloc");
    data_.reset(made);
  }
  [[nodiscard]] void* data() const { return data_.get(); }

 private:
  Owned<void*, cudaFree> data_;
};

}  // namespace prequel
