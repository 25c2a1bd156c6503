#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cli/import/job/imported_job.hpp"
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
void complete_layout(Facts& job) {
  const std::int64_t stages = std::min(job.value("plan.pp").value_or(1), kMostStages);
  if (job.says("plan.layout")) {
    const auto read = parse_layout(job.text("plan.layout"));
    const auto* chunks = std::get_if<std::vector<LayoutChunk>>(&read);
    const bool whole = chunks != nullptr && stages > 0 && std::ssize(*chunks) % stages == 0;
    if (whole && !job.says("plan.vpp")) job.set_number("plan.vpp", std::ssize(*chunks) / stages);
    return;
  }
  if (!job.value("first_stage_layers") && !job.value("last_stage_layers")) return;
  const std::int64_t ends =
      (job.value("first_stage_layers") ? 1 : 0) + (job.value("last_stage_layers") ? 1 : 0);
  const std::int64_t left = job.value("model.num_hidden_layers").value_or(0) -
                            job.value("first_stage_layers").value_or(0) -
                            job.value("last_stage_layers").value_or(0);
  const std::int64_t others = stages - ends;
  const bool chunked = job.value("plan.vpp").value_or(1) > 1 || job.value("layers_per_chunk");
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
  const std::int64_t more = job.value("model.num_nextn_predict_layers").value_or(0);
  if (more > 0) layout += fmt::format("m*{}", more);
  job.set("plan.layout", layout + "L");
}

/// Instances of the optimizer hold all of its states each: a node, where there are as many of them.
void complete_instances(Facts& job) {
  if (job.value("optimizer_instances").value_or(1) == 1) return;
  Plan asked;
  asked.tp = job.value("plan.tp").value_or(1);
  asked.pp = job.value("plan.pp").value_or(1);
  asked.cp = job.value("plan.cp").value_or(1);
  asked.dp = job.value("plan.dp").value_or(0);
  asked.nodes = job.value("plan.nodes").value_or(0);
  asked.gpus = job.value("devices").value_or(0);
  asked.sharding_group = ShardingGroup::node;
  const bool known = asked.dp > 0 && asked.nodes > 0 && asked.gpus > 0 && asked.tp > 0 &&
                     asked.dp < kMostBatch && asked.cp < kMostStages;
  if (known &&
      shard_groups(asked, GroupAxis::data).copies.size == job.value("optimizer_instances")) {
    job.set("plan.sharding_group", "node");
  } else {
    job.set("plan.sharding_group", "all");
    job.report.left_out.push_back(fmt::format(
        "{} groups that each hold all states: predicted with states sharded over all ranks",
        *job.value("optimizer_instances")));
  }
}

/// A specification of hybrid layers says of which kinds they are, not where they stand.
void expect_pattern(const Facts& job) {
  if (job.says(kMixers + "layers_pattern")) return;
  const std::string& spec = job.text("model.spec");
  for (const std::string_view kind : {"mamba", "hybrid"}) {
    if (spec.find(kind) == std::string::npos) continue;
    throw InputError("--spec " + printable(spec) +
                     ": is of hybrid layers whose pattern no flag gives; --hybrid-layer-pattern "
                     "would do");
  }
}

}  // namespace

void complete(Facts& job) {
  expect_pattern(job);
  for (const char* step : {"devices", "degrees", "devices"}) follow_rules(step, job);
  complete_layout(job);
  follow_rules("chunks", job);
  complete_instances(job);
  follow_rules("completed", job);
}

namespace {

constexpr std::int64_t kMostTried = 1024;      // divisors beyond that are not looked for
constexpr std::size_t kMostDivisors = 12;      // named in one message
constexpr std::int64_t kMostFactor = 1 << 20;  // three of them multiply without overflow

/// The divisors of `whole`, as words: "1, 2, 4, 5, 10 or 20".
std::string divisors(std::int64_t whole) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 1; i <= std::min(whole, kMostTried) && found.size() < kMostDivisors; ++i) {
    if (whole % i == 0) found.push_back(i);
  }
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 < found.size() ? ", " : " or ", found[i]);
  }
  return text;
}

/// Tests whether stages may hold different numbers of layers, as the script lays them out itself.
bool has_uneven_stages(const Facts& job) {
  return job.says("--decoder-first-pipeline-num-layers") ||
         job.says("--decoder-last-pipeline-num-layers") ||
         job.says("--pipeline-model-parallel-layout");
}

class Contradictions {
 public:
  explicit Contradictions(const Facts& job) : job_(job), plan_(plan_of(job)) {}

  std::vector<std::string> find() {
    problems_ = lines_of_rules("sizes that differ", job_);
    check_batch();
    check_devices();
    check_chunks();
    std::ranges::move(lines_of_rules("contradictions", job_), std::back_inserter(problems_));
    return std::move(problems_);
  }

 private:
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  /// DeepSpeed: train_batch_size = micro batch x accumulation steps x dp.
  void check_batch() {
    const auto steps = job_.value("gradient_accumulation_steps");
    const auto all = job_.value("train_batch_size");
    if (!steps || !all || !problems_.empty()) return;
    const std::int64_t mbs = plan_.mbs.value_or(1);
    const std::int64_t dp = plan_.dp.value_or(1);
    if (std::max({mbs, dp, *steps}) > kMostFactor) return;
    const std::int64_t product = mbs * *steps * dp;
    if (plan_.dp ? product == *all : *all % product == 0) return;
    std::string factors =
        plan_.mbs ? fmt::format("micro batch {} x gradient_accumulation_steps {}", mbs, *steps)
                  : fmt::format("gradient_accumulation_steps {}", *steps);
    if (plan_.dp) factors += fmt::format(" x dp {}", dp);
    if (!plan_.mbs || !plan_.dp) {
      if (*all % product == 0) return;
      problem(
          fmt::format("train_batch_size {} is not a multiple of {} = {}, which DeepSpeed "
                      "refuses",
                      *all, factors, product));
      return;
    }
    const std::int64_t pass = mbs * dp;
    problem(fmt::format(
        "train_batch_size {} is not {} = {}, which DeepSpeed refuses; {}", *all, factors, product,
        *all % pass == 0 ? fmt::format("{} accumulation steps would do", *all / pass)
                         : fmt::format("train_batch_size {} would do", product)));
  }

  void check_devices() {
    if (!job_.value("devices") || *job_.value("devices") < 1) return;
    std::int64_t parts = 1;
    for (const auto& degree : {plan_.tp, plan_.pp, plan_.cp}) {
      parts *= std::clamp<std::int64_t>(degree.value_or(1), 1, kMostFactor);
    }
    if (*job_.value("devices") % parts == 0) return;
    problem(
        fmt::format("{} devices are not a multiple of tp {} x pp {}{} = {}, which the framework "
                    "refuses{}",
                    *job_.value("devices"), plan_.tp.value_or(1), plan_.pp.value_or(1),
                    plan_.cp.value_or(1) > 1 ? fmt::format(" x cp {}", *plan_.cp) : "", parts,
                    fitting_nodes(parts)));
  }

  /// A script for one node is often an example: the fewest nodes that would do.
  [[nodiscard]] std::string fitting_nodes(std::int64_t parts) const {
    if (!job_.value("devices_per_node") || *job_.value("devices_per_node") < 1 ||
        *job_.value("devices") >= parts)
      return {};
    return fmt::format("; --nodes {} would do",
                       parts / std::gcd(parts, *job_.value("devices_per_node")));
  }

  /// Megatron-LM: layers of a stage = chunks x layers of a chunk.
  void check_chunks() {
    constexpr std::string_view kLayers = "--num-layers-per-virtual-pipeline-stage";
    constexpr std::string_view kChunks = "--num-virtual-stages-per-pipeline-rank";
    const auto layers = job_.value(kLayers);
    const auto chunks = job_.value(kChunks);
    if (layers && chunks) {
      problem(fmt::format("{} and {}: Megatron takes one of them", kLayers, kChunks));
      return;
    }
    if (layers) return check_chunk(kLayers, *layers);
    if (chunks && *chunks != 1) check_chunk(kChunks, *chunks);
  }

  void check_chunk(std::string_view flag, std::int64_t value) {
    if (job_.says("deepspeed") || !job_.says("model.num_hidden_layers") ||
        has_uneven_stages(job_) || job_.says("open.--pipeline-model-parallel-size")) {
      return;
    }
    const std::int64_t stages = plan_.pp.value_or(1);
    if (stages <= 1) {
      problem(
          fmt::format("{} {}: chunks need pipeline stages, and there is one; Megatron refuses "
                      "it without --pipeline-model-parallel-size",
                      flag, value));
      return;
    }
    const std::int64_t units = job_.value("pipeline_units").value_or(0);
    const std::string_view counted =
        units > job_.value("model.num_hidden_layers") ? " (with embedding and head)" : "";
    if (units % stages != 0) {
      problem(fmt::format("{} {}: {} layers{} are not a multiple of pp {}, which Megatron refuses",
                          flag, value, units, counted, stages));
      return;
    }
    const std::int64_t stage = units / stages;
    if (value > 0 && stage % value == 0) return;
    problem(
        fmt::format("{} {}: the {} layers{} of a stage ({} / pp {}) do not divide by it, which "
                    "Megatron refuses; {} would do",
                    flag, value, stage, counted, units, stages, divisors(stage)));
  }

  const Facts& job_;
  PlanRequest plan_;
  std::vector<std::string> problems_;
};

}  // namespace

void refuse_contradictions(const Facts& job, const std::string& origin) {
  std::vector<std::string> problems = Contradictions(job).find();
  if (problems.empty()) return;
  for (std::string& text : problems) text = origin + ": " + text;
  throw InputError(std::move(problems));
}

}  // namespace prequel
