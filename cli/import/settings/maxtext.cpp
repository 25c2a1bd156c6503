#include "cli/import/settings/framework_defaults.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "cli/import/job/job_completion.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"
#include "hw/base/words.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostRanks = 1LL << 20;  // of an axis

/// An axis of MaxText, and the degree of a plan that it is part of.
struct Axis {
  std::string_view name;
  std::optional<std::int64_t> PlanRequest::*degree;
  bool batch{};    ///< ranks that get other sequences
  bool sharded{};  ///< over which parameters are shared out
};
constexpr Axis kAxes[] = {{"data", nullptr, true},
                          {"fsdp", nullptr, true, true},
                          {"fsdp_transpose", nullptr, true, true},
                          {"expert", &PlanRequest::ep, true},
                          {"tensor", &PlanRequest::tp},
                          {"tensor_transpose", &PlanRequest::tp},
                          {"tensor_sequence", &PlanRequest::tp},
                          {"pipeline", &PlanRequest::pp},
                          {"context", &PlanRequest::cp},
                          {"sequence", &PlanRequest::cp}};

constexpr std::string_view kOtherKeys[] = {"per_device_batch_size", "remat_policy", "quantization"};

std::string value_of(const ImportedJob& job, const std::string& key) {
  const auto found = job.maxtext.find(key);
  return found == job.maxtext.end() ? std::string() : found->second;
}

/// The degrees of all axes within a node or between nodes; -1, of one of them, is what is left of
/// `all`. Empty where that is not known.
std::vector<std::int64_t> degrees(const ImportedJob& job, const char* where,
                                  std::string_view filled, std::optional<std::int64_t> all) {
  std::vector<std::int64_t> found;
  std::int64_t product = 1;
  std::ptrdiff_t open = -1;
  for (const Axis& axis : kAxes) {
    const auto said =
        parse_integer(value_of(job, fmt::format("{}_{}_parallelism", where, axis.name)));
    const std::int64_t degree = said.value_or(axis.name == filled ? -1 : 1);
    if (degree == -1) open = std::ssize(found);
    if (degree == 0 || degree < -1 || degree > kMostRanks || product > kMostRanks) return {};
    found.push_back(degree);
    if (degree > 0) product *= degree;
  }
  if (open < 0) return found;
  if (!all || *all % product != 0) return {};
  found[static_cast<std::size_t>(open)] = *all / product;
  return found;
}

void follow_batch(const ImportedJob& job, std::int64_t devices, PlanRequest& plan) {
  const auto each = parse_number(value_of(job, "per_device_batch_size"));
  if (!each || !(*each > 0 && *each < 1e6) || !plan.dp) return;
  const double steps = static_cast<double>(job.gradient_accumulation_steps.value_or(1));
  const double all = *each * static_cast<double>(devices) * steps;
  if (!plan.gbs) plan.gbs = std::llround(all);
  const double mine = all / steps / static_cast<double>(*plan.dp);
  const auto micro_batches = static_cast<double>(plan.pp.value_or(1));  // as many as stages
  if (!plan.mbs) plan.mbs = std::max<std::int64_t>(1, std::llround(mine / micro_batches));
}

void follow_recomputation(ImportedJob& job) {
  if (job.plan.recompute) return;
  const std::string policy = value_of(job, "remat_policy");
  job.plan.recompute = Recompute::full;
  if (policy.empty()) {
    job.report.assumed.emplace_back("recompute full: MaxText's, as no remat_policy says otherwise");
  } else if (const auto word = named<RecomputeModule>(policy); word && is_kept_by_name(*word)) {
    job.plan.recompute = Recompute::selective;
    job.plan.recompute_modules = WordSet<RecomputeModule>{*word};
  } else if (policy == "minimal_flash") {  // its name before
    job.plan.recompute = Recompute::selective;
    job.plan.recompute_modules = WordSet<RecomputeModule>{RecomputeModule::minimal_with_context};
  } else if (policy != "full") {
    job.report.left_out.push_back(fmt::format(
        "remat_policy {}: keeps some products; predicted with recompute full", printable(policy)));
  }
}

}  // namespace

bool is_maxtext_key(std::string_view key) {
  if (std::ranges::find(kOtherKeys, key) != std::end(kOtherKeys)) return true;
  return (key.starts_with("ici_") || key.starts_with("dcn_")) && key.ends_with("_parallelism");
}

void assume_maxtext_defaults(ImportedJob& job) {
  const bool batch = job.maxtext.contains("per_device_batch_size");
  const bool axes = std::ranges::any_of(
      job.maxtext, [](const auto& one) { return one.first.ends_with("_parallelism"); });
  if (!batch && !axes) return;
  complete_devices(job);
  PlanRequest& plan = job.plan;
  const auto inside = degrees(job, "ici", "fsdp", job.gpus_per_node);
  const auto between = degrees(job, "dcn", "data", plan.nodes);
  std::int64_t devices = 1;
  std::int64_t copies = 1;
  std::int64_t shards = 1;
  if (inside.empty() || between.empty()) {
    job.report.left_out.emplace_back(
        "MaxText's degrees: an axis takes the remaining devices; --nodes N and --cluster NAME give "
        "their number");
    plan.zero = 3;
  } else {
    std::int64_t ranks = 1;  // with sequences of their own
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const std::int64_t degree = inside[i] * between[i];
      devices = std::min(devices * degree, kMostRanks);
      if (kAxes[i].batch) ranks = std::min(ranks * degree, kMostRanks);
      if (kAxes[i].sharded) shards *= degree;
      if (kAxes[i].batch && !kAxes[i].sharded) copies *= degree;
      if (kAxes[i].degree != nullptr && degree > 1) {
        plan.*kAxes[i].degree = (plan.*kAxes[i].degree).value_or(1) * degree;
      }
    }
    plan.dp = ranks;
    if (!job.gpus) job.gpus = devices;
    if (!plan.zero) plan.zero = shards > 1 ? 3 : 0;
    if (shards > 1 && copies > 1) job.optimizer_instances = copies;
    follow_batch(job, devices, plan);
  }
  follow_recomputation(job);
  if (!plan.seq_len) {
    plan.seq_len = 2048;
    job.report.assumed.emplace_back(
        "seq_len 2048: MaxText's, as no max_target_length says otherwise");
  }
  if (!plan.precision) {
    const bool narrow = value_of(job, "quantization").find("fp8") != std::string::npos;
    plan.precision = narrow ? Precision::fp8 : Precision::bf16;
  }
}

}  // namespace prequel
