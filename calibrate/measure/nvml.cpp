#include "calibrate/measure/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace prequel {
namespace {

// The library's C interface, whose numbers are fixed: nvmlClockType_t, nvmlTemperatureSensors_t.
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuSensor = 0;

}  // namespace

/// All functions return 0 for success; one that this library version lacks has failed.
template <typename... Arguments>
bool Nvml::call(const char* function, Arguments... arguments) const {
  void* const found = library_ ? dlsym(library_, function) : nullptr;
  return found && reinterpret_cast<int (*)(Arguments...)>(found)(arguments...) == 0;
}

Nvml::Nvml(const std::string& bus) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
  if (!call("nvmlInit_v2") || !call("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &device_)) {
    device_ = nullptr;
  }
}

Nvml::~Nvml() {
  call("nvmlShutdown");
  if (library_) dlclose(library_);
}

std::map<std::string, std::string> Nvml::settings() const {
  std::map<std::string, std::string> told;
  if (!device_) return told;
  std::array<char, 96> driver{};
  if (call("nvmlSystemGetDriverVersion", driver.data(), static_cast<unsigned>(driver.size()))) {
    told["driver"] = driver.data();
  }
  unsigned value = 0;
  if (call("nvmlDeviceGetPowerManagementLimit", device_, &value)) {
    told["power_cap_w"] = fmt::format("{}", value / 1000.0);
  }
  if (call("nvmlDeviceGetMaxClockInfo", device_, kSmClock, &value)) {
    told["most_sm_mhz"] = fmt::format("{}", value);
  }
  if (call("nvmlDeviceGetMaxClockInfo", device_, kMemoryClock, &value)) {
    told["most_memory_mhz"] = fmt::format("{}", value);
  }
  return told;
}

std::map<std::string, double> Nvml::state() const {
  std::map<std::string, double> told;
  if (!device_) return told;
  unsigned value = 0;
  if (call("nvmlDeviceGetClockInfo", device_, kSmClock, &value)) told["sm_mhz"] = value;
  if (call("nvmlDeviceGetClockInfo", device_, kMemoryClock, &value)) told["memory_mhz"] = value;
  if (call("nvmlDeviceGetTemperature", device_, kGpuSensor, &value)) told["temperature_c"] = value;
  if (call("nvmlDeviceGetPowerUsage", device_, &value)) told["power_w"] = value / 1000.0;
  unsigned long long reasons = 0;
  if (call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons)) {
    told["throttle"] = static_cast<double>(reasons);
  }
  return told;
}

}  // namespace prequel
