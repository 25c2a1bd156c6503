#include "cli/import/job/job_completion.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "cli/import/job/job_rules.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layout.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostBatch = 1LL << 30;
constexpr std::int64_t kMostStages = 1LL << 20;

/// Derives global batch, micro batch or accumulation steps from the other two.
void complete_batches(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const std::int64_t steps = job.value("gradient_accumulation_steps").value_or(1);
  const std::string in_steps = job.value("gradient_accumulation_steps")
                                   ? fmt::format("{} accumulation steps", steps)
                                   : std::string("1 accumulation step (no more are said)");
  if (!plan.dp || *plan.dp >= kMostBatch || steps < 1 || steps >= kMostBatch) return;
  if (!plan.gbs && plan.mbs && *plan.mbs < kMostBatch && *plan.dp * *plan.mbs < kMostBatch) {
    plan.gbs = *plan.dp * *plan.mbs * steps;
    job.report.assumed.push_back(
        fmt::format("gbs {}: dp {} x mbs {} x {}", *plan.gbs, *plan.dp, *plan.mbs, in_steps));
  }
  // Levanter's ranks take all of their sequences at once unless told otherwise.
  const bool by_steps = job.value("gradient_accumulation_steps") || job.says("deepspeed_config") ||
                        job.is_of("levanter");
  if (!plan.mbs && plan.gbs && by_steps && !job.says("open.train_micro_batch_size_per_gpu")) {
    const std::int64_t micro_batches = *plan.dp * steps;
    if (micro_batches < 1 || *plan.gbs < micro_batches || *plan.gbs % micro_batches != 0) return;
    plan.mbs = *plan.gbs / micro_batches;
    job.report.assumed.push_back(
        fmt::format("mbs {}: gbs {} / dp {} / {}", *plan.mbs, *plan.gbs, *plan.dp, in_steps));
  }
}

void complete_chunks(ImportedJob& job) {
  if (job.plan.vpp || !job.value("layers_per_chunk") || !job.model.layers) return;
  if (job.says("open.--pipeline-model-parallel-size")) return;
  const std::int64_t stages = std::min(job.plan.pp.value_or(1), kMostStages);
  const std::int64_t chunk = stages * *job.value("layers_per_chunk");
  if (chunk > 0 && pipeline_units(job) % chunk == 0) job.plan.vpp = pipeline_units(job) / chunk;
}

/// Counts the chunks of a layout in letters, or writes one for first and last stages with layers of
/// their own: the others share the rest.
void complete_layout(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const std::int64_t stages = std::min(plan.pp.value_or(1), kMostStages);
  if (plan.layout) {
    const auto read = parse_layout(*plan.layout);
    const auto* chunks = std::get_if<std::vector<LayoutChunk>>(&read);
    const bool whole = chunks != nullptr && stages > 0 && std::ssize(*chunks) % stages == 0;
    if (whole && !plan.vpp) plan.vpp = std::ssize(*chunks) / stages;
    return;
  }
  if (!job.value("first_stage_layers") && !job.value("last_stage_layers")) return;
  const std::int64_t ends =
      (job.value("first_stage_layers") ? 1 : 0) + (job.value("last_stage_layers") ? 1 : 0);
  const std::int64_t left = job.model.layers.value_or(0) -
                            job.value("first_stage_layers").value_or(0) -
                            job.value("last_stage_layers").value_or(0);
  const std::int64_t others = stages - ends;
  const bool chunked = plan.vpp.value_or(1) > 1 || job.value("layers_per_chunk");
  if (chunked || stages < 2 || others < 1 || stages > 1024 || left < others || left % others != 0) {
    job.report.left_out.emplace_back(
        "--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers: predicted with "
        "equal stages");
    return;
  }
  std::string layout = "E";
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const auto& own = stage == 0            ? job.value("first_stage_layers")
                      : stage + 1 == stages ? job.value("last_stage_layers")
                                            : std::optional<std::int64_t>();
    if (stage > 0) layout += '|';
    layout += fmt::format("t*{}", own.value_or(left / others));
  }
  const std::int64_t more = job.model.next_token_layers.value_or(0);
  if (more > 0) layout += fmt::format("m*{}", more);
  plan.layout = layout + "L";
}

/// Instances of the optimizer hold all of its states each: a node, where there are as many of them.
void complete_instances(ImportedJob& job) {
  const std::int64_t all = job.plan.dp.value_or(0);
  if (const auto ranks = job.value("sharding_ranks"); ranks && *ranks > 0 && all > 0) {
    if (all <= *ranks) job.plan.sharding_group = ShardingGroup::all;
    if (all > *ranks && all % *ranks == 0) job.set_number("optimizer_instances", all / *ranks);
  }
  if (job.value("optimizer_instances").value_or(1) == 1) return;
  PlanRequest& plan = job.plan;
  Plan asked;
  asked.tp = plan.tp.value_or(1);
  asked.pp = plan.pp.value_or(1);
  asked.cp = plan.cp.value_or(1);
  asked.dp = plan.dp.value_or(0);
  asked.nodes = plan.nodes.value_or(0);
  asked.gpus = job.value("devices").value_or(0);
  asked.sharding_group = ShardingGroup::node;
  const bool known = asked.dp > 0 && asked.nodes > 0 && asked.gpus > 0 && asked.tp > 0 &&
                     asked.dp < kMostBatch && asked.cp < kMostStages;
  if (known &&
      shard_groups(asked, GroupAxis::data).copies.size == job.value("optimizer_instances")) {
    plan.sharding_group = ShardingGroup::node;
  } else {
    plan.sharding_group = ShardingGroup::all;
    job.report.left_out.push_back(fmt::format(
        "{} groups that each hold all states: predicted with states sharded over all ranks",
        *job.value("optimizer_instances")));
  }
}

/// A specification of hybrid layers says of which kinds they are, not where they stand.
void expect_pattern(const ImportedModel& model) {
  if (model.mixers.contains("layers_pattern")) return;
  for (const std::string_view kind : {"mamba", "hybrid"}) {
    if (model.spec.find(kind) == std::string::npos) continue;
    throw InputError("--spec " + printable(model.spec) +
                     ": is of hybrid layers whose pattern no flag gives; --hybrid-layer-pattern "
                     "would do");
  }
}

/// Sizes of state-space layers that Megatron has by default: heads of twice the hidden size.
void complete_mixers(ImportedModel& model) {
  const auto pattern = model.mixers.find("layers_pattern");
  if (pattern == model.mixers.end() || pattern->second.find('M') == std::string::npos) return;
  const auto size = [&](const char* key, std::int64_t usual) {
    const auto found = model.mixers.try_emplace(key, std::to_string(usual)).first;
    return parse_integer(found->second).value_or(usual);
  };
  size("mamba_d_state", 128);
  size("mamba_n_groups", 8);
  const std::int64_t head = size("mamba_head_dim", 64);
  if (model.hidden && head > 0) size("mamba_num_heads", 2 * *model.hidden / head);
}

}  // namespace

std::int64_t pipeline_units(const ImportedJob& job) {
  const bool more = job.plan.stage_split == StageSplit::embedding_as_layer;
  return job.model.layers.value_or(0) + (more ? 2 : 0);
}

void complete_devices(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const bool of_node = job.value("devices") && job.value("devices") == job.value("--gpus") &&
                       job.value("devices") == job.value("--nproc-per-node") &&
                       plan.nodes.value_or(1) > 1;
  if (of_node) {  // Slurm's counts all of them, other schedulers' do not
    job.report.assumed.push_back(
        fmt::format("--gpus {}: of each node, as processes are", *job.value("devices")));
    job.drop("devices");
  }
  if (!job.value("devices") && !plan.nodes && job.value("tasks") && job.value("devices_per_task") &&
      *job.value("tasks") < kMostBatch && *job.value("devices_per_task") < kMostBatch) {
    job.set_number("devices", *job.value("tasks") * *job.value("devices_per_task"));
  }
  if (!job.value("devices_per_node") && job.value("devices_per_task") &&
      *job.value("devices_per_task") < kMostBatch &&
      job.value("tasks_per_node").value_or(1) < kMostBatch) {
    job.set_number("devices_per_node",
                   job.value("tasks_per_node").value_or(1) * *job.value("devices_per_task"));
  }
  if (!job.value("devices_per_node") && job.value("tasks_per_node").value_or(1) > 1) {
    job.set_number("devices_per_node", job.value("tasks_per_node"));
    job.report.assumed.push_back(
        fmt::format("{} devices a node: one for each task", *job.value("devices_per_node")));
  }
  if (!job.value("devices") && plan.nodes && job.value("devices_per_node") &&
      *plan.nodes < kMostBatch && *job.value("devices_per_node") < kMostBatch) {
    job.set_number("devices", *plan.nodes * *job.value("devices_per_node"));
  }
  if (!plan.nodes && job.value("devices") && job.value("devices_per_node") &&
      *job.value("devices_per_node") > 0 &&
      *job.value("devices") % *job.value("devices_per_node") == 0) {
    plan.nodes = *job.value("devices") / *job.value("devices_per_node");
  }
}

void complete(ImportedJob& job) {
  expect_pattern(job.model);
  complete_mixers(job.model);
  complete_devices(job);
  PlanRequest& plan = job.plan;
  const auto assume = [&](const std::string& text) { job.report.assumed.push_back(text); };
  const std::int64_t model_parallel = std::min(plan.tp.value_or(1), kMostBatch) *
                                      std::min(plan.pp.value_or(1), kMostStages) *
                                      std::min(plan.cp.value_or(1), std::int64_t{1} << 10);
  if (!plan.dp && job.value("devices") && job.unresolved_degrees().empty() && model_parallel > 0 &&
      *job.value("devices") % model_parallel == 0 && *job.value("devices") >= model_parallel) {
    plan.dp = *job.value("devices") / model_parallel;
    assume(fmt::format("dp {}: {} devices / {} of tp x pp x cp", *plan.dp, *job.value("devices"),
                       model_parallel));
  } else if (plan.dp && *plan.dp < kMostBatch && !job.value("devices") && !plan.nodes &&
             job.unresolved_degrees().empty() && model_parallel < kMostBatch) {
    job.set_number("devices", *plan.dp * model_parallel);
    complete_devices(job);
  }
  const std::int64_t experts = job.model.experts.count.value_or(0);
  const bool over_data = job.says("--moe-expert-model-parallelism") && !plan.ep && plan.dp;
  if (over_data && experts > 0 && *plan.dp > 0 && experts % *plan.dp == 0) {
    plan.ep = plan.dp;
    assume(fmt::format("ep {}: that of dp, over which experts are spread", *plan.ep));
  }
  complete_batches(job);
  complete_layout(job);
  complete_chunks(job);
  complete_instances(job);
  follow_rules("completed", job);
}

}  // namespace prequel
