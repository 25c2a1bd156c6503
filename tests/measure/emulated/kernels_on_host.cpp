/// The device code of prequel-measure, compiled for this processor.

#include "tests/measure/emulated/gpu_language_on_host.hpp"
//
#include "calibrate/measure/cuda_kernels.cu"

cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
