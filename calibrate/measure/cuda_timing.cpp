#include "calibrate/measure/cuda_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "calibrate/measure/cuda_kernels.hpp"

namespace prequel {
namespace {

/// Beyond this the half microsecond that events tell is below half a percent.
constexpr Seconds kLongEnough{1e-4};
constexpr int kMostInRow = 20;
/// More than the host takes to launch anything, twice.
constexpr unsigned kLaunchNanoseconds = 10000;

/// Says why on stderr and ends the process, without a destructor.
[[noreturn]] void end_hung(const std::string& why) {
  fmt::print(stderr, "prequel-measure: {}\n", why);
  std::_Exit(kExitDevice);
}

Seconds time_row(const DeviceTimer& timer, const Launch& launch, int calls, cudaStream_t stream) {
  check_cuda(launch_delay(static_cast<unsigned>(calls + 2) * kLaunchNanoseconds, stream),
             "launch_delay");
  return timer.time(stream, [&] {
    for (int i = 0; i < calls; ++i) launch();
  });
}

}  // namespace

Patience::Patience(Clock clock, std::function<std::string()> trouble)
    : clock_(std::move(clock)), trouble_(std::move(trouble)) {}

void Patience::await(cudaEvent_t event) const {
  await([event] { return cudaEventQuery(event); }, "cudaEventQuery");
}

void Patience::await(cudaStream_t stream) const {
  await([stream] { return cudaStreamQuery(stream); }, "cudaStreamQuery");
}

void Patience::await(const std::function<cudaError_t()>& query, const char* call) const {
  const double end = clock_().value + kLongestRun.value;
  for (cudaError_t status = query(); status != cudaSuccess; status = query()) {
    if (status != cudaErrorNotReady) check_cuda(status, call);
    (void)cudaGetLastError();  // else the next launch would report it
    const std::string trouble = trouble_ ? trouble_() : "";
    if (!trouble.empty()) end_hung(trouble);
    if (clock_().value > end) {
      end_hung(
          fmt::format("{}: the device hangs: it did not finish what it was given within {:.0f} s",
                      kGpuRuntime, kLongestRun.value));
    }
    std::this_thread::yield();
  }
}

Seconds DeviceTimer::time(cudaStream_t stream, const std::function<void()>& body) const {
  check_cuda(cudaEventRecord(start_.get(), stream), "cudaEventRecord");
  body();
  check_cuda(cudaEventRecord(stop_.get(), stream), "cudaEventRecord");
  patience_.await(stop_.get());
  float milliseconds = 0.0F;
  check_cuda(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()),
             "cudaEventElapsedTime");
  return {static_cast<double>(milliseconds) * 1e-3};
}

Run timed(Launch launch, cudaStream_t stream, const Patience& patience) {
  const auto timer = std::make_shared<DeviceTimer>(patience);
  launch();  // loads the kernel
  const Seconds one = time_row(*timer, launch, 1, stream);
  const double wanted = std::min(kLongEnough.value / std::max(one.value, 1e-7), 1.0 * kMostInRow);
  const int calls = std::max(1, static_cast<int>(wanted));
  return [launch = std::move(launch), stream, timer, calls] {
    return time_row(*timer, launch, calls, stream) / calls;
  };
}

}  // namespace prequel
