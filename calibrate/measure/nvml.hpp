#pragma once

/// Facts about a GPU from NVIDIA's management library.

#include <map>
#include <string>

namespace prequel {

/// Loaded when it is asked for: it comes with the driver, and machines that only build have none.
class Nvml {
 public:
  /// `bus` as "0000:3b:00.0". Where the library or the device is missing, nothing is told.
  explicit Nvml(const std::string& bus);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Driver, power cap and highest clocks.
  [[nodiscard]] std::map<std::string, std::string> settings() const;
  /// Now: `sm_mhz`, `memory_mhz`, `temperature_c`, `power_w`, and `throttle`, the library's bit
  /// mask of reasons why clocks are held down (4: power cap, 8 and 64: heat, 1: idle).
  [[nodiscard]] std::map<std::string, double> state() const;

 private:
  template <typename... Arguments>
  bool call(const char* function, Arguments... arguments) const;

  void* library_{};
  void* device_{};  ///< null: tells nothing
};

}  // namespace prequel
