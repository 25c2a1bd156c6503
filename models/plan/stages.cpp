#include "models/plan/stages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "models/plan/layout.hpp"
#include "models/plan/plan.hpp"

namespace prequel {
namespace {

/// Units that are dealt: blocks, and embedding and head where they count as a layer each.
std::int64_t unit_count(std::int64_t layers, StageSplit split) {
  return layers + (split == StageSplit::embedding_as_layer ? 2 : 0);
}

/// Blocks join a stage until the products dealt so far are its share of all (nanotron's
/// PipelineEngine); what is left then, head alone or nothing, is on the last ones.
std::vector<StageContent> deal_by_cost(const Transformer& model, std::int64_t chunks) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double block = 4.0 * real(model.heads * model.head_dim) * real(model.hidden) +
                       3.0 * real(model.ffn_hidden) * real(model.hidden);
  const double head = real(model.vocab) * real(model.hidden);
  const double all = real(model.layers) * block + head;
  std::vector<StageContent> stages(static_cast<std::size_t>(chunks));
  stages.front().embedding = true;
  std::size_t stage = 0;
  double dealt = 0;
  const auto add = [&](double cost) {
    dealt += cost;
    const std::size_t joined = stage;
    if (stage + 1 < stages.size() && dealt >= all * static_cast<double>(stage + 1) / real(chunks))
      ++stage;
    return joined;
  };
  for (std::int64_t layer = 0; layer < model.layers; ++layer) ++stages[add(block)].blocks;
  stages[add(head)].head = true;
  return stages;
}

}  // namespace

std::vector<StageContent> deal_stages(std::int64_t layers, std::int64_t pp, std::int64_t vpp,
                                      StageDealing dealing, StageSplit split) {
  const std::int64_t chunks = pp * vpp;
  const std::int64_t units = unit_count(layers, split);
  const bool ceil = dealing == StageDealing::ceil_per_stage;
  const std::int64_t share = ceil ? (units + chunks - 1) / chunks : units / chunks;
  std::vector<StageContent> stages(static_cast<std::size_t>(chunks));
  std::int64_t left = units;
  for (StageContent& stage : stages) {
    stage.blocks = std::min(share, left);
    left -= stage.blocks;
  }
  if (dealing == StageDealing::balanced) {
    const std::int64_t first = (chunks - left) / 2;
    for (std::int64_t i = first; i < first + left; ++i) {
      ++stages[static_cast<std::size_t>(i)].blocks;
    }
  }
  stages.front().embedding = true;
  stages.back().head = true;
  if (split == StageSplit::embedding_as_layer) {
    // The embedding is the first unit of the first stage; the head the last one dealt.
    stages.front().blocks -= 1;
    const auto last = std::find_if(stages.rbegin(), stages.rend(),
                                   [](const StageContent& stage) { return stage.blocks > 0; });
    if (last != stages.rend()) last->blocks -= 1;
  }
  return stages;
}

std::vector<StageContent> chunks_of_plan(const Transformer& model, const Plan& plan,
                                         const Software& software) {
  if (!plan.layout.empty()) return deal_layout(plan.layout, model);
  if (software.stage_dealing == StageDealing::by_cost) {
    return with_parts(deal_by_cost(model, plan.pp * plan.vpp), model);
  }
  return with_parts(
      deal_stages(model.layers, plan.pp, plan.vpp, software.stage_dealing, plan.stage_split),
      model);
}

std::string stage_problem(std::int64_t layers, std::int64_t pp, std::int64_t vpp,
                          StageDealing dealing, StageSplit split) {
  const std::int64_t chunks = pp * vpp;
  const std::int64_t units = unit_count(layers, split);
  const auto where = [&] {
    return vpp == 1 ? fmt::format("{} pipeline stages", pp)
                    : fmt::format("{} stages x {} chunks", pp, vpp);
  };
  const std::int64_t offset = units - layers;
  const std::int64_t below = units / chunks * chunks - offset;
  const std::int64_t above = (units + chunks - 1) / chunks * chunks - offset;
  if (dealing == StageDealing::by_cost) return {};
  // Chunks at the ends can hold embedding and head alone.
  if (dealing == StageDealing::balanced && layers >= chunks - 2) return {};
  if (layers < chunks - offset) {
    return vpp == 1 ? fmt::format(
                          "pp {}: more pipeline stages than the model's {} layers; at most "
                          "pp {} does, or at least {} layers",
                          pp, layers, layers + offset, chunks - offset)
                    : fmt::format(
                          "vpp {}: {} hold no layer each of the model's {}; at most vpp {} "
                          "does at pp {}",
                          vpp, where(), layers, std::max<std::int64_t>(1, units / pp), pp);
  }
  if (dealing == StageDealing::refuse && units % chunks != 0) {
    return fmt::format(
        "layers {}: not a multiple of {}, which this framework needs; {}{} layers "
        "would do{}",
        layers, where(), below > 0 ? fmt::format("{} or ", below) : "", above,
        split == StageSplit::blocks && (layers + 2) % chunks == 0
            ? ", or stage_split embedding-as-layer"
            : ", or a layout");
  }
  const auto stages = deal_stages(layers, pp, vpp, dealing, split);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool in_place_of_layer = split == StageSplit::embedding_as_layer &&
                                   dealing == StageDealing::refuse &&
                                   (stages[i].embedding || stages[i].head);
    if (stages[i].blocks > 0 || in_place_of_layer) continue;
    return fmt::format(
        "layers {}: dealt {} to each of {}, stage {} is left without a layer; {}{} "
        "layers would do",
        layers, (units + chunks - 1) / chunks, where(), i,
        below > 0 ? fmt::format("{} or ", below) : "", above);
  }
  return {};
}

}  // namespace prequel
