#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "hw/base/errors.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

const std::string kDevices = PREQUEL_DATA_DIR "/devices/";

TEST_CASE("every shipped device file reads, and its name is the file's") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kDevices)) {
    const Device device = read_device(Document::read(entry.path().string()));
    CHECK(device.name == entry.path().stem().string());
    names.insert(device.name);
  }
  for (const char* name : {"a100-sxm-80gb", "a100-sxm-40gb", "h100-sxm", "h200-sxm",
                           "v100-sxm2-32gb", "v100-sxm2-16gb", "a64fx", "cpu"}) {
    CHECK_MESSAGE(names.count(name) == 1, name);
  }
}

TEST_CASE("the A100 has its datasheet's peaks and no fp8") {
  const Device device = read_device(Document::read(kDevices + "a100-sxm-80gb.json"));
  CHECK(device.peak(Precision::bf16).value == doctest::Approx(312e12));
  CHECK(device.memory.value == doctest::Approx(80 * kGiB));
  CHECK_THROWS_WITH_AS(static_cast<void>(device.peak(Precision::fp8)),
                       "device a100-sxm-80gb has no fp8 matrix products; it has fp32, tf32, fp16, "
                       "bf16",
                       InputError);
}

TEST_CASE("peaks scale with the clock") {
  Document document = Document::read(kDevices + "a64fx.json");
  document.set("clock_ghz", "2.2");
  CHECK(read_device(document).peak(Precision::fp32).value == doctest::Approx(6.14e12 * 1.1));
}

TEST_CASE("kinds of streams that a file does not name cost what a fused kernel costs") {
  const Device device = read_device(Document::read(kDevices + "v100-sxm2-32gb.json"));
  CHECK(price(device, Stream{StreamKind::softmax, {1e9}}).value ==
        doctest::Approx(price(device, Stream{StreamKind::fused_pointwise, {1e9}}).value));
}

TEST_CASE("splits that do not begin with 1 and unknown keys are named with their place") {
  Document document = Document::read(kDevices + "a100-sxm-80gb.json");
  document.set("gemm.splits", "[2, 4]");
  document.set("gemm.drop", "1");
  const std::string gemm = kDevices + "a100-sxm-80gb.json: /gemm/";
  CHECK_THROWS_WITH_AS(
      static_cast<void>(read_device(document)),
      (gemm + "drop: unknown key; did you mean \"droop\"? (from --set)\n" + gemm +
       "splits: expected ascending numbers of splits that begin with 1 (from --set)")
          .c_str(),
      InputError);
}

}  // namespace
}  // namespace prequel
