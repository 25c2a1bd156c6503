#include "calibrate/measure/cuda_works.hpp"

/// In place of cuda_gemm.cpp where there is no library of products.

namespace prequel {

Launch prepare_cuda(const Gemm& /*gemm*/, cudaStream_t /*stream*/) {
  throw SkippedPoint("hip: built without hipBLASLt, which multiplies");
}

Launch prepare_cuda(const GroupedGemm& /*product*/, cudaStream_t stream) {
  return prepare_cuda(Gemm{}, stream);
}

std::pair<std::string, std::string> product_library() {
  return {"hipblaslt", "absent"};
}

}  // namespace prequel
