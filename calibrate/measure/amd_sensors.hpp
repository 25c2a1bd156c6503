#pragma once

/// Sensors of a GPU that AMD's driver reads.

#include <filesystem>
#include <map>
#include <string>

namespace prequel {

/// By the files that the Linux driver (amdgpu) has of every device; those that a device or a
/// version lacks tell nothing.
class AmdSensors {
 public:
  /// `device`: its folder, /sys/bus/pci/devices/0000:3b:00.0.
  explicit AmdSensors(const std::filesystem::path& device);

  /// Driver, power cap and highest clocks.
  [[nodiscard]] std::map<std::string, std::string> settings() const;
  /// Now: `sm_mhz`, `memory_mhz`, `temperature_c` (of the hottest place) and `power_w`.
  [[nodiscard]] std::map<std::string, double> state() const;

 private:
  std::filesystem::path device_;
  std::filesystem::path monitor_;  ///< empty: there is none
};

}  // namespace prequel
