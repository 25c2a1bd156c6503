#pragma once

/// Checks and owners for all sources for GPUs: no call goes unchecked, nothing leaks.

#include <cstddef>
#include <string>

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

/// Memory of the device.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) { check_cuda(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  ~DeviceBuffer() { (void)cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_{};
};

}  // namespace prequel
