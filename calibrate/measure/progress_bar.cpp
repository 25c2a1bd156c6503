#include "calibrate/measure/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace prequel {

PointProgress progress_bar() {
  if (isatty(STDERR_FILENO) == 0) return [](std::size_t, std::size_t, Seconds) {};
  return [](std::size_t done, std::size_t points, Seconds left) {
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = kWidth * done / points;
    const int seconds = static_cast<int>(left.value);
    fmt::print(stderr, "\r[{}{}] {}/{} points, at most {}:{:02} left ", std::string(filled, '#'),
               std::string(kWidth - filled, '.'), done, points, seconds / 60, seconds % 60);
    if (done == points) fmt::print(stderr, "\n");
    std::fflush(stderr);
  };
}

}  // namespace prequel
