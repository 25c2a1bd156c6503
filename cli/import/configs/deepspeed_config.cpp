#include "cli/import/configs/json_configs.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostSequences = 1LL << 30;
constexpr std::array kKnownKeys{"train_batch_size",
                                "train_micro_batch_size_per_gpu",
                                "gradient_accumulation_steps",
                                "zero_optimization",
                                "fp16",
                                "data_types",
                                "bf16",
                                "bfloat16",
                                "activation_checkpointing"};
constexpr std::array kKnownOfZero{"stage", "offload_optimizer", "offload_param", "cpu_offload",
                                  "overlap_comm"};
constexpr std::array kCheckpointing{"partition_activations", "cpu_checkpointing"};

/// "auto" leaves a value to the program that calls DeepSpeed.
bool is_auto(const Cursor& value) {
  return value.is_text() && value.text() == "auto";
}

class ConfigReader {
 public:
  ConfigReader(const Document& document, Facts& job)
      : file_(document.file()), root_(document.root()), job_(job) {}

  void read() {
    const OriginScope from(job_, {Sureness::stated, file_, "its keys"});
    job_.set_flag("deepspeed");
    job_.set_flag("deepspeed_config");
    whole("train_batch_size", "plan.gbs");
    whole("train_micro_batch_size_per_gpu", "plan.mbs");
    whole("gradient_accumulation_steps");
    read_precision();
    if (const auto types = root_.find("data_types")) read_types(*types);
    if (const auto zero = root_.find("zero_optimization")) {
      read_zero(*zero);
    } else {
      no_zero_stage();
    }
    if (const auto section = root_.find("activation_checkpointing")) read_checkpointing(*section);
    ignore_others(root_, kKnownKeys, "");
  }

 private:
  void whole(const char* key, const char* field = nullptr) {
    const auto found = root_.find(key);
    if (!found) return;
    if (is_auto(*found)) {
      leave_open(key);
      return;
    }
    const OriginScope from(job_, {Sureness::stated, file_, key});
    job_.set_number(key, found->integer(1, kMostSequences));
    if (field != nullptr) job_.set(field, job_.text(key));
  }

  void leave_open(const std::string& key) {
    job_.set_flag("open." + key);
    job_.report.assumed.push_back(
        fmt::format("{}: {} is \"auto\", as the other files say it", file_, key));
  }

  template <class Keys>
  void ignore_others(const Cursor& section, const Keys& known, const std::string& path) {
    for (const auto& [key, value] : section.members()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        job_.report.ignored.push_back("DeepSpeed's " + path + key);
      }
    }
  }

  void read_precision() {
    const bool bf16 = enabled("bf16") || enabled("bfloat16");
    const bool fp16 = enabled("fp16");
    if (bf16 && fp16) {
      throw InputError(file_ + ": bf16 and fp16 are both enabled, which DeepSpeed refuses");
    }
    if (!bf16 && !fp16) return;
    for (const char* field : {"plan.precision", "config_precision"}) {
      job_.set(field, bf16 ? "bf16" : "fp16");
    }
  }

  [[nodiscard]] bool enabled(const char* key) {
    const auto section = root_.find(key);
    if (!section) return false;
    ignore_others(*section, std::array{"enabled"}, std::string(key) + ".");
    const auto flag = section->find("enabled");
    if (!flag) return false;
    if (is_auto(*flag)) {
      leave_open(std::string(key) + ".enabled");
      return false;
    }
    return flag->boolean();
  }

  void read_types(const Cursor& types) {
    (void)types.members();
    const auto type = types.find("grad_accum_dtype");
    if (!type) return;
    for (const Precision known : {Precision::fp32, Precision::fp16, Precision::bf16}) {
      if (type->text() == name(known)) job_.set("plan.grad_precision", type->text());
    }
    if (!job_.says("plan.grad_precision")) {
      job_.report.ignored.push_back("DeepSpeed's data_types.grad_accum_dtype " +
                                    printable(type->text()));
    }
  }

  void zero_stage(std::int64_t stage) {
    job_.set_number("zero_optimization.stage", stage);
    job_.set_number("plan.zero", stage);
  }
  void no_zero_stage() {
    job_.report.assumed.push_back(
        fmt::format("ZeRO 0: {} names no stage of zero_optimization", file_));
    zero_stage(0);
  }

  void read_zero(const Cursor& zero) {
    if (zero.is_object()) ignore_others(zero, kKnownOfZero, "zero_optimization.");
    const auto stage = zero.find("stage");
    if (stage && is_auto(*stage)) {
      leave_open("zero_optimization.stage");
    } else if (stage) {
      zero_stage(stage->integer(0, 3));
    } else {
      no_zero_stage();
    }
    if (const auto overlap = zero.find("overlap_comm"); overlap && !is_auto(*overlap)) {
      job_.set_flag("overlap_comm", overlap->boolean());
    }
    const bool optimizer = in_host_memory(zero, "offload_optimizer") || old_offload(zero);
    const bool parameters = in_host_memory(zero, "offload_param");
    if (parameters) {
      job_.set("plan.offload", "optimizer+params");
    } else if (optimizer) {
      job_.set("plan.offload", "optimizer");
    }
  }

  /// The model's code says whether there are any checkpoints; moving them is not modelled.
  void read_checkpointing(const Cursor& section) {
    if (!section.is_object()) return;
    ignore_others(section, kCheckpointing, "activation_checkpointing.");
    const auto is_set = [&](const char* key) {
      const auto flag = section.find(key);
      return flag && flag->boolean();
    };
    if (is_set("partition_activations")) job_.set_flag("plan.distribute_saved_activations");
    if (is_set("cpu_checkpointing")) {
      job_.report.left_out.push_back(
          "activation_checkpointing.cpu_checkpointing: not modelled; predicted as without it");
    }
  }

  /// `device` is none, cpu or nvme; only host memory is modelled.
  [[nodiscard]] bool in_host_memory(const Cursor& zero, const char* key) {
    const auto section = zero.find(key);
    if (!section) return false;
    ignore_others(*section, std::array{"device"}, fmt::format("zero_optimization.{}.", key));
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
  Facts& job_;
};

}  // namespace

bool is_deepspeed_config(const Document& document) {
  const nlohmann::json& json = document.json();
  if (!json.is_object()) return false;
  for (const char* key : {"n_layer", "num_layers", "layers", "d_model", "n_embd"}) {
    if (json.contains(key)) return false;  // what has a shape, too, is a program's own
  }
  for (const char* key : {"train_batch_size", "train_micro_batch_size_per_gpu",
                          "gradient_accumulation_steps", "zero_optimization"}) {
    if (json.contains(key)) return true;
  }
  return false;
}

void read_deepspeed_config(const Document& document, Facts& job) {
  ConfigReader(document, job).read();
  document.finish();
  job.report.read.push_back(document.file() + ": DeepSpeed config");
}

}  // namespace prequel
