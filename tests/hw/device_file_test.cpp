#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "hw/base/errors.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

const std::string kDevices = PREQUEL_DATA_DIR "/devices/";

/// A shipped file; one that is like another is that one, changed.
nlohmann::json shipped_device(const std::string& name) {
  nlohmann::json change = Document::read(kDevices + name + ".json").json();
  if (!change.contains("like")) return change;
  nlohmann::json whole = shipped_device(change["like"]);
  change.erase("like");
  whole.merge_patch(change);
  return whole;
}

/// Every shipped device, by the name of its file.
std::map<std::string, Device> shipped_devices() {
  std::map<std::string, Device> devices;
  for (const auto& entry : std::filesystem::directory_iterator(kDevices)) {
    const std::string name = entry.path().stem().string();
    devices.emplace(name, read_device(Document::from(entry.path().string(), shipped_device(name))));
  }
  return devices;
}

TEST_CASE("every shipped device file reads, and its name is the file's") {
  std::set<std::string> names;
  for (const auto& [file, device] : shipped_devices()) {
    CHECK(device.name == file);
    names.insert(device.name);
  }
  for (const char* name :
       {"a100-sxm-80gb", "a100-sxm-40gb", "a800-sxm-80gb", "h100-sxm", "h100-sxm-96gb-500w",
        "h200-sxm", "b200", "b200-power-limited", "b300", "gb200", "gb300", "mi300x", "mi325x",
        "mi350x", "mi355x", "v100-sxm2-32gb", "v100-sxm2-16gb", "a64fx", "cpu"}) {
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

TEST_CASE("memory-bound kernels go with the clock where the cores bind them, else they do not") {
  const auto slower = [](const char* name) {  // at 2.0 GHz than at 2.2
    Document document = Document::read(kDevices + name);
    const auto time_at = [&](const char* clock) {
      document.set("clock_ghz", clock);
      return price(read_device(document), Stream{StreamKind::softmax, {1e12}}).value;
    };
    return time_at("2.0") / time_at("2.2");
  };
  CHECK(slower("a64fx.json") == doctest::Approx(1.1).epsilon(1e-4));
  CHECK(slower("h100-sxm.json") == doctest::Approx(1.0));
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
      (gemm + "drop: unknown key; did you mean \"droop\"? (from override)\n" + gemm +
       "splits: expected ascending numbers of splits that begin with 1 (from override)")
          .c_str(),
      InputError);
}

TEST_CASE("a memory of a few bytes lacks its unit") {
  Document document = Document::read(kDevices + "a100-sxm-80gb.json");
  document.set("memory", "80");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(read_device(document)),
      (kDevices + "a100-sxm-80gb.json: /memory: expected a unit (e.g. \"80 GB\"), as this is a few "
                  "bytes (from override)")
          .c_str(),
      InputError);
}

Device shipped(const std::string& name) {
  return read_device(Document::read(kDevices + name + ".json"));
}

TEST_CASE("generations of flash attention run on H100 at the rates of the FlashAttention-3 paper") {
  // Figures 5 and 6: causal forward and backward of 16384 tokens, 16 heads of 128.
  const Device h100 = shipped("h100-sxm");
  const auto rate = [&](const char* kernel, std::int64_t seq, bool backward) {
    const FusedAttention what{.batch = 16384 / seq,
                              .seq = seq,
                              .heads = 16,
                              .kv_heads = 16,
                              .head_dim = 128,
                              .causal = !backward,
                              .backward = backward};
    const Flops work = flops(attention_kernel(h100, kernel), what);
    return work.value / price(h100, what, kernel).value / 1e12;
  };
  for (const auto& [seq, published] : {std::pair{1024, 260.0}, {4096, 319.0}, {16384, 335.0}}) {
    CHECK(rate("flash-2", seq, false) == doctest::Approx(published).epsilon(0.03));
  }
  for (const auto& [seq, published] : {std::pair{1024, 260.0}, {4096, 310.0}, {16384, 322.0}}) {
    CHECK(rate("flash-2", seq, true) == doctest::Approx(published).epsilon(0.03));
  }
  CHECK(rate("flash-3", 16384, false) > 1.7 * rate("flash-2", 16384, false));
  CHECK(rate("flash-1", 16384, false) < rate("flash-2", 16384, false));
}

TEST_CASE("every shipped device prices every kernel of attention, head size and format") {
  for (const auto& [file, device] : shipped_devices()) {
    for (const char* kernel :
         {"flash-1-triton", "flash-2", "flash-3", "flash-4", "cudnn", "aiter"}) {
      for (const std::int64_t head_dim : {32, 64, 72, 128, 192, 256, 512}) {
        for (const auto precision : {Precision::bf16, Precision::fp8}) {
          for (const bool backward : {false, true}) {
            FusedAttention what{.batch = 1,
                                .seq = 4096,
                                .heads = 32,
                                .kv_heads = 8,
                                .head_dim = head_dim,
                                .backward = backward,
                                .precision = precision};
            CHECK_MESSAGE(price(device, what, kernel).value > 0.0, device.name, kernel);
            what.value_dim = 16;
            what.window = 128;
            CHECK_MESSAGE(price(device, what, kernel).value > 0.0, device.name, kernel);
          }
        }
      }
    }
  }
}

TEST_CASE("large products run at the rates that were published for them") {
  const auto rate = [](const char* device, Precision precision) {
    const Gemm gemm{8192, 8192, 8192, 1, precision};
    return (flops(gemm) / price(shipped(device), gemm)).value / kTera;
  };
  const auto near = [](double tflops) { return doctest::Approx(tflops).epsilon(0.06); };
  CHECK(rate("h100-sxm", Precision::bf16) == near(770.0));
  CHECK(rate("b200", Precision::bf16) == near(1500.0));
  CHECK(rate("gb300", Precision::bf16) == near(1900.0));
  CHECK(rate("h100-sxm", Precision::fp8) == near(1450.0));
  CHECK(rate("b200", Precision::fp8) == near(3050.0));
  CHECK(rate("b200", Precision::fp4) == near(4350.0));
}

TEST_CASE("no product beats the peak of its format, on any device") {
  for (const auto& [file, device] : shipped_devices()) {
    for (std::size_t i = 0; i < kPrecisions; ++i) {
      const auto precision = static_cast<Precision>(i);
      if (device.peaks[i] <= 0.0) continue;
      for (std::int64_t size = 512; size <= 32768; size *= 2) {
        const Gemm gemm{size, size, size, 1, precision};
        CAPTURE(device.name);
        CAPTURE(name(precision));
        CAPTURE(size);
        CHECK(price(device, gemm) >= flops(gemm) / device.peak(precision));
      }
    }
  }
}

}  // namespace
}  // namespace prequel
