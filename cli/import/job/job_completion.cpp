#include "cli/import/job/job_completion.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "cli/import/job/job_rules.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layout.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostBatch = 1LL << 30;
constexpr std::int64_t kMostStages = 1LL << 20;

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

}  // namespace

void complete(ImportedJob& job) {
  expect_pattern(job.model);
  for (const char* step : {"devices", "degrees", "devices"}) follow_rules(step, job);
  complete_layout(job);
  follow_rules("chunks", job);
  complete_instances(job);
  follow_rules("completed", job);
}

}  // namespace prequel
