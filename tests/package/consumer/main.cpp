// Asks an installed prequel what one matrix product costs.
#include <cstdio>

#include "hw/base/json_cursor.hpp"
#include "hw/device.hpp"

int main() {
  const prequel::Document file = prequel::Document::read(DATA_DIR "/devices/a100-sxm-80gb.json");
  const prequel::Device device = prequel::read_device(file);
  const prequel::Seconds time = price(device, prequel::Gemm{.m = 8192, .n = 8192, .k = 8192});
  std::printf("%s: %.3f ms\n", device.name.c_str(), time.value * 1e3);
  return time.value > 0.0 ? 0 : 1;
}
