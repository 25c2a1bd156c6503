#include "sim/search/searched_axes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "hw/dispatch.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/groups.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostMicroBatch = 64;   // sequences; the batch bounds it in practice
constexpr std::int64_t kMostChunks = 16;       // of one stage
constexpr std::int64_t kMostTensorRanks = 16;  // over device links or one-device nodes
constexpr std::int64_t kContextTokens = 4096;  // of a rank that shares a sequence with others

template <class Value>
void fill(std::vector<Value>& axis, std::vector<Value> values) {
  if (axis.empty()) axis = std::move(values);
}

/// With all values that there are.
template <Worded Enum>
void fill_with_all(std::vector<Enum>& axis) {
  const auto values = all_of<Enum>();
  fill(axis, {values.begin(), values.end()});
}

std::vector<std::int64_t> powers_of_two(std::int64_t most) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= most; value *= 2) values.push_back(value);
  return values;
}

std::vector<std::int64_t> up_to(std::int64_t most) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= most; ++value) values.push_back(value);
  return values;
}

std::vector<std::int64_t> ascending(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::int64_t> divisors(std::int64_t whole) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= whole; ++value) {
    if (whole % value == 0) values.push_back(value);
  }
  return values;
}

/// How many ranks device links join.
std::int64_t linked_ranks(const Cluster& cluster) {
  const std::int64_t all = cluster.nodes * cluster.devices_per_node;
  return group_shape(cluster, all, all, 1).ranks_in_domain;
}

/// Up to a node, or as far as device links reach; where nodes have one device, every group crosses
/// the network.
std::vector<std::int64_t> tensor_degrees(const Cluster& cluster, Reach reach) {
  const std::int64_t per_node = cluster.devices_per_node;
  std::int64_t most = std::max(per_node, std::min(kMostTensorRanks, linked_ranks(cluster)));
  if (per_node == 1) most = kMostTensorRanks;
  if (reach == Reach::beyond_links) most *= 4;
  if (reach == Reach::everything) most *= 2;
  std::vector<std::int64_t> values = powers_of_two(most);
  const std::vector<std::int64_t> of_node = divisors(per_node);
  values.insert(values.end(), of_node.begin(), of_node.end());
  return ascending(std::move(values));
}

std::vector<std::int64_t> context_degrees(const SearchInputs& inputs, Reach reach) {
  const std::int64_t tokens = inputs.fixed.seq_len.value_or(inputs.model.max_positions);
  const std::int64_t most = std::max<std::int64_t>(1, tokens / kContextTokens);
  return powers_of_two(reach == Reach::everything ? std::max(most, inputs.cluster.devices_per_node)
                                                  : most);
}

/// The stack's, as far as the cluster's file tells what they cost.
std::vector<Dispatcher> known_dispatchers(const SearchInputs& inputs, bool everything) {
  const auto all = all_of<Dispatcher>();
  std::vector<Dispatcher> values = inputs.software.choices.dispatcher;
  if (everything) values.assign(all.begin(), all.end());
  const auto usual = inputs.software.defaults.dispatcher.value_or(Dispatcher::alltoall);
  std::erase_if(values, [&](Dispatcher each) {
    const auto* known = inputs.cluster.dispatch.get();
    const bool by_collectives = each == Dispatcher::allgather || each == Dispatcher::alltoall;
    return each != usual && !by_collectives && !(known && known->of(each));
  });
  return values;
}

/// Sets that save more and more memory.
std::vector<WordSet<RecomputeModule>> growing_recompute() {
  using enum RecomputeModule;
  return {{},
          {layernorm},
          {layernorm, moe_act},
          {layernorm, moe_act, mla_up_proj},
          {layernorm, moe_act, mla_up_proj, mlp, shared_experts},
          {layernorm, moe, mla_up_proj}};
}

std::vector<WordSet<Overlapped>> all_overlaps(const SearchInputs& inputs) {
  const WordSet<Overlapped> usual =
      inputs.software.defaults.overlap.value_or(WordSet<Overlapped>{});
  std::vector<WordSet<Overlapped>> sets{usual};
  for (const bool tensor : {false, true}) {
    for (const bool expert : {false, true}) {
      WordSet<Overlapped> set;
      for (const Overlapped each : all_of<Overlapped>()) {
        const bool switched = each == Overlapped::tp || each == Overlapped::ep;
        if (switched ? (each == Overlapped::tp ? tensor : expert) : usual.has(each)) set.add(each);
      }
      if (set != usual) sets.push_back(set);
    }
  }
  return sets;
}

/// Frameworks whose stages need not be equal write such layouts.
std::vector<std::string> usual_layouts(const Software& software) {
  const bool automatic = software.stage_dealing == StageDealing::balanced;
  return {automatic ? std::string(kAutoLayout) : std::string()};
}

/// Chunks that are said want a schedule that has them, unless that is said, too.
void add_schedule_of_chunks(SearchAxes& axes, const std::vector<std::int64_t>& vpp) {
  const bool chunks = std::ranges::any_of(vpp, [](std::int64_t each) { return each > 1; });
  if (chunks && !holds(axes.schedule, Schedule::interleaved)) {
    axes.schedule.push_back(Schedule::interleaved);
  }
}

}  // namespace

PlanJudgement judge_shared(const SearchInputs& inputs, const SearchAxes& said) {
  const auto single = [](const auto& values) {
    return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
  };
  PlanRequest plainest = inputs.fixed;
  plainest.cp = single(said.cp);
  plainest.cp_comm = single(said.cp_comm);
  if (!inputs.model.has_experts()) {
    plainest.ep = single(said.ep);
    plainest.etp = single(said.etp);
  }
  if (!plainest.precision) plainest.precision = single(said.precision);
  // Of several precisions, each plan's tells whether the recipe goes with it.
  if (!plainest.fp8_recipe && said.precision.size() < 2) {
    plainest.fp8_recipe = single(said.fp8_recipe);
  }
  plainest.nodes = std::nullopt;
  plainest.gbs = 1;
  plainest.zero = 0;
  plainest.offload = Offload::none;
  plainest.recompute = Recompute::none;
  plainest.sequence_parallel = false;
  plainest.schedule = Schedule::one_f_one_b;
  return judge_plan(plainest, inputs.model, inputs.cluster, inputs.software);
}

SearchAxes fill_axes(SearchAxes axes, const SearchInputs& inputs, Reach reach) {
  const bool everything = reach == Reach::everything;
  const std::int64_t most_gbs =
      axes.gbs.empty() ? 1 : *std::max_element(axes.gbs.begin(), axes.gbs.end());
  const bool schedule_said = !axes.schedule.empty();
  const std::vector<std::int64_t> chunks_said = axes.vpp;
  const bool recipe_said = !axes.fp8_recipe.empty();
  fill(axes.shapes, {shape_of(inputs.model)});
  const std::int64_t layers =
      std::ranges::max_element(axes.shapes, {}, &ModelShape::layers)->layers;
  const Experts& experts = inputs.model.experts;
  fill(axes.nodes, up_to(inputs.cluster.nodes));
  fill(axes.tp, tensor_degrees(inputs.cluster, reach));
  fill(axes.cp, context_degrees(inputs, reach));
  fill(axes.pp, up_to(layers));
  fill(axes.ep,
       inputs.model.has_experts() ? divisors(experts.count) : std::vector<std::int64_t>{1});
  fill(axes.etp, everything && inputs.model.has_experts()
                     ? powers_of_two(inputs.cluster.devices_per_node)
                     : std::vector<std::int64_t>{1});
  fill(axes.vpp, up_to(std::min(kMostChunks, layers)));
  fill(axes.mbs, powers_of_two(std::min(kMostMicroBatch, most_gbs)));
  fill(axes.layout, usual_layouts(inputs.software));
  fill(axes.dispatcher, known_dispatchers(inputs, everything));
  if (everything) {
    fill(axes.zero, {0, 1, 2, 3});
    fill_with_all(axes.recompute);
    fill(axes.recompute_modules, growing_recompute());
    fill(axes.sequence_parallel, {false, true});
    fill_with_all(axes.schedule);
    fill_with_all(axes.stage_split);
    fill_with_all(axes.cp_comm);
    fill(axes.overlap, all_overlaps(inputs));
    fill(axes.cuda_graphs,
         {{}, {GraphedModule::attn, GraphedModule::moe_router}, {GraphedModule::full}});
  }
  each_axis([&](const auto& axis) {
    if (axis.use != AxisUse::offered) return;
    fill(axis.of(axes), axis.of(inputs.software.choices));
    const auto& fixed = axis.of(inputs.fixed);
    const auto& usual = axis.of(inputs.software.defaults);
    fill(axis.of(axes), {fixed ? *fixed : usual ? *usual : plainest(axis.domain)});
  });
  const bool wide =
      std::ranges::any_of(axes.precision, [](Precision each) { return !is_quantized(each); });
  if (!recipe_said && wide && !holds(axes.fp8_recipe, Fp8Recipe::none)) {
    axes.fp8_recipe.push_back(Fp8Recipe::none);
  }
  if (!schedule_said) add_schedule_of_chunks(axes, chunks_said);
  return axes;
}

}  // namespace prequel
