#include "sim/search/searched_values.hpp"

#include <algorithm>

#include "hw/dispatch.hpp"
#include "models/plan/groups.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostTensorRanks = 16;  // over device links or one-device nodes
constexpr std::int64_t kContextTokens = 4096;  // of a rank that shares a sequence with others

std::vector<std::int64_t> ascending(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// How many ranks device links join.
std::int64_t linked_ranks(const Cluster& cluster) {
  const std::int64_t all = cluster.nodes * cluster.devices_per_node;
  return group_shape(cluster, all, all, 1).ranks_in_domain;
}

}  // namespace

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

std::vector<std::int64_t> divisors(std::int64_t whole) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= whole; ++value) {
    if (whole % value == 0) values.push_back(value);
  }
  return values;
}

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

std::vector<std::string> usual_layouts(const Software& software) {
  const bool automatic = software.stage_dealing == StageDealing::balanced;
  return {automatic ? std::string(kAutoLayout) : std::string()};
}

}  // namespace prequel
