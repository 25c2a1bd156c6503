#pragma once

/// Which back ends this program was built with.

#include <memory>
#include <string>

#include "calibrate/measure/backend.hpp"

namespace prequel {

/// "cpu", "mpi", "cuda", "nccl", "hip" or "rccl". Throws DeviceError, which says what to install,
/// for one that was not found when the program was built, InputError for another name.
std::unique_ptr<Backend> make_backend(const std::string& name, const Clock& clock);

}  // namespace prequel
