#include "cli/import/deepspeed_config.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/json_cursor.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostSequences = 1LL << 30;
constexpr std::array kKnown{"train_batch_size",
                            "train_micro_batch_size_per_gpu",
                            "gradient_accumulation_steps",
                            "zero_optimization",
                            "fp16",
                            "data_types",
                            "bf16",
                            "bfloat16"};

/// "auto" leaves a value to the program that calls DeepSpeed.
bool is_auto(const Cursor& value) {
  return value.is_text() && value.text() == "auto";
}

class ConfigReader {
 public:
  ConfigReader(const Document& document, ImportedJob& job)
      : file_(document.file()), root_(document.root()), job_(job) {}

  void read() {
    whole("train_batch_size", job_.plan.gbs);
    whole("train_micro_batch_size_per_gpu", job_.plan.mbs);
    whole("gradient_accumulation_steps", job_.gradient_accumulation_steps);
    if (enabled("bf16") || enabled("bfloat16")) {
      job_.plan.precision = Precision::bf16;
    } else if (enabled("fp16")) {
      job_.plan.precision = Precision::fp16;
    }
    if (const auto types = root_.find("data_types")) read_types(*types);
    if (const auto zero = root_.find("zero_optimization")) read_zero(*zero);
    for (const auto& [key, value] : root_.members()) {
      if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
        job_.report.ignored.push_back("DeepSpeed's " + key);
      }
    }
  }

 private:
  void whole(const char* key, std::optional<std::int64_t>& target) {
    const auto found = root_.find(key);
    if (!found) return;
    if (is_auto(*found)) {
      job_.report.assumed.push_back(
          fmt::format("{}: {} is \"auto\", as the other files say it", file_, key));
    } else {
      target = found->integer(1, kMostSequences);
    }
  }

  [[nodiscard]] bool enabled(const char* key) {
    const auto section = root_.find(key);
    if (!section) return false;
    (void)section->members();
    const auto flag = section->find("enabled");
    return flag && !is_auto(*flag) && flag->boolean();
  }

  void read_types(const Cursor& types) {
    (void)types.members();
    const auto type = types.find("grad_accum_dtype");
    if (!type) return;
    for (const Precision known : {Precision::fp32, Precision::fp16, Precision::bf16}) {
      if (type->text() == name(known)) job_.plan.grad_precision = known;
    }
  }

  void read_zero(const Cursor& zero) {
    (void)zero.members();
    if (const auto stage = zero.find("stage"); stage && !is_auto(*stage)) {
      job_.plan.zero = stage->integer(0, 3);
    }
    const bool optimizer = in_host_memory(zero, "offload_optimizer") || old_offload(zero);
    const bool parameters = in_host_memory(zero, "offload_param");
    if (parameters) {
      job_.plan.offload = Offload::optimizer_params;
    } else if (optimizer) {
      job_.plan.offload = Offload::optimizer;
    }
  }

  /// `device` is none, cpu or nvme; only host memory is modelled.
  [[nodiscard]] bool in_host_memory(const Cursor& zero, const char* key) {
    const auto section = zero.find(key);
    if (!section) return false;
    (void)section->members();
    const auto device = section->find("device");
    if (!device || device->text() == "none") return false;
    if (device->text() != "cpu") {
      device->problem("offload to \"" + device->text() + "\" is not modelled; cpu or none is");
    }
    return true;
  }

  [[nodiscard]] static bool old_offload(const Cursor& zero) {
    const auto flag = zero.find("cpu_offload");
    return flag && flag->boolean();
  }

  std::string file_;
  Cursor root_;
  ImportedJob& job_;
};

}  // namespace

bool is_deepspeed_config(const Document& document) {
  const nlohmann::json& json = document.json();
  if (!json.is_object()) return false;
  for (const char* key : {"train_batch_size", "train_micro_batch_size_per_gpu",
                          "gradient_accumulation_steps", "zero_optimization"}) {
    if (json.contains(key)) return true;
  }
  return false;
}

void read_deepspeed_config(const Document& document, ImportedJob& job) {
  ConfigReader(document, job).read();
  document.finish();
  job.report.read.push_back(document.file() + ": DeepSpeed config");
}

}  // namespace prequel
