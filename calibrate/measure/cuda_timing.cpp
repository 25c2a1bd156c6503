#include "calibrate/measure/cuda_timing.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_kernels.hpp"

namespace prequel {
namespace {

/// Beyond this the half microsecond that events tell is below half a percent.
constexpr Seconds kLongEnough{1e-4};
constexpr int kMostInRow = 20;
/// More than the host takes to launch anything, twice.
constexpr unsigned kLaunchNanoseconds = 10000;

Seconds time_row(DeviceTimer& timer, const Launch& launch, int calls, cudaStream_t stream) {
  check_cuda(launch_delay(static_cast<unsigned>(calls + 2) * kLaunchNanoseconds, stream),
             "launch_delay");
  return timer.time(stream, [&] {
    for (int i = 0; i < calls; ++i) launch();
  });
}

}  // namespace

Run timed(Launch launch, cudaStream_t stream) {
  const auto timer = std::make_shared<DeviceTimer>();
  launch();  // loads the kernel
  const Seconds one = time_row(*timer, launch, 1, stream);
  const double wanted = std::min(kLongEnough.value / std::max(one.value, 1e-7), 1.0 * kMostInRow);
  const int calls = std::max(1, static_cast<int>(wanted));
  return [launch = std::move(launch), stream, timer, calls] {
    return time_row(*timer, launch, calls, stream) / calls;
  };
}

}  // namespace prequel
