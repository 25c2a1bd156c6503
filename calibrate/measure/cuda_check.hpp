#pragma once

/// What all sources for GPUs share: no call goes unchecked, nothing leaks.

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

/// Makes one `run` on the stream take as long as two events around it say.
class DeviceTimer {
 public:
  DeviceTimer() {
    check_cuda(cudaEventCreate(&start_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  ~DeviceTimer() {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
  }
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  template <typename Body>
  Seconds time(cudaStream_t stream, Body&& body) {
    check_cuda(cudaEventRecord(start_, stream), "cudaEventRecord");
    body();
    check_cuda(cudaEventRecord(stop_, stream), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    float milliseconds = 0.0F;
    check_cuda(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return {static_cast<double>(milliseconds) * 1e-3};
  }

 private:
  cudaEvent_t start_{};
  cudaEvent_t stop_{};
};

}  // namespace prequel
