#pragma once

/// Back ends that measure: a processor, a GPU, or a group of processes.

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibrate/measure/sampling.hpp"
#include "calibrate/measure/work.hpp"
#include "hw/base/units.hpp"

namespace prequel {

/// Exit status after an error of a device or of the communication between processes.
inline constexpr int kExitDevice = 3;

/// A device or its driver refused: exit status 3.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// This point is not measured, and why; the others go on.
class SkippedPoint : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is no room for it.
class OutOfMemory : public SkippedPoint {
 public:
  using SkippedPoint::SkippedPoint;
};

/// Kernels that no test could prove, as no device was there.
struct Unproven {
  std::string kernels;  ///< as a measurement file calls them
  std::string what;     ///< is checked without a device, and what is not
};

/// Runs the prepared work once and says how long it took.
using Run = std::function<Seconds()>;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// Returns the context that the numbers depend on: versions, clocks, settings.
  [[nodiscard]] virtual std::map<std::string, std::string> context() const = 0;
  /// Returns those of its kernels that nobody has seen on a device; told first.
  [[nodiscard]] virtual std::vector<Unproven> unproven() const { return {}; }
  /// Returns the state after a point, which may differ from point to point: clocks, temperature.
  [[nodiscard]] virtual std::map<std::string, double> state() const { return {}; }
  /// Returns the file's name of the kernel, for works that kernels of different names do; else
  /// nothing.
  [[nodiscard]] virtual std::string kernel(const Work& work) const {
    (void)work;
    return {};
  }
  /// The works whose times fix the constants that the fit is after.
  [[nodiscard]] virtual std::vector<Work> grid() const = 0;
  /// Random data in place, ready to run. Throws SkippedPoint for what this back end cannot measure
  /// or hold, DeviceError.
  virtual Run prepare(const Work& work) = 0;
  /// Returns what the first of a group of processes says. All call it at the same point.
  virtual bool agree(bool here) { return here; }
  /// The first of a group of processes writes the file.
  [[nodiscard]] virtual bool is_first() const { return true; }
};

/// The machine as a measurement file names it: host, processor, cores, clock and its governor,
/// load, kernel and date. Facts that the machine does not tell are left out.
std::map<std::string, std::string> host_context();

/// "cpu", "mpi", "cuda", "nccl", "hip" or "rccl". Throws DeviceError, which says what to install,
/// for one that was not found when the program was built, InputError for another name.
std::unique_ptr<Backend> make_backend(const std::string& name, const Clock& clock);

/// Those that this program was built with are there. A program is built for CUDA or for HIP. GPUs
/// are timed by their own events; `clock` times the host's launches and ends the wait for a device
/// that hangs.
std::unique_ptr<Backend> make_cpu_backend(const Clock& clock);
std::unique_ptr<Backend> make_mpi_backend(const Clock& clock);
std::unique_ptr<Backend> make_gpu_backend(const Clock& clock);
std::unique_ptr<Backend> make_nccl_backend(const Clock& clock);

}  // namespace prequel
