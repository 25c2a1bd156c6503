#pragma once

/// How long the device takes for what a launch asks of it.

#include <functional>
#include <string>
#include <utility>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_or_hip.hpp"
#include "calibrate/measure/sampling.hpp"

namespace prequel {

/// Longest that a device may take for what it was given before it counts as hung: far more than
/// any single run takes.
inline constexpr Seconds kLongestRun{120.0};

/// How the host waits for a device: it asks again and again, so that it can give up. A device that
/// hangs ends the process with `kExitDevice`: whatever frees its memory would wait for it, so that
/// no exception could leave. Points that were finished are on disk.
class Patience {
 public:
  /// `trouble` says what is known to have gone wrong with what runs; empty: nothing.
  explicit Patience(Clock clock, std::function<std::string()> trouble = {});

  void await(cudaEvent_t event) const;
  void await(cudaStream_t stream) const;
  [[nodiscard]] Seconds now() const { return clock_(); }

 private:
  void await(const std::function<cudaError_t()>& query, const char* call) const;

  Clock clock_;
  std::function<std::string()> trouble_;
};

/// Makes one `run` on the stream take as long as two events around it say.
class DeviceTimer {
 public:
  explicit DeviceTimer(Patience patience) : patience_(std::move(patience)) {}

  Seconds time(cudaStream_t stream, const std::function<void()>& body) const;

 private:
  Patience patience_;
  OwnedEvent start_ = make_event();
  OwnedEvent stop_ = make_event();
};

/// Puts work on a stream and returns; every call takes the next of its rotating operands.
using Launch = std::function<void()>;

/// Runs `launch` by device events. Short kernels are run in a row, and a delay ahead of them lets
/// the host launch all of it before the device begins: its launches would be measured otherwise.
Run timed(Launch launch, cudaStream_t stream, const Patience& patience);

}  // namespace prequel
