/// The statuses that tests call by name.

#include <stdexcept>

#include "calibrate/measure/cuda_blas.hpp"
#ifdef __HIP_PLATFORM_AMD__
#include <rccl/rccl.h>
#else
#include <cudnn.h>
#include <nccl.h>
#endif
#include "tests/measure/told/machine.hpp"
#include "tests/measure/told/names.hpp"

namespace prequel::told {
namespace {

struct Status {
  const char* name;
  int number;
};

constexpr Status kStatuses[] = {{"oom", cudaErrorMemoryAllocation},
                                {"old-driver", cudaErrorInsufficientDriver},
                                {"ecc", cudaErrorECCUncorrectable},
                                {"illegal-address", cudaErrorIllegalAddress},
#ifndef __HIP_PLATFORM_AMD__
                                {"cudnn-not-supported", CUDNN_STATUS_NOT_SUPPORTED},
#endif
                                {"blas-oom", CUBLAS_STATUS_ALLOC_FAILED},
                                {"blas-not-supported", CUBLAS_STATUS_NOT_SUPPORTED},
                                {"nccl-system", ncclSystemError},
                                {"nccl-remote", ncclRemoteError}};

}  // namespace

int status_of(const std::string& name) {
  for (const Status& one : kStatuses) {
    if (name == one.name) return one.number;
  }
  throw std::runtime_error("no status " + name);
}

}  // namespace prequel::told
