#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <thread>

#include "calibrate/measure/backend.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The value after "key :" in the table of processors.
std::string processor(std::string_view key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trimmed(line.substr(0, colon)) != key) continue;
    return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> host_context() {
  std::map<std::string, std::string> context{
      {"cpu", processor("model name")},
      {"cpu_mhz", processor("cpu MHz")},
      {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
      {"load", first_line("/proc/loadavg")},
      {"cores", fmt::format("{}", std::thread::hardware_concurrency())},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  utsname system{};
  if (uname(&system) == 0) {
    context["host"] = system.nodename;
    context["kernel"] = system.release;
    context["machine"] = system.machine;
  }
  std::erase_if(context, [](const auto& entry) { return entry.second.empty(); });
  return context;
}

}  // namespace prequel
