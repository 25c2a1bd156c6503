#include "sim/answer/contended_iteration.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/fabric/routes.hpp"
#include "hw/fabric/traffic.hpp"
#include "models/plan/groups.hpp"
#include "sim/answer/timeline.hpp"
#include "sim/answer/what_if.hpp"
#include "sim/engine/contention.hpp"
#include "sim/engine/launch_ahead.hpp"
#include "sim/price/side_by_side.hpp"
#include "sim/step/tell_step.hpp"

namespace prequel {
namespace {

/// Tasks that pass many kernels to one device each, and what they compete for.
struct Contest {
  std::vector<double> durations;    ///< by PriceId, s; of what links carry, the latency
  std::vector<double> launches;     ///< by PriceId, s of the host
  std::vector<DeviceId> devices;    ///< by StreamId; each has a host
  std::vector<StreamPlace> places;  ///< by StreamId: nowhere where nothing slows the tasks
  LinkedRoutes linked;
  std::vector<Transfer> transfers;  ///< by PriceId; empty: nothing passes links
  double overlap_loss{};

  [[nodiscard]] std::size_t device_count() const {
    return *std::ranges::max_element(devices) + std::size_t{1};
  }
};

/// Plays the same tasks with more and more in their way.
class Plays {
 public:
  /// `emit` tells all tasks to a reader.
  template <class Emit>
  Plays(Contest contest, const Emit& emit)
      : contest_(std::move(contest)),
        prices_(contest_.durations.size()),
        graph_(graph(contest_, emit)) {
    contest_.durations.resize(2 * prices_);  // launches come last, and take no time yet
    if (!contest_.transfers.empty()) contest_.transfers.resize(2 * prices_);
    contest_.places.resize(contest_.places.size() + contest_.device_count());
  }

  /// Until the last task ends.
  [[nodiscard]] double seconds() const {
    const std::vector<double> losses(contest_.device_count(), overlap_loss_);
    Machine machine;
    machine.link_capacities = contest_.linked.capacities;
    machine.routes = &contest_.linked.routes;
    machine.transfers = contest_.transfers;
    machine.streams = contest_.places;
    machine.overlap_loss = losses;
    const EventTimes times = run_contended(graph_, contest_.durations, machine);
    assert(times.stuck.empty());  // no link is dead: fractions are above 0
    return times.end();
  }
  void add_overlap() { overlap_loss_ = contest_.overlap_loss; }
  void add_launches() {
    std::ranges::copy(contest_.launches,
                      contest_.durations.begin() + static_cast<std::ptrdiff_t>(prices_));
  }

 private:
  template <class Emit>
  static TaskGraph graph(const Contest& contest, const Emit& emit) {
    const auto streams = static_cast<StreamId>(contest.devices.size());
    std::vector<StreamId> hosts;
    for (const DeviceId device : contest.devices) hosts.push_back(streams + device);
    const auto prices = static_cast<PriceId>(contest.durations.size());
    std::vector<PriceId> launches(prices);
    for (PriceId price = 0; price < prices; ++price) launches[price] = prices + price;
    GraphBuilder builder(streams + contest.device_count());
    LaunchAhead<GraphBuilder> reader(builder, hosts, launches, Launched::by_parts);
    emit(reader);
    return builder.build();
  }

  Contest contest_;
  std::size_t prices_;
  TaskGraph graph_;
  double overlap_loss_ = 0;
};

/// Each part is what it adds to those before it.
ContendedIteration play(Plays plays, double clock) {
  ContendedIteration result;
  const double shared = plays.seconds();
  plays.add_overlap();
  const double overlapped = plays.seconds();
  plays.add_launches();
  result.seconds = plays.seconds();
  result.links = shared - clock;
  result.overlap = overlapped - shared;
  result.launches = result.seconds - overlapped;
  return result;
}

std::vector<double> copied(std::span<const double> values) {
  return {values.begin(), values.end()};
}

/// Turns what a pipeline's clock prices as seconds on links into flows.
class PipelineFlows {
 public:
  PipelineFlows(const Scenario& scenario, const Step& step)
      : scenario_(scenario),
        step_(step),
        stage_ranks_(static_cast<int>(rank_group(scenario.plan, GroupAxis::pipeline).stride)),
        router_(build_fabric(fabric(scenario), nodes(scenario))) {}

  void add_to(Contest& contest) {
    contest.linked.capacities = link_capacities(router_.fabric());
    for (double& capacity : contest.linked.capacities) {
      capacity *= scenario_.cluster.network.efficiency;
    }
    contest.transfers.resize(contest.durations.size());
    for (const TaskKind kind :
         {TaskKind::send_forward, TaskKind::send_backward, TaskKind::gradient_reduce,
          TaskKind::parameter_gather, TaskKind::gather_updates, TaskKind::embedding_reduce}) {
      for (std::uint32_t chunk = 0; chunk < step_.shape.chunks; ++chunk) add(kind, chunk, contest);
    }
    contest.linked = merge_alike(contest.linked);
  }

 private:
  static const FabricDescription& fabric(const Scenario& scenario) {
    return scenario.cluster.fabric->description(static_cast<int>(scenario.plan.gpus));
  }
  static int nodes(const Scenario& scenario) {
    const std::int64_t per_node = fabric(scenario).node.devices;
    return static_cast<int>((scenario.plan.gpus + per_node - 1) / per_node);
  }

  /// The clock's seconds are what links take where all stages send at once; so they tell the bytes.
  void add(TaskKind kind, std::uint32_t chunk, Contest& contest) {
    const std::vector<double>& capacities = contest.linked.capacities;
    std::map<std::uint32_t, std::vector<double>> loads;  // by stage
    std::vector<double> all(capacities.size());
    for (std::uint32_t stage = 0; stage < step_.shape.stages; ++stage) {
      if (!(step_.network.at(kind, stage, chunk) > 0)) continue;
      loads[stage] = link_loads(router_, flows(kind, stage, chunk));
      std::transform(all.begin(), all.end(), loads[stage].begin(), all.begin(), std::plus());
    }
    double rate = std::numeric_limits<double>::infinity();
    for (LinkId link = 0; link < all.size(); ++link) {
      if (all[link] > 0) rate = std::min(rate, capacities[link] / all[link]);
    }
    for (const auto& [stage, load] : loads) {
      std::vector<LinkShare> parts;
      for (LinkId link = 0; link < load.size(); ++link) {
        if (load[link] > 0) parts.push_back({link, load[link]});
      }
      if (parts.empty()) continue;
      const double seconds = step_.network.at(kind, stage, chunk);
      const PriceId price =
          BlockTable::price(kind, chunk * step_.shape.stages + stage, step_.shape.blocks());
      contest.durations[price] -= seconds;
      contest.transfers[price] = {contest.linked.routes.add(parts), seconds * rate};
    }
  }

  /// Returns the messages of a stage's ranks, each at rate 1.
  [[nodiscard]] std::vector<Flow> flows(TaskKind kind, std::uint32_t stage,
                                        std::uint32_t chunk) const {
    switch (kind) {
      case TaskKind::send_forward:
      case TaskKind::send_backward:
        return sends(stage, receiver(step_.schedule, step_.shape, kind, stage, chunk));
      case TaskKind::embedding_reduce: return embedding_ring(stage);
      default: return data_rings(stage);
    }
  }

  [[nodiscard]] std::vector<Flow> sends(std::uint32_t from, std::uint32_t to) const {
    std::vector<Flow> found;
    const auto ranks = static_cast<std::uint32_t>(stage_ranks_);
    for (std::uint32_t i = 0; i < ranks; ++i) found.push_back({from * ranks + i, to * ranks + i});
    return found;
  }

  [[nodiscard]] std::vector<Flow> data_rings(std::uint32_t stage) const {
    const auto size = static_cast<int>(scenario_.plan.dp);
    const int stride = stage_ranks_ / size;
    const RankGroups groups{stage_ranks_, stride, size};
    const std::uint32_t copy = step_.shape.stages - 1 - stage;
    std::vector<Flow> found;
    for (const int first : groups.firsts()) {
      auto members = groups.members(static_cast<int>(stage) * stage_ranks_ + first);
      if (traits(step_.schedule).mirrored) {
        const auto more = groups.members(static_cast<int>(copy) * stage_ranks_ + first);
        members.insert(stage < copy ? members.end() : members.begin(), more.begin(), more.end());
      }
      append(found, members);
    }
    return sent_by(stage, std::move(found));
  }

  /// The part that this one of the end stages sends.
  [[nodiscard]] std::vector<Flow> embedding_ring(std::uint32_t stage) const {
    std::vector<Flow> found;
    const int last = static_cast<int>(step_.shape.stages - 1) * stage_ranks_;
    for (int rank = 0; rank < stage_ranks_; ++rank) append(found, {rank, last + rank});
    return sent_by(stage, std::move(found));
  }

  [[nodiscard]] std::vector<Flow> sent_by(std::uint32_t stage, std::vector<Flow> flows) const {
    std::erase_if(flows, [&](const Flow& flow) {
      return flow.from / static_cast<std::uint32_t>(stage_ranks_) != stage;
    });
    return flows;
  }

  void append(std::vector<Flow>& flows, const std::vector<int>& members) const {
    const auto more = group_flows(router_, members, TrafficPattern::ring);
    flows.insert(flows.end(), more.begin(), more.end());
  }

  const Scenario& scenario_;
  const Step& step_;
  int stage_ranks_;
  Router router_;
};

/// By PriceId.
std::vector<double> launches_of(const Step& step) {
  const PipelineShape& shape = step.shape;
  BlockTable launches(shape);
  const double buckets = std::max(1U, shape.buckets);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const auto& [forward, backward] = step.blocks[chunk * shape.stages + stage].costs;
      const auto set = [&](TaskKind kind, double seconds) {
        launches.at(kind, stage, chunk) = seconds;
      };
      set(TaskKind::forward, forward.launching);
      set(TaskKind::forward_beside, forward.launching);
      set(TaskKind::backward_beside, backward.launching);
      set(TaskKind::forward_bucket, forward.launching / buckets);
      set(TaskKind::backward, backward.launching);
      set(TaskKind::backward_bucket, backward.launching / buckets);
      set(TaskKind::input_gradient, backward.launching);
    }
  }
  return copied(launches.values());
}

/// Layers that all ranks gather at the same time share no links that the clock does not know of.
bool shares_links(const Scenario& scenario, const Step& step) {
  return !in_every_micro_batch(step.shape.gathers) &&
         scenario.plan.gpus > scenario.cluster.devices_per_node;
}

ContendedIteration contended(const Scenario& scenario) {
  const Step step = step_of(scenario);
  Contest contest;
  contest.durations = copied(step.durations.values());
  contest.launches = launches_of(step);
  contest.overlap_loss = step.overlap_is_priced ? 0.0 : overlap_loss(scenario);
  for (std::uint32_t stage = 0; stage < step.shape.stages; ++stage) {
    contest.devices.insert(contest.devices.end(), kStageStreams, stage);
    contest.places.insert(contest.places.end(), {{stage, StreamUse::computes},
                                                 {},  // sends of both directions
                                                 {},
                                                 {stage, StreamUse::communicates},
                                                 {stage, StreamUse::communicates},
                                                 {stage, StreamUse::communicates},
                                                 {},  // copy engines
                                                 {}});
  }
  if (shares_links(scenario, step)) PipelineFlows(scenario, step).add_to(contest);
  const double clock = run_clock(step.schedule, step.shape, step.durations).seconds;
  const auto emit = [&](auto& reader) { tell(step, reader); };
  return play(Plays(std::move(contest), emit), clock);
}

void check(const Scenario& scenario, const WhatIf& question) {
  if (!question.slow_nodes.empty() || question.jitter > 0) {
    throw InputError("contention",
                     "plays one rank for all of a stage, so it cannot say what slow nodes or "
                     "jitter do; ask for them by themselves");
  }
  const std::int64_t per_node = scenario.cluster.devices_per_node;
  if (scenario.plan.tp > per_node) {
    throw InputError(
        "contention",
        fmt::format("tp {} spans nodes of {} devices, whose collectives within a layer are not "
                    "played; tp {} would do",
                    scenario.plan.tp, per_node, per_node));
  }
  if (timeline_passes(scenario) > kMostTimelinePasses) {
    throw InputError(
        "contention",
        fmt::format("{} passes over stages are too many to play one by one; gbs {} would do",
                    timeline_passes(scenario), most_timeline_gbs(scenario)));
  }
}

}  // namespace

ContendedIteration contended_iteration(const Scenario& asked, const WhatIf& question) {
  check(asked, question);
  const Scenario scenario = with_degraded_links(asked, question.link_fractions);
  ContendedIteration result = contended(scenario);
  result.seconds +=
      beside_the_passes(scenario.software.host, updated_layers(scenario.model, scenario.plan),
                        scenario.plan.pp)
          .value;
  return result;
}

}  // namespace prequel
