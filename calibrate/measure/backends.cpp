#include "calibrate/measure/backends.hpp"

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

using Maker = std::unique_ptr<Backend> (*)(const Clock& clock);

#ifdef PREQUEL_HAS_OPENBLAS
constexpr Maker kCpu = [](const Clock&) { return make_cpu_backend(); };
#else
constexpr Maker kCpu = nullptr;
#endif
#ifdef PREQUEL_HAS_MPI
constexpr Maker kMpi = [](const Clock&) { return make_mpi_backend(); };
#else
constexpr Maker kMpi = nullptr;
#endif
#ifdef PREQUEL_HAS_CUDA
constexpr Maker kCuda = make_gpu_backend;
#else
constexpr Maker kCuda = nullptr;
#endif
#ifdef PREQUEL_HAS_NCCL
constexpr Maker kNccl = make_nccl_backend;
#else
constexpr Maker kNccl = nullptr;
#endif
#ifdef PREQUEL_HAS_HIP
constexpr Maker kHip = make_gpu_backend;
#else
constexpr Maker kHip = nullptr;
#endif
#ifdef PREQUEL_HAS_RCCL
constexpr Maker kRccl = make_nccl_backend;
#else
constexpr Maker kRccl = nullptr;
#endif

struct Known {
  const char* name;
  Maker make;  ///< null: this program was built without it
  const char* needs;
};
constexpr Known kBackends[] = {
    {"cpu", kCpu, "OpenBLAS (Debian: libopenblas-dev)"},
    {"mpi", kMpi, "MPI (Debian: libopenmpi-dev openmpi-bin)"},
    {"cuda", kCuda, "the CUDA toolkit, 12 or later"},
    {"nccl", kNccl, "the CUDA toolkit and NCCL 2.18 or later"},
    {"hip", kHip, "ROCm, 6.3 or later"},
    {"rccl", kRccl, "ROCm, 6.3 or later, and its RCCL"},
};

}  // namespace

std::unique_ptr<Backend> make_backend(const std::string& name, const Clock& clock) {
  for (const Known& known : kBackends) {
    if (name != known.name) continue;
    if (known.make) return known.make(clock);
    throw DeviceError(
        fmt::format("backend {}: this prequel-measure was built without it; it needs {}, then "
                    "build again",
                    name, known.needs));
  }
  throw InputError("backend", fmt::format("expected cpu, mpi, cuda, nccl, hip or rccl, got {}",
                                          in_quotes(name)));
}

}  // namespace prequel
