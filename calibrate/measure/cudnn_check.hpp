#pragma once

/// As cuda_check.hpp, for cuDNN: no call goes unchecked.

#include <cudnn.h>

#include <array>
#include <string>

#include "calibrate/measure/backend.hpp"

namespace prequel {

/// Throws OutOfMemory where memory was asked for in vain, SkippedPoint for what cuDNN does not take
/// or do, else DeviceError; each with the call's name and cuDNN's reason.
inline void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> reason{};
  cudnnGetLastErrorString(reason.data(), reason.size() - 1);
  const std::string text = std::string("cuda: ") + call + ": " + cudnnGetErrorString(status) +
                           (reason[0] != '\0' ? ": " : "") + reason.data();
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) throw OutOfMemory(text);
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  if (category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM) {
    throw SkippedPoint(text);
  }
  throw DeviceError(text);
}

}  // namespace prequel
