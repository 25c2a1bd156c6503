#include "sim/step/step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>

#include "hw/base/errors.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/expert_groups.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/overlap.hpp"
#include "sim/price/side_by_side.hpp"
#include "sim/schedule/beside.hpp"
#include "sim/step/stage_transfer.hpp"
#include "sim/step/state_traffic.hpp"

namespace prequel {
namespace {

/// How often gradients are reduced where no layer is gathered by itself: ZeRO-2 keeps a shard of
/// them alone, so it has to after every micro batch (Rajbhandari et al. 2020, "ZeRO", section 5.2).
double gradient_reductions(const Plan& plan) {
  return plan.zero == 2 ? real(plan.micro_batches()) : 1.0;
}

/// Tests whether gradients are reduced while a backward still runs. Where every micro batch's are,
/// copies of stages would wait for each other, and passes for what exchanges beside them.
bool gradients_overlap(const Scenario& scenario) {
  const bool once = gradient_reductions(scenario.plan) == 1.0;
  if (!once && (traits(scenario.plan.schedule).mirrored || exchanges_beside(scenario.plan))) {
    return false;
  }
  return reduces_beside(scenario.plan, scenario.software) &&
         has_replicas(scenario.plan, scenario.model);
}

/// Parts of a block's backward, each of which has its gradients reduced behind it: one a layer, or
/// fewer where a bucket holds more than a layer has.
std::int64_t parts_of_block(const Scenario& scenario, const LayerCosts& costs) {
  const Plan& plan = scenario.plan;
  const std::int64_t blocks = plan.pp * plan.vpp;
  const std::int64_t layers = (scenario.model.layers + blocks - 1) / blocks;
  const double bucket = bucket_parameters(scenario, GroupAxis::data);
  if (layer_by_layer(gathers_of(plan, scenario.software)) || bucket <= 0) return layers;
  const double parameters = learning_parameters(costs.weights, scenario.model, plan,
                                                scenario.software, {whole_model(scenario.model)})
                                .total() /
                            real(blocks);
  return std::clamp<std::int64_t>(std::llround(parameters / bucket), 1, layers);
}

PipelineShape shape_of(const Scenario& scenario, const LayerCosts& layers) {
  const Plan& plan = scenario.plan;
  const CommunicationStack& stack = scenario.software.communication;
  const Gathers gathers = gathers_of(plan, scenario.software);
  PipelineShape shape;
  shape.stages = static_cast<std::uint32_t>(plan.pp);
  shape.micro_batches = static_cast<std::uint32_t>(plan.micro_batches());
  const bool gathers_ahead = gathers_beside(plan, scenario.software);
  shape.prefetch =
      gathers_ahead ? std::max(1U, static_cast<std::uint32_t>(stack.prefetch_layers)) : 0;
  // Layers that are gathered one by one are reduced so, unless the plan says that they are not.
  shape.reduces_beside = !plan.overlap.has(Overlapped::no_grads);
  shape.copies = offloads_activations(plan);
  if (plan.pp == 1 && in_every_micro_batch(gathers)) {
    shape.gathers = gathers;
    shape.chunks = static_cast<std::uint32_t>(scenario.model.layers + 1);
    return shape;
  }
  shape.chunks = chunks_of(plan.schedule, static_cast<std::uint32_t>(plan.vpp));
  shape.group = static_cast<std::uint32_t>(plan.vpp_group);
  shape.sends = sends_beside(plan, scenario.software) ? Sends::overlapped : Sends::blocking;
  if (exchanges_beside(plan)) shape.exchanges = Exchanges::beside;
  if (layer_by_layer(gathers) || gradients_overlap(scenario)) {
    shape.buckets = static_cast<std::uint32_t>(parts_of_block(scenario, layers));
    shape.gathers_at_end = gathers == Gathers::updates && !gathers_ahead;
    shape.gathers = shape.gathers_at_end ? Gathers::never : gathers;
    shape.reduces_each = !layer_by_layer(gathers) && gradient_reductions(plan) > 1.0;
  }
  return shape;
}

/// Communication of parameters that are gathered, and whose gradients are reduced, at once.
struct Traffic {
  CommTime gather, reduce;
  ShardCopyTimes copies{};  ///< beside them
};

/// Parameters of a rank before any sharding, and those of them that learn.
struct HeldParameters {
  StageParameters all, learning;

  bool operator==(const HeldParameters&) const = default;
};

/// Fills the blocks of a step and the table of durations that it is played with.
class StepBuilder {
 public:
  StepBuilder(const Scenario& scenario, const LayerCosts& layers)
      : scenario_(scenario), plan_(scenario.plan), layers_(layers) {
    const PipelineShape& shape = step_.shape = shape_of(scenario, layers);
    step_.schedule = plan_.schedule;
    step_.durations = step_.network = BlockTable(shape);
    step_.fixed = beside_the_passes(
        scenario.software.host, updated_layers(scenario.model, scenario.plan), scenario.plan.pp);
    // Stages of a pipeline reduce gradients and gather what was updated while they wait for each
    // other. One bucket of all parameters runs beside no pass.
    const bool alone = shape.stages == 1 && shape.buckets != 1;
    step_.overlap_is_priced = scenario.software.communication.overlap_contention > 0 &&
                              (alone || layer_by_layer(shape.gathers));
    step_.copies_are_priced = layer_by_layer(shape.gathers);
    if (plan_.cuda_graphs.empty()) {
      step_.beside_launch_share = scenario.software.host.beside_launch_share;
    }
    if (const std::string problem = shape_problem(plan_.schedule, shape); !problem.empty()) {
      throw InputError("plan: " + problem);
    }
  }

  Step build() && {
    step_.shape.is_layer_by_layer() ? add_layers() : add_stages();
    return std::move(step_);
  }

 private:
  [[nodiscard]] HeldParameters parameters_of(const std::vector<StageContent>& chunks) const {
    return {
        stage_parameters(layers_.weights, scenario_.model, plan_, scenario_.software, chunks),
        learning_parameters(layers_.weights, scenario_.model, plan_, scenario_.software, chunks)};
  }

  /// Bytes of a weight that is gathered; the mean where frozen ones are stored otherwise.
  [[nodiscard]] double gathered_bytes(const HeldParameters& held) const {
    return mean_weight_bytes(plan_, held.all, held.learning,
                             state_bytes(plan_, scenario_.software).gathered);
  }

  /// Layers that are gathered one by one bring frozen weights along; else what was updated travels.
  [[nodiscard]] const Traffic& communicated(const HeldParameters& held) {
    if (!last_traffic_ || !(held == last_traffic_->parameters)) {
      const bool layers = layer_by_layer(gathers_of(plan_, scenario_.software));
      const double element =
          layers ? gathered_bytes(held) : state_bytes(plan_, scenario_.software).gathered;
      last_traffic_ = {
          held,
          {parameter_gather_time(scenario_, layers ? held.all : held.learning, element),
           gradient_reduce_time(scenario_, held.learning),
           layers ? shard_copy_times(scenario_, held.all, held.learning, element)
                  : ShardCopyTimes{}}};
    }
    return last_traffic_->traffic;
  }

  /// Offloaded weights come from the host's memory each time, every rank its part.
  [[nodiscard]] Traffic traffic(const HeldParameters& held) {
    Traffic between = communicated(held);
    if (plan_.offload == Offload::optimizer_params) {
      between.gather.all =
          offloaded_weights_time(scenario_, held.all, gathered_bytes(held)) + between.gather.all;
    }
    return between;
  }

  /// Returns the part of a pass that a collective beside it slows down: its waits for the host are
  /// no part of it.
  [[nodiscard]] static double running(const PassCost& pass) { return pass.total() - pass.host; }

  /// Returns the time that two overlapping tasks lose: each takes longer by a share of the shorter
  /// one.
  [[nodiscard]] double contention(double compute, double communication) const {
    if (!step_.overlap_is_priced) return 0;
    return scenario_.software.communication.overlap_contention * std::min(compute, communication);
  }

  void add_layers() {
    const Transformer& model = scenario_.model;
    const StageContent all = whole_model(model);
    const HeldParameters parameters = parameters_of({all});
    HeldParameters root_share = parameters;
    StageContent root{0, true, true, all.parts};
    const LayerKinds kinds(model);
    std::optional<Part> told;
    HeldParameters share;
    Traffic between;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      const StageContent block = one_block(model, layer);
      const Part part = kinds.part_of(model.kind_of(layer));
      if (part != told) {
        told = part;
        share = parameters_of({block});
        between = traffic(share);
      }
      for (const auto held : {&HeldParameters::all, &HeldParameters::learning}) {
        (root_share.*held).dense -= (share.*held).dense;
        (root_share.*held).experts -= (share.*held).experts;
      }
      --root.parts[part];
      step_.blocks.push_back({block, layer, chunk_costs(layers_, block)});
      add_gathered_layer(static_cast<std::uint32_t>(layer), layers_[part], between);
    }
    for (StageParameters* left : {&root_share.all, &root_share.learning}) {
      left->experts = std::max(0.0, left->experts);
    }
    root_share.learning.dense = std::max(0.0, root_share.learning.dense);
    const Traffic of_root = traffic(root_share);
    const ChunkCosts costs = chunk_costs(layers_, root);
    step_.blocks.push_back({root, 0, costs});
    const std::uint32_t unit = step_.shape.chunks - 1;
    communicate(TaskKind::parameter_gather, 0, unit, of_root.gather);
    set(TaskKind::forward, unit, costs.forward.total() + of_root.copies.gather.value);
    set(TaskKind::backward, unit, costs.backward.total() + of_root.copies.reduce.value);
    communicate(TaskKind::gradient_reduce, 0, unit, of_root.reduce);
    set(TaskKind::optimizer, 0,
        optimizer_time(scenario_, layers_.orthogonal, {all}, parameters.learning).value);
  }

  void set(TaskKind kind, std::uint32_t unit, double seconds) {
    step_.durations.at(kind, 0, unit) = seconds;
  }

  /// A task that takes the time of a communication, and `loss` beside it.
  void communicate(TaskKind kind, std::uint32_t stage, std::uint32_t chunk, const CommTime& time,
                   double loss = 0) {
    step_.durations.at(kind, stage, chunk) = time.all.value + loss;
    step_.network.at(kind, stage, chunk) = time.network.value;
  }

  /// The time that a layer's or bucket's passes lose to gathers and reductions beside them: what
  /// both lose, and the copies beside them.
  struct Losses {
    double forward{}, backward{};
  };
  Losses add_gathers(std::uint32_t stage, std::uint32_t chunk, double forward, double backward,
                     const Traffic& between) {
    const bool each_pass = step_.shape.gathers == Gathers::each_pass;
    const CommTime again = each_pass ? between.gather : CommTime{};
    const double passes = each_pass ? real(1 + traits(plan_.objective).forward_only) : 1.0;
    const CommTime ahead = passes * between.gather;
    // A layer that is gathered or reduced beside no pass slows none down. Where none is gathered
    // ahead, the next pass waits for the gather, and that for the reductions before it.
    const bool by_layers = step_.shape.is_layer_by_layer();
    const bool gathers = !by_layers || step_.shape.prefetch > 0;
    const bool reduces = !by_layers || (step_.shape.reduces_beside && (gathers || !each_pass));
    const Seconds beside_backward = real(gathers) * again.all + real(reduces) * between.reduce.all;
    const Losses losses{contention(forward, real(gathers) * ahead.all.value),
                        contention(backward, beside_backward.value)};
    communicate(TaskKind::parameter_gather, stage, chunk, ahead, losses.forward);
    communicate(TaskKind::backward_gather, stage, chunk, again);
    communicate(TaskKind::gradient_reduce, stage, chunk, between.reduce, losses.backward);
    const double once = between.copies.gather.value;
    const double twice = each_pass ? once : 0.0;
    return {losses.forward + passes * once, losses.backward + twice + between.copies.reduce.value};
  }

  void add_gathered_layer(std::uint32_t unit, const PartCost& costs, const Traffic& between) {
    const double forward = costs.forward.total();
    const double backward = costs.backward.total();
    const Losses losses =
        add_gathers(0, unit, running(costs.forward), running(costs.backward), between);
    set(TaskKind::forward, unit, forward + losses.forward);
    set(TaskKind::backward, unit, backward + losses.backward);
    set(TaskKind::offload_activations, unit, costs.forward.copies);
    set(TaskKind::reload_activations, unit, costs.backward.copies);
  }

  void add_stages() {
    const PipelineShape& shape = step_.shape;
    const std::vector<StageContent> dealt =
        chunks_of_plan(scenario_.model, plan_, scenario_.software);
    std::vector<std::int64_t> first_layer(dealt.size() + 1);
    for (std::size_t part = 0; part < dealt.size(); ++part) {
      first_layer[part + 1] = first_layer[part] + dealt[part].blocks;
    }
    step_.blocks.resize(shape.blocks());
    // With copies both end stages hold the whole table, and in a V the first stage does.
    const ScheduleTraits its = traits(plan_.schedule);
    const CommTime tied = its.mirrored || its.folded ? CommTime{} : tied_embedding_time(scenario_);
    std::vector<StageContent> chunks;  // of one stage
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      chunks.clear();
      for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
        const std::uint32_t part = model_part(plan_.schedule, shape, stage, chunk);
        step_.blocks[chunk * shape.stages + stage] = {dealt[part], first_layer[part],
                                                      priced(dealt[part]).costs};
        chunks.push_back(dealt[part]);
        add_passes(stage, chunk);
        if (shape.buckets > 0) add_buckets(stage, chunk);
      }
      add_end(stage, chunks, tied);
    }
  }

  void add_end(std::uint32_t stage, const std::vector<StageContent>& chunks, const CommTime& tied) {
    const HeldParameters parameters = parameters_of(chunks);
    const bool is_end = stage == 0 || stage + 1 == step_.shape.stages;
    if (step_.shape.buckets == 0) {
      const Traffic& all = communicated(parameters);
      CommTime reduced = gradient_reductions(plan_) * all.reduce;
      reduced += all.gather;
      communicate(TaskKind::gradient_reduce, stage, 0, reduced);
    }
    if (step_.shape.gathers_at_end) {
      communicate(TaskKind::gather_updates, stage, 0, communicated(parameters).gather);
    }
    if (is_end) communicate(TaskKind::embedding_reduce, stage, 0, tied);
    step_.durations.at(TaskKind::optimizer, stage) =
        optimizer_time(scenario_, layers_.orthogonal, chunks, parameters.learning).value;
  }

  struct PricedChunk {
    StageContent content;
    HeldParameters parameters;
    ChunkCosts costs;  ///< of its layers, and of what a micro batch adds to its gradients
  };

  /// Stages and chunks are mostly like the one before.
  [[nodiscard]] const PricedChunk& priced(const StageContent& chunk) {
    if (!last_chunk_ || last_chunk_->content != chunk) {
      last_chunk_ = {chunk, parameters_of({chunk}), chunk_costs(layers_, chunk)};
      const double added = accumulation_time(scenario_, last_chunk_->parameters.learning).value;
      PassCost& backward = last_chunk_->costs.backward;
      backward.compute += added;
      backward.stream += added;
      backward.weight_gradient += added;
    }
    return *last_chunk_;
  }

  void add_passes(std::uint32_t stage, std::uint32_t chunk) {
    const auto& [content, first_layer, costs] = block(stage, chunk);
    BlockTable& durations = step_.durations;
    const double backward = costs.backward.total();
    durations.at(TaskKind::forward, stage, chunk) = costs.forward.total();
    durations.at(TaskKind::backward, stage, chunk) = backward;
    const double weights = costs.backward.for_weights();
    durations.at(TaskKind::weight_gradient, stage, chunk) = weights;
    durations.at(TaskKind::input_gradient, stage, chunk) = backward - weights;
    durations.at(TaskKind::offload_activations, stage, chunk) = costs.forward.copies;
    durations.at(TaskKind::reload_activations, stage, chunk) = costs.backward.copies;
    if (!content.head) add_hop(TaskKind::send_forward, stage, chunk);
    if (!content.embedding) add_hop(TaskKind::send_backward, stage, chunk);
    if (step_.shape.exchanges == Exchanges::beside) add_passes_beside(stage, chunk, costs);
  }

  void add_passes_beside(std::uint32_t stage, std::uint32_t chunk, const ChunkCosts& costs) {
    const double share = exchange_beside(scenario_.plan, scenario_.software.communication);
    const auto parts = [&](const PassCost& pass) {
      const double exchange = share * pass.ep_comm;
      return PassParts{pass.total() - exchange + pass.host_beside, exchange, pass.host_beside};
    };
    set_passes(step_.durations, stage, chunk, parts(costs.forward), parts(costs.backward));
    const double launched = step_.beside_launch_share;
    const auto launch = [&](TaskKind kind, const PassCost& pass) {
      step_.durations.at(kind, stage, chunk) += launched * pass.launching;
    };
    launch(TaskKind::forward_beside, costs.forward);
    launch(TaskKind::backward_beside, costs.backward);
  }

  void add_buckets(std::uint32_t stage, std::uint32_t chunk) {
    const std::uint32_t buckets = step_.shape.buckets;
    HeldParameters parameters = priced(block(stage, chunk).content).parameters;
    for (StageParameters* some : {&parameters.all, &parameters.learning}) {
      some->dense /= buckets;
      some->experts /= buckets;
      some->tables /= buckets;
    }
    const auto at = [&](TaskKind kind) -> double& {
      return step_.durations.at(kind, stage, chunk);
    };
    const double forward = at(TaskKind::forward) / buckets;
    const double backward = at(TaskKind::backward) / buckets;
    const ChunkCosts& costs = block(stage, chunk).costs;
    const Losses losses = add_gathers(stage, chunk, running(costs.forward) / buckets,
                                      running(costs.backward) / buckets, traffic(parameters));
    at(TaskKind::forward_bucket) = forward + losses.forward;
    at(TaskKind::backward_bucket) = backward + losses.backward;
    at(TaskKind::weight_gradient_bucket) =
        at(TaskKind::weight_gradient) / buckets + losses.backward;
  }

  [[nodiscard]] const StepBlock& block(std::uint32_t stage, std::uint32_t chunk) const {
    return step_.blocks[chunk * step_.shape.stages + stage];
  }

  /// A send to the stage that it goes to. Hops inside a node, and those that leave it, are alike.
  void add_hop(TaskKind kind, std::uint32_t stage, std::uint32_t chunk) {
    const std::uint32_t to = receiver(plan_.schedule, step_.shape, kind, stage, chunk);
    if (to == stage) return;
    std::optional<CommTime>& known = hops_[stages_are_joined(scenario_, stage, to) ? 1 : 0];
    if (!known) known = stage_transfer_time(scenario_, stage, to);
    communicate(kind, stage, chunk, *known);
  }

  const Scenario& scenario_;
  const Plan& plan_;
  const LayerCosts& layers_;
  Step step_;
  struct PricedTraffic {
    HeldParameters parameters;
    Traffic traffic;
  };
  std::optional<PricedTraffic> last_traffic_;
  std::optional<PricedChunk> last_chunk_;
  std::array<std::optional<CommTime>, 2> hops_;
};

}  // namespace

Step step_of(const Scenario& scenario, const LayerCosts& layers) {
  return StepBuilder(scenario, layers).build();
}

Step step_of(const Scenario& scenario) {
  return step_of(scenario, price_layers(scenario));
}

}  // namespace prequel
