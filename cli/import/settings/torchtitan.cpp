#include "cli/import/settings/framework_defaults.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/import/job/job_rules.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "models/axes/schedules.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

/// Sets the micro batch: pipelines take one of a rank's sequences at a time unless told otherwise.
void follow_batches(ImportedJob& job) {
  const ImportedTorchtitan& said = job.torchtitan;
  PlanRequest& plan = job.plan;
  const std::int64_t local = said.local_batch.value_or(1);
  const bool pipeline = plan.pp.value_or(1) > 1;
  if (!pipeline) {
    plan.mbs = local;
  } else if (said.micro_batches.value_or(0) > 0 && local % *said.micro_batches == 0) {
    plan.mbs = local / *said.micro_batches;
  } else {
    plan.mbs = said.micro_batch.value_or(1);
  }
  if (*plan.mbs > 0 && !plan.gbs)
    job.gradient_accumulation_steps = std::max<std::int64_t>(1, local / *plan.mbs);
  if (pipeline && plan.gbs) {
    job.report.assumed.push_back(
        "one pipeline takes the global batch, though ranks may accumulate gradients over several");
  }
}

/// Shards over all ranks, or over some of them, which other groups repeat.
void follow_sharding(ImportedJob& job) {
  const ImportedTorchtitan& said = job.torchtitan;
  PlanRequest& plan = job.plan;
  const std::int64_t copies = std::max<std::int64_t>(1, said.replicate.value_or(1));
  if (said.shard && *said.shard < (1 << 20) && copies < (1 << 20)) plan.dp = copies * *said.shard;
  if (said.shard == 1) {
    plan.zero = 0;
  } else {
    if (!plan.zero) plan.zero = 3;
    if (copies > 1) job.optimizer_instances = copies;
  }
}

/// Looped schedules hold two chunks a rank unless the layers of one are said; embedding and head
/// count as a layer each.
void follow_schedule(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const std::int64_t stages = plan.pp.value_or(1);
  if (stages <= 1) {
    plan.schedule.reset();
    plan.vpp.reset();
  } else if (!plan.schedule) {
    plan.schedule = Schedule::one_f_one_b;
  }
  if (!plan.schedule || !traits(*plan.schedule).interleaved) return;
  plan.vpp = 2;
  const auto each = job.torchtitan.layers_per_stage;
  if (!each || *each < 1 || !job.model.layers || stages > *job.model.layers) return;
  const std::int64_t chunks = (*job.model.layers + 2 + *each - 1) / *each;
  if (chunks % stages == 0) {
    plan.vpp = chunks / stages;
  } else {
    job.report.left_out.push_back(
        fmt::format("pipeline_parallel_layers_per_stage {}: {} chunks are not a multiple of pp {}; "
                    "predicted with two a stage",
                    *each, chunks, stages));
  }
}

}  // namespace

void look_up_flavour(const Library* library, ImportedJob& job) {
  const ImportedTorchtitan& said = job.torchtitan;
  if (said.flavour.empty() || job.model.layers) return;
  job.model_named = said.family + " " + said.flavour;
  const std::string* model = find_name(job.names->flavours, job.model_named);
  if (model == nullptr || library == nullptr) return;
  job.model = imported_model(library->open("models", *model));
  job.model.next_token_layers.reset();  // torchtitan trains without them
  job.report.read.push_back(fmt::format("{}: model {}", job.model_named, *model));
}

void assume_torchtitan_defaults(ImportedJob& job) {
  if (!job.torchtitan.said()) return;
  follow_batches(job);
  follow_sharding(job);
  follow_schedule(job);
  follow_rules("torchtitan", job);
}

}  // namespace prequel
