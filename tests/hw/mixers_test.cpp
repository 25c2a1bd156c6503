#include "hw/kernels/mixers.hpp"

#include <doctest/doctest.h>

#include "hw/device.hpp"

namespace prequel {
namespace {

const std::string kDeviceFolder = PREQUEL_DATA_DIR "/devices/";

Device scanning_device(const std::string& name) {
  return read_device(Document::read(kDeviceFolder + name + ".json"));
}

Scan delta_scan(std::int64_t batch, std::int64_t seq, std::int64_t heads) {
  return {ScanKind::gdn, batch, seq, heads, heads, 128, 128};
}

TEST_CASE("scans take what public benchmarks measured") {
  struct Measured {
    const char* device;
    Scan scan;
    double ms;
  };
  // ai-dynamo/aiconfigurator @095f58a51c and vllm pull request 27299.
  const Measured kMeasured[] = {
      {"h100-sxm", delta_scan(1, 8192, 32), 0.64869},
      {"h100-sxm", delta_scan(1, 32768, 32), 2.6545},
      {"h100-sxm", {ScanKind::ssd, 1, 8192, 128, 1, 128, 64, 256}, 0.64896},
      {"h100-sxm", {ScanKind::ssd, 1, 32768, 128, 1, 128, 64, 256}, 2.7769}};
  for (const Measured& one : kMeasured) {
    CAPTURE(one.ms);
    CHECK(1e3 * price(scanning_device(one.device), one.scan).value ==
          doctest::Approx(one.ms).epsilon(0.1));
  }
}

TEST_CASE("heads of another size take what the FLOP of their chunks ask for") {
  // flash-linear-attention @bc3b101dcb on GB200: 8 x 2048 tokens, 32 heads of 256, both passes.
  const Device device = scanning_device("gb200");
  Scan wide{ScanKind::gdn, 8, 2048, 32, 32, 256, 256};
  Seconds both = price(device, wide);
  wide.backward = true;
  both += price(device, wide);
  CHECK(1e3 * both.value == doctest::Approx(8.644).epsilon(0.1));
}

TEST_CASE("sequences side by side cost less than one that is as long") {
  const Device device = scanning_device("h100-sxm");
  CHECK(price(device, delta_scan(8, 1024, 32)) < price(device, delta_scan(1, 8192, 32)));
}

TEST_CASE("attention over chosen keys works on tiles of heads") {
  const Device device = scanning_device("b200");
  const SparseAttention half{4096, 2048, 64, 576, 512};
  SparseAttention whole = half;
  whole.heads = 128;
  CHECK(price(device, half) == price(device, whole));
  // FlashMLA, 64 heads of 576 and 512: 4.0255 ms for 8192 tokens.
  SparseAttention measured = half;
  measured.queries = 8192;
  CHECK(1e3 * price(device, measured).value == doctest::Approx(4.0255).epsilon(0.05));
}

TEST_CASE("a device without such constants says so") {
  Device device = scanning_device("h100-sxm");
  device.mixers = {};
  CHECK_THROWS_WITH_AS((void)price(device, delta_scan(1, 1024, 8)),
                       doctest::Contains("no constants of gdn scans"), std::exception);
}

}  // namespace
}  // namespace prequel
