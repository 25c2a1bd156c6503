#include "calibrate/measure/backends.hpp"

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

[[maybe_unused]] std::unique_ptr<Backend> absent(const char* name, const char* needs) {
  throw DeviceError(
      fmt::format("backend {}: this prequel-measure was built without it; it needs {}, then build "
                  "again",
                  name, needs));
}

}  // namespace

#ifndef PREQUEL_HAS_OPENBLAS
std::unique_ptr<Backend> make_cpu_backend() {
  return absent("cpu", "OpenBLAS (Debian: libopenblas-dev)");
}
#endif
#ifndef PREQUEL_HAS_MPI
std::unique_ptr<Backend> make_mpi_backend() {
  return absent("mpi", "MPI (Debian: libopenmpi-dev openmpi-bin)");
}
#endif
#ifndef PREQUEL_HAS_CUDA
std::unique_ptr<Backend> make_cuda_backend() {
  return absent("cuda", "the CUDA toolkit, 12 or later");
}
#endif
#ifndef PREQUEL_HAS_NCCL
std::unique_ptr<Backend> make_nccl_backend() {
  return absent("nccl", "the CUDA toolkit and NCCL 2.18 or later");
}
#endif

std::unique_ptr<Backend> make_backend(const std::string& name) {
  if (name == "cpu") return make_cpu_backend();
  if (name == "mpi") return make_mpi_backend();
  if (name == "cuda") return make_cuda_backend();
  if (name == "nccl") return make_nccl_backend();
  throw InputError("backend",
                   fmt::format("expected cpu, mpi, cuda or nccl, got {}", in_quotes(name)));
}

}  // namespace prequel
