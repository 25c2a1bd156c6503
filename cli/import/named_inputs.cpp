#include "cli/import/named_inputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

/// The last word on each field of the plan.
std::optional<std::int64_t> whole_of(const ImportNames& names, std::string_view path) {
  std::optional<std::int64_t> value;
  for (const Override& override : names.overrides) {
    if (override.path != path) continue;
    const auto number = parse_integer(override.value);
    value = number && *number > 0 ? std::optional<std::int64_t>(*number) : std::nullopt;
  }
  return value;
}

/// The cluster and the software that the job will be predicted with, where they can be read; what
/// is wrong with them their reader tells later.
struct Inputs {
  std::optional<Cluster> cluster;
  std::optional<Software> software;
};
Inputs look_up(const ImportedJob& job, const ImportNames& names) {
  Inputs inputs;
  if (names.library == nullptr) return inputs;
  try {
    if (job.cluster) inputs.cluster = read_cluster(names.library->open("clusters", *job.cluster));
  } catch (const InputError&) {
  }
  try {
    std::optional<std::string> software = job.software;
    if (!software && inputs.cluster) software = inputs.cluster->software;
    if (software) inputs.software = read_software(names.library->open("software", *software));
  } catch (const InputError&) {
  }
  return inputs;
}

class Completion {
 public:
  Completion(ImportedJob& job, const ImportNames& names)
      : job_(job), names_(names), inputs_(look_up(job, names)) {}

  void run() {
    complete_batch();
    const bool megatron = job_.says("--num-layers");  // in a script or a log
    if (!job_.script && !job_.deepspeed_config && !megatron) return;
    if (job_.script) tell_config();
    assume_precision();
    if (!job_.script && !megatron) return;
    if (!job_.plan.mbs && !names_.replaces("plan.mbs")) assume("mbs 1: no file says it");
    if (job_.layers_per_virtual_stage && !job_.plan.vpp) {
      leave_out(
          fmt::format("--num-layers-per-virtual-pipeline-stage {}: how many layers a stage "
                      "holds is not known; --vpp N says the chunks",
                      *job_.layers_per_virtual_stage));
    }
    if (!job_.model.vocab && !names_.replaces("model.vocab_size")) {
      leave_out("vocab_size: no file says it; --set model.vocab_size=N does (50257 for GPT-2)");
    }
    assume_attention();
    compare_overlap();
  }

 private:
  void assume(std::string text) { job_.report.assumed.push_back(std::move(text)); }
  void leave_out(std::string text) { job_.report.left_out.push_back(std::move(text)); }

  /// The batch follows from dp, dp from nodes, and those may come from the user and the cluster.
  void complete_batch() {
    if (job_.plan.gbs || names_.replaces("plan.gbs")) return;
    ImportedJob as_asked = job_;
    as_asked.report = {};
    PlanRequest& plan = as_asked.plan;
    const struct {
      const char* path;
      std::optional<std::int64_t>& field;
      const char* flag;
    } fields[] = {{"plan.nodes", plan.nodes, "--nnodes"},
                  {"plan.dp", plan.dp, ""},
                  {"plan.tp", plan.tp, "--tensor-model-parallel-size"},
                  {"plan.pp", plan.pp, "--pipeline-model-parallel-size"},
                  {"plan.cp", plan.cp, "--context-parallel-size"},
                  {"plan.mbs", plan.mbs, "--micro-batch-size"}};
    for (const auto& [path, field, flag] : fields) {
      const auto value = whole_of(names_, path);
      if (!value) continue;
      field = value;
      as_asked.unresolved.erase(flag);
    }
    if (names_.replaces("plan.nodes")) as_asked.gpus.reset();
    if (!as_asked.gpus_per_node && inputs_.cluster) {
      as_asked.gpus_per_node = inputs_.cluster->devices_per_node;
    }
    complete(as_asked);
    if (plan.gbs) {
      job_.plan.gbs = plan.gbs;
      job_.report.assumed.insert(job_.report.assumed.end(), as_asked.report.assumed.begin(),
                                 as_asked.report.assumed.end());
    } else if (job_.script || job_.deepspeed_config) {
      tell_missing_batch(as_asked);
    }
  }

  void tell_missing_batch(const ImportedJob& job) {
    const std::string mbs = job.plan.mbs ? fmt::format("mbs {}", *job.plan.mbs) : "mbs";
    std::vector<std::string> missing;
    if (!job.plan.mbs) missing.emplace_back("the micro batch");
    if (!job.plan.dp && !job.unresolved_degrees().empty()) {
      missing.push_back(job.unresolved_degrees());
    }
    if (!job.plan.dp && !job.gpus) {
      if (!job.plan.nodes) missing.emplace_back("the number of nodes (--nodes)");
      if (!job.gpus_per_node) missing.emplace_back("the devices of a node (--cluster)");
    }
    leave_out(fmt::format("gbs: it would be {} x {} accumulation steps x dp; missing: {}", mbs,
                          job.gradient_accumulation_steps.value_or(1),
                          missing.empty() ? "a dp that divides the devices"
                                          : fmt::format("{}", fmt::join(missing, ", "))));
  }

  void tell_config() {
    if (!job_.deepspeed || job_.deepspeed_config) return;
    const std::string name = job_.deepspeed_config_file.empty()
                                 ? std::string("DeepSpeed's config")
                                 : printable(job_.deepspeed_config_file);
    leave_out(fmt::format(
        "{}: not among the files; prequel import SCRIPT CONFIG reads both{}", name,
        job_.plan.zero ? "" : " (until then ZeRO is as the software has it by default)"));
  }

  void assume_precision() {
    if (job_.plan.precision || names_.replaces("plan.precision")) return;
    if (inputs_.software) {
      job_.plan.precision = inputs_.software->defaults.precision;
    } else {
      job_.plan.precision = Precision::bf16;
    }
    const std::string_view taken = name(*job_.plan.precision);
    std::string why = "no argument names one";
    if (job_.deepspeed && !job_.deepspeed_config) {
      why = "DeepSpeed's config, which may name another, is not among the files";
    } else if (job_.deepspeed) {
      why = "DeepSpeed's config enables neither bf16 nor fp16, in which case it trains in fp32";
    } else if (job_.says("--num-layers")) {
      why = "the script names neither --bf16 nor --fp16, in which case Megatron trains in fp32";
    }
    assume(fmt::format("precision {}: {}", taken, why));
  }

  void assume_attention() {
    if (job_.plan.attention || names_.replaces("plan.attention")) return;
    assume(inputs_.software
               ? fmt::format("attention {}: no argument names one; the default of {}",
                             name(inputs_.software->defaults.attention), inputs_.software->name)
               : std::string("attention: no argument names one; the software's default"));
  }

  void compare_overlap() {
    constexpr const char* kField = "software.communication.gradient_overlap";
    if (!inputs_.software || names_.replaces(kField)) return;
    const GradientOverlap priced = inputs_.software->communication.gradient_overlap;
    if (job_.deepspeed) {
      const bool overlaps = priced != GradientOverlap::none;
      if (job_.overlap_comm.value_or(overlaps) == overlaps) return;
      leave_out(fmt::format("overlap_comm {}: {} has it otherwise; --set {}={} predicts it",
                            *job_.overlap_comm, inputs_.software->name, kField,
                            overlaps ? "none" : "always"));
      return;
    }
    if (!inputs_.software->framework.starts_with("megatron")) return;
    const bool asked = job_.says("--overlap-grad-reduce");
    if (asked && priced != GradientOverlap::always) {
      job_.gradient_overlap = GradientOverlap::always;
      job_.report.read.push_back(fmt::format("--overlap-grad-reduce: {} is always", kField));
    } else if (!asked && priced == GradientOverlap::always) {
      job_.gradient_overlap = GradientOverlap::none;
      assume(fmt::format("{} none: no --overlap-grad-reduce", kField));
    }
    if (asked && job_.plan.zero.value_or(0) > 0 && !job_.says("--overlap-param-gather")) {
      leave_out(
          "no --overlap-param-gather: gathers of parameters are predicted to overlap where "
          "gradients do");
    }
  }

  ImportedJob& job_;
  const ImportNames& names_;
  Inputs inputs_;
};

}  // namespace

bool ImportNames::replaces(std::string_view path) const {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const Override& override) { return override.path == path; });
}

void complete_by_names(ImportedJob& job, const ImportNames& names) {
  Completion(job, names).run();
}

}  // namespace prequel
