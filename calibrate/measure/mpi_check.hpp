#pragma once

/// Checks that all MPI sources of the measuring program share: no call goes unchecked.

#include <fmt/format.h>
#include <mpi.h>

#include <array>

#include "calibrate/measure/backend.hpp"

namespace prequel {

/// Throws DeviceError with the call's name.
inline void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw DeviceError(fmt::format("{}: {}", call, text.data()));
}

}  // namespace prequel
