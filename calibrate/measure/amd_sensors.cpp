#include "calibrate/measure/amd_sensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>

namespace prequel {
namespace {

std::optional<double> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  double value = 0.0;
  if (in >> value) return value;
  return std::nullopt;
}

std::string first_word_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

/// Returns the highest level of a clock from a file with a line a level, "1: 2100Mhz *".
std::optional<double> highest_level(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::optional<double> highest;
  for (std::string level, rest; in >> level;) {
    double megahertz = 0.0;
    if (in >> megahertz) highest = std::max(highest.value_or(0.0), megahertz);
    if (!std::getline(in, rest)) break;
  }
  return highest;
}

}  // namespace

AmdSensors::AmdSensors(const std::filesystem::path& device) : device_(device) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(device / "hwmon", none)) {
    monitor_ = entry.path();
  }
}

std::map<std::string, std::string> AmdSensors::settings() const {
  std::map<std::string, std::string> told;
  const std::string driver = first_word_in(device_ / "driver" / "module" / "version");
  if (!driver.empty()) told["driver"] = driver;
  const auto tell = [&](const char* key, std::optional<double> value, double unit) {
    if (value) told[key] = fmt::format("{}", *value / unit);
  };
  tell("power_cap_w", number_in(monitor_ / "power1_cap"), 1e6);
  tell("most_sm_mhz", highest_level(device_ / "pp_dpm_sclk"), 1.0);
  tell("most_memory_mhz", highest_level(device_ / "pp_dpm_mclk"), 1.0);
  return told;
}

std::map<std::string, double> AmdSensors::state() const {
  std::map<std::string, double> told;
  // The last file that is there counts where several tell the same.
  const auto tell = [&](const char* key, const char* file, double unit) {
    if (const auto value = number_in(monitor_ / file)) told[key] = *value / unit;
  };
  tell("sm_mhz", "freq1_input", 1e6);
  tell("memory_mhz", "freq2_input", 1e6);
  tell("temperature_c", "temp1_input", 1e3);  // the edge
  tell("temperature_c", "temp2_input", 1e3);  // the junction
  tell("power_w", "power1_average", 1e6);
  tell("power_w", "power1_input", 1e6);
  return told;
}

}  // namespace prequel
