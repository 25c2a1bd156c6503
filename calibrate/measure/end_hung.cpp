#include "calibrate/measure/end_hung.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "calibrate/measure/backend.hpp"

namespace prequel {

void end_hung(const std::string& why) {
  fmt::print(stderr, "prequel-measure: {}\n", why);
  std::_Exit(kExitDevice);
}

}  // namespace prequel
