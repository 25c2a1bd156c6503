#include "calibrate/measure/amd_sensors.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>

#include "hw/base/files.hpp"
#include "tests/measure/temporary_file.hpp"

namespace prequel {
namespace {

TEST_CASE("clocks, heat and power are read from the files of AMD's driver") {
  const TemporaryFile file("device");
  const std::filesystem::path device = file.path();
  const std::filesystem::path monitor = device / "hwmon" / "hwmon7";
  std::filesystem::create_directories(monitor);
  std::filesystem::create_directories(device / "driver" / "module");
  const auto write = [](const std::filesystem::path& path, const char* text) {
    write_file(path.string(), text);
  };
  write(device / "driver" / "module" / "version", "6.12.12\n");
  write(device / "pp_dpm_sclk", "0: 132Mhz\n1: 2100Mhz *\n");
  write(device / "pp_dpm_mclk", "0: 900Mhz *\n1: 1300Mhz\n");
  write(monitor / "power1_cap", "750000000\n");
  write(monitor / "power1_average", "612000000\n");
  write(monitor / "freq1_input", "2043000000\n");
  write(monitor / "freq2_input", "1300000000\n");
  write(monitor / "temp2_input", "71000\n");

  const AmdSensors sensors(device);
  CHECK(sensors.settings() == std::map<std::string, std::string>{{"driver", "6.12.12"},
                                                                 {"power_cap_w", "750"},
                                                                 {"most_sm_mhz", "2100"},
                                                                 {"most_memory_mhz", "1300"}});
  CHECK(sensors.state() == std::map<std::string, double>{{"sm_mhz", 2043.0},
                                                         {"memory_mhz", 1300.0},
                                                         {"temperature_c", 71.0},
                                                         {"power_w", 612.0}});
  std::filesystem::remove_all(device);
}

TEST_CASE("a device without these files tells nothing") {
  const AmdSensors sensors("/nowhere/0000:3b:00.0");
  CHECK(sensors.settings().empty());
  CHECK(sensors.state().empty());
}

}  // namespace
}  // namespace prequel
