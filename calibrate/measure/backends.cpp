#include "calibrate/measure/backend.hpp"

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

struct Known {
  const char* name;
  const char* needs;
  std::unique_ptr<Backend> (*make)(const Clock& clock){};  ///< null: built without it
};
constexpr Known kBackends[] = {
    {"cpu", "OpenBLAS (Debian: libopenblas-dev)",
#ifdef PREQUEL_HAS_OPENBLAS
     make_cpu_backend
#endif
    },
    {"mpi", "MPI (Debian: libopenmpi-dev openmpi-bin)",
#ifdef PREQUEL_HAS_MPI
     make_mpi_backend
#endif
    },
    {"cuda", "the CUDA toolkit, 12 or later",
#ifdef PREQUEL_HAS_CUDA
     make_gpu_backend
#endif
    },
    {"nccl", "the CUDA toolkit and NCCL 2.18 or later",
#ifdef PREQUEL_HAS_NCCL
     make_nccl_backend
#endif
    },
    {"hip", "ROCm, 6.3 or later",
#ifdef PREQUEL_HAS_HIP
     make_gpu_backend
#endif
    },
    {"rccl", "ROCm, 6.3 or later, and its RCCL",
#ifdef PREQUEL_HAS_RCCL
     make_nccl_backend
#endif
    },
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
