#pragma once

/// Shipped spreads of constants for tests.

#include "hw/base/json_cursor.hpp"
#include "sim/answer/uncertainty.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {

inline Uncertainty priors(const Library& library = shipped_library()) {
  return read_uncertainty(library.open("uncertainty", "priors"));
}

}  // namespace prequel
