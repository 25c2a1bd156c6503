#include "sim/search/space.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "hw/base/parallel.hpp"
#include "hw/dispatch.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/layout.hpp"
#include "models/plan/stages.hpp"
#include "sim/search/searched_values.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostMicroBatch = 64;  // sequences; the batch bounds it in practice
constexpr std::int64_t kMostChunks = 16;      // of one stage

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

/// One value where an axis has no effect, all of it where it has. A value that the axis leaves out
/// never takes the place of those asked for, even where the rules refuse all of them.
template <class Value>
std::vector<Value> effective(const std::vector<Value>& axis, bool has_effect, Value otherwise) {
  return has_effect || !holds(axis, otherwise) ? axis : std::vector<Value>{otherwise};
}

/// The first of those that `effect` makes the same.
template <class Value, class Effect>
std::vector<Value> distinct(const std::vector<Value>& axis, const Effect& effect) {
  std::vector<Value> firsts;
  for (const Value& value : axis) {
    const bool known = std::ranges::any_of(
        firsts, [&](const Value& other) { return effect(other) == effect(value); });
    if (!known) firsts.push_back(value);
  }
  return firsts;
}

template <Worded Enum>
WordSet<Enum> without(WordSet<Enum> set, std::initializer_list<Enum> values) {
  WordSet<Enum> rest;
  for (const Enum each : all_of<Enum>()) {
    if (set.has(each) && std::ranges::find(values, each) == values.end()) rest.add(each);
  }
  return rest;
}

/// Combines the axes from the outside in: what decides most about legality first.
class Combiner {
 public:
  Combiner(const SearchAxes& axes, const SearchInputs& inputs, const std::atomic<bool>* stop)
      : axes_(axes), inputs_(inputs), stop_(stop), collector_(inputs), request_(inputs.fixed) {}

  Candidates combine() && {
    for (const ModelShape& shape : axes_.shapes) {
      collector_.begin(shape);
      layouts_.clear();
      if (collector_.has_shape()) {
        plans();
      } else {
        request_.nodes = axes_.nodes.front();
        request_.gbs = axes_.gbs.front();
        collector_.consider(request_);
      }
    }
    return std::move(collector_).result();
  }

 private:
  [[nodiscard]] bool is_stopped() const {
    return stop_ != nullptr && stop_->load(std::memory_order_relaxed);
  }
  [[nodiscard]] const Transformer& model() const { return collector_.model(); }

  void plans() {
    for (const std::int64_t nodes : axes_.nodes) {
      request_.nodes = nodes;
      for (const std::int64_t tp : axes_.tp) {
        request_.tp = tp;
        if (model().heads % tp != 0) collector_.tell(alone(tp));
        for (const std::int64_t cp : axes_.cp) {
          if (cp > 1 && !splits_contexts() && holds(axes_.cp, std::int64_t{1})) {
            collector_.skip();
            continue;
          }
          request_.cp = cp;
          for (const std::int64_t pp : axes_.pp) {
            request_.pp = pp;
            degrees();
          }
        }
      }
    }
  }

  /// A tensor group and nothing else that rules could be against.
  [[nodiscard]] PlanRequest alone(std::int64_t tp) const {
    PlanRequest request = inputs_.fixed;
    request.nodes = std::nullopt;
    request.tp = tp;
    request.gbs = axes_.gbs.front();
    request.sequence_parallel = false;
    return request;
  }

  /// Tests whether the kernel of attention can work on a part of each sequence.
  [[nodiscard]] bool splits_contexts() const {
    const auto& usual = inputs_.software.defaults.attention;
    return inputs_.fixed.attention.value_or(usual.value_or(AttentionKind::unfused)) ==
           AttentionKind::flash;
  }

  /// On all devices of the nodes; where it is asked how much of a model learns, on a part of one
  /// node as well: such work is given to single cards. On the part that is asked for alone.
  void degrees() {
    const std::int64_t per_node = inputs_.cluster.devices_per_node;
    const std::int64_t asked = *request_.nodes == 1 ? inputs_.part_of_node : 0;
    if (asked == 0 || asked == per_node) degrees_on(*request_.nodes * per_node);
    if (asked == 0 && (axes_.tuning.empty() || *request_.nodes > 1)) return;
    request_.nodes.reset();  // a part of the node is no whole number of them
    for (const std::int64_t part : asked > 0 ? std::vector{asked} : divisors(per_node)) {
      if (part < per_node) degrees_on(part);
    }
    request_.nodes = 1;
  }

  void degrees_on(std::int64_t devices) {
    if (is_stopped()) return;
    const std::int64_t model_parallel = *request_.tp * *request_.pp * *request_.cp;
    const std::int64_t dp = devices / model_parallel;
    const bool wanted = axes_.dp.empty() || holds(axes_.dp, dp);
    if (devices % model_parallel != 0 || !wanted || model().heads % *request_.tp != 0) {
      return collector_.skip();
    }
    request_.dp = dp;
    const std::int64_t stage = dp * *request_.tp * *request_.cp;
    for (const std::int64_t ep : effective(axes_.ep, model().has_experts(), std::int64_t{1})) {
      request_.ep = ep;
      for (const std::int64_t etp : effective(axes_.etp, model().has_experts(), std::int64_t{1})) {
        request_.etp =
            etp > 1 ? etp : usual_expert_tensor(ep, *request_.tp, model(), inputs_.software);
        const bool divided = stage % (ep * *request_.etp) == 0;
        if (divided || is_single(axes_.ep, axes_.etp)) {
          batches();
        } else {
          collector_.skip();
        }
      }
    }
  }

  /// Tests whether the user leaves no choice, so that the rules have to say what is wrong.
  static bool is_single(const auto&... axes) { return ((axes.size() == 1) && ...); }

  void batches() {
    for (const std::int64_t gbs : axes_.gbs) {
      request_.gbs = gbs;
      for (const std::int64_t mbs : axes_.mbs) {
        request_.mbs = mbs;
        if (gbs % (*request_.dp * mbs) != 0) {
          collector_.skip();
        } else {
          schedules();
        }
      }
    }
  }

  void schedules() {
    const std::int64_t pp = *request_.pp;
    const Schedule usual = inputs_.software.defaults.schedule.value_or(Schedule::one_f_one_b);
    for (const Schedule schedule : effective(axes_.schedule, pp > 1, usual)) {
      request_.schedule = schedule;
      const bool chunks = pp > 1 && traits(schedule).interleaved;
      const std::int64_t usual_chunks = pp > 1 && traits(schedule).folded ? 2 : 1;
      for (const std::int64_t vpp : effective(axes_.vpp, chunks, usual_chunks)) {
        // Embedding and head can be a chunk each.
        if (chunks && (vpp == 1 || vpp * pp > model().layers + 2)) {
          collector_.skip();
          continue;
        }
        request_.vpp = vpp;
        stages();
      }
    }
  }

  void stages() {
    if (is_stopped()) return;
    const std::int64_t pp = *request_.pp;
    for (const StageSplit split : effective(axes_.stage_split, pp > 1, axes_.stage_split.front())) {
      request_.stage_split = split;
      for (const std::string& layout : layouts()) {
        request_.layout = layout;
        states();
      }
    }
  }

  /// Layouts of as many chunks as the plan has.
  const std::vector<std::string>& layouts() {
    const std::int64_t chunks = *request_.pp * *request_.vpp;
    const auto [known, is_new] = layouts_.try_emplace({chunks, *request_.stage_split});
    std::vector<std::string>& all = known->second;
    if (!is_new) return all;
    for (const std::string& layout : axes_.layout) {
      if (layout != kAutoLayout) {
        if (*request_.pp > 1 || !layout.empty()) all.push_back(layout);
        continue;
      }
      if (!holds(all, std::string())) all.emplace_back();
      if (*request_.pp == 1) continue;
      for (std::string& other : balanced_layouts(model(), chunks)) {
        if (!is_usual(other)) all.push_back(std::move(other));
      }
    }
    if (all.empty()) all.emplace_back();
    return all;
  }

  /// Tests whether the stack deals layers so by itself.
  [[nodiscard]] bool is_usual(const std::string& layout) const {
    const Software& software = inputs_.software;
    const std::int64_t pp = *request_.pp;
    const std::int64_t vpp = *request_.vpp;
    if (!stage_problem(model().layers, pp, vpp, software.stage_dealing, *request_.stage_split)
             .empty()) {
      return false;
    }
    Plan plan;
    plan.pp = pp;
    plan.vpp = vpp;
    plan.stage_split = *request_.stage_split;
    return chunks_of_plan(model(), plan, software) == deal_layout(layout, model());
  }

  void states() {
    const std::int64_t dp = *request_.dp;
    for (const std::int64_t zero : effective(axes_.zero, dp > 1, axes_.zero.front())) {
      request_.zero = zero;
      if (zero >= 2 && *request_.pp > 1 && !stages_shard_gradients(zero, inputs_.software)) {
        refuse_sharded_gradients();
        continue;
      }
      for (const Offload offload : effective(axes_.offload, zero > 0, Offload::none)) {
        request_.offload = offload;
        tunings();
      }
    }
  }

  /// Calls `next` with each value of an axis that no search tries by itself, or with what is fixed.
  template <class Value, class Next>
  static void each_said(const std::vector<Value>& axis, std::optional<Value>& box,
                        const Next& next) {
    if (axis.empty()) return next();
    for (const Value& value : axis) {
      box = value;
      next();
    }
  }

  /// Sets what learns; adapters and narrow weights stand beside frozen ones alone.
  void tunings() {
    each_said(axes_.tuning, request_.tuning, [this] {
      const Tuning tuning = request_.tuning.value_or(Tuning::full);
      const bool adapts = trains_adapters(tuning);
      const std::vector<std::int64_t> ranks =
          adapts ? axes_.lora_rank : std::vector<std::int64_t>{};
      request_.lora_rank = adapts ? inputs_.fixed.lora_rank : std::nullopt;
      each_said(ranks, request_.lora_rank, [&] {
        const bool frozen = tuning != Tuning::full;
        each_said(effective(axes_.base_precision, frozen, BaseFormat::bf16),
                  request_.base_precision, [this] { formats(); });
      });
    });
  }

  /// A recipe belongs to a format of 8 or 4 bits.
  void formats() {
    for (const Precision precision : axes_.precision) {
      request_.precision = precision;
      const bool narrow = is_quantized(precision);
      std::vector<Fp8Recipe> recipes = effective(axes_.fp8_recipe, narrow, Fp8Recipe::none);
      if (narrow && recipes.size() > 1) std::erase(recipes, Fp8Recipe::none);
      for (const Fp8Recipe recipe : recipes) {
        request_.fp8_recipe = recipe;
        activations();
      }
    }
  }

  void activations() {
    for (const bool split : effective(axes_.sequence_parallel, *request_.tp > 1, false)) {
      request_.sequence_parallel = split;
      for (const Recompute recompute : axes_.recompute) {
        request_.recompute = recompute;
        const bool full = recompute == Recompute::full;
        for (const std::int64_t layers : effective(axes_.recompute_layers, full, std::int64_t{1})) {
          request_.recompute_layers = layers;
          for (const auto& modules : modules_for(recompute)) {
            request_.recompute_modules = modules;
            consider();
          }
        }
      }
    }
  }

  [[nodiscard]] std::vector<WordSet<RecomputeModule>> modules_for(Recompute recompute) const {
    if (recompute != Recompute::selective) return {axes_.recompute_modules.front()};
    const auto held = [&](const auto& set) { return modules_of(model(), set); };
    std::vector<WordSet<RecomputeModule>> sets = distinct(axes_.recompute_modules, held);
    for (WordSet<RecomputeModule>& set : sets) set = held(set);
    return sets;
  }

  void consider() {
    const Variants& groups = variants_here();
    if (groups.empty()) return collector_.skip();
    for (const auto& variants : groups) {
      const PlanVariant& first = variants->front();
      request_.cp_comm = first.cp_comm;
      request_.dispatcher = first.dispatcher;
      request_.overlap = first.overlap;
      request_.cuda_graphs = first.cuda_graphs;
      collector_.consider(request_, variants);
    }
  }

  /// Variants that hold as much memory stand together: exchanges beside another micro batch keep
  /// one more in flight. None where the rules leave none.
  using Variants = std::vector<std::shared_ptr<const std::vector<PlanVariant>>>;
  [[nodiscard]] const Variants& variants_here() {
    const bool exchanges = model().has_experts() && *request_.ep > 1;
    const bool crosses = exchanges && axes_.dispatcher.size() > 1 && crosses_links();
    const std::tuple key(*request_.tp > 1, *request_.cp, *request_.tp, exchanges, crosses);
    const auto [known, is_new] = variants_.try_emplace(key);
    if (is_new) known->second = all_variants(exchanges, crosses);
    return known->second;
  }

  /// Tests whether tokens leave the domain of device links on their way to their experts.
  [[nodiscard]] bool crosses_links() const {
    const std::int64_t gpus = request_.nodes.value_or(1) * inputs_.cluster.devices_per_node;
    return group_shape(inputs_.cluster, gpus, *request_.ep, *request_.etp).crosses_network();
  }

  [[nodiscard]] Variants all_variants(bool exchanges, bool crosses) const {
    const Software& software = inputs_.software;
    const auto overlapped = [&](WordSet<Overlapped> set) {
      const CommunicationStack& stack = software.communication;
      if (*request_.tp == 1 || !stack.overlaps_tensor()) set = without(set, {Overlapped::tp});
      const bool exposed = !exchanges || stack.beside <= 0;
      return exposed ? without(set, {Overlapped::ep}) : set;
    };
    const auto launched = [&](WordSet<GraphedModule> set) {
      return software.host.one_launch.value > 0 ? set : WordSet<GraphedModule>{};
    };
    const Dispatcher idle = axes_.dispatcher.size() == 1
                                ? axes_.dispatcher.front()
                                : software.defaults.dispatcher.value_or(Dispatcher::allgather);
    std::vector<Dispatcher> dispatchers = effective(axes_.dispatcher, exchanges, idle);
    if (crosses) {
      std::erase_if(dispatchers, [this](Dispatcher each) {
        return each == Dispatcher::hybridep || !network_carries(inputs_.cluster, each);
      });
    }
    std::vector<PlanVariant> inside, beside;
    for (const ContextComm cp_comm :
         effective(axes_.cp_comm, *request_.cp > 1, axes_.cp_comm.front())) {
      if (axes_.cp_comm.size() > 1 && cp_comm == ContextComm::a2a &&
          model().kv_heads % (*request_.tp * *request_.cp) != 0) {
        continue;
      }
      for (const Dispatcher dispatcher : dispatchers) {
        for (const auto& overlap : distinct(axes_.overlap, overlapped)) {
          for (const auto& graphs : distinct(axes_.cuda_graphs, launched)) {
            (overlap.has(Overlapped::ep) ? beside : inside)
                .push_back({cp_comm, dispatcher, overlap, graphs});
          }
        }
      }
    }
    Variants groups;
    for (std::vector<PlanVariant>& group : {std::ref(inside), std::ref(beside)}) {
      if (group.empty()) continue;
      groups.push_back(std::make_shared<const std::vector<PlanVariant>>(std::move(group)));
    }
    return groups;
  }

  /// They do not go with pipeline stages. The rule is asked only where other stages of ZeRO, which
  /// could be legal, are not.
  void refuse_sharded_gradients() {
    if (std::ranges::any_of(axes_.zero, [](std::int64_t zero) { return zero < 2; })) {
      return collector_.skip();
    }
    request_.offload = axes_.offload.front();
    request_.precision = axes_.precision.front();
    request_.fp8_recipe.reset();
    request_.sequence_parallel = axes_.sequence_parallel.front();
    request_.recompute = axes_.recompute.front();
    request_.recompute_layers = axes_.recompute_layers.front();
    request_.recompute_modules = axes_.recompute_modules.front();
    consider();
  }

  const SearchAxes& axes_;
  const SearchInputs& inputs_;
  const std::atomic<bool>* stop_;
  CandidateCollector collector_;
  PlanRequest request_;
  std::map<std::pair<std::int64_t, StageSplit>, std::vector<std::string>> layouts_;
  std::map<std::tuple<bool, std::int64_t, std::int64_t, bool, bool>, Variants> variants_;
};

/// The space as parts that are combined one by one, in the order of the axes.
std::vector<SearchAxes> parts_of(const SearchAxes& axes, const SearchInputs& inputs) {
  std::vector<SearchAxes> parts;
  SearchAxes part = axes;
  for (const ModelShape& shape : axes.shapes) {
    part.shapes = {shape};
    if (!reshape_problem(inputs.model, shape).empty()) {  // which is told once
      parts.push_back(part);
      continue;
    }
    for (const std::int64_t nodes : axes.nodes) {
      part.nodes = {nodes};
      for (const std::int64_t tp : axes.tp) {
        part.tp = {tp};
        parts.push_back(part);
      }
    }
    part.nodes = axes.nodes;
    part.tp = axes.tp;
  }
  return parts;
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
  // With several precisions, each plan's own tells whether the recipe goes with it.
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
  each_axis([&](const auto& axis) {
    const bool splits_model = axis.role == RankRole::replica;
    if (splits_model && !everything) fill(axis.of(axes), axis.of(inputs.software.choices));
  });
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

Candidates legal_plans(const SearchAxes& axes, const SearchInputs& inputs,
                       const SearchWatch& watch) {
  const std::vector<SearchAxes> parts = parts_of(axes, inputs);
  std::vector<Candidates> found(parts.size());
  parallel_for(
      parts.size(),
      [&](std::size_t i) {
        if (watch.is_stopped()) return;
        found[i] = Combiner(parts[i], inputs, watch.stop).combine();
      },
      watch.combining);
  // Who stops a search of millions waits for no more than a few of them.
  constexpr std::size_t kLeft = 4096;
  if (watch.is_stopped()) thin_out(found, kLeft);
  return together(std::move(found));
}

namespace {

/// Tests whether a legal plan has the value.
bool is_taken(const auto& axis, const auto& value, const Candidates& candidates) {
  return std::ranges::any_of(candidates.legal, [&](const Candidate& candidate) {
    if (axis.of(candidate.plan) == value) return true;
    if (!candidate.variants || !is_of_variant(axis.name)) return false;
    Plan plan;
    return std::ranges::any_of(*candidate.variants, [&](const PlanVariant& variant) {
      set_variant(plan, variant);
      return axis.of(plan) == value;
    });
  });
}

}  // namespace

std::vector<UntakenValue> untaken_values(const SearchAxes& said, const SearchAxes& axes,
                                         const Candidates& candidates, const SearchInputs& inputs,
                                         const SearchWatch& watch) {
  std::vector<UntakenValue> untaken;
  if (candidates.legal.empty()) return untaken;
  each_axis([&](const auto& axis) {
    if (!is_listed(axis.use) || axis.of(said).size() < 2) return;
    for (const auto& value : axis.of(said)) {
      if (is_taken(axis, value, candidates)) continue;
      SearchAxes alone = axes;
      axis.of(alone) = {value};
      const Candidates refused = legal_plans(alone, inputs, watch.unheard());
      if (watch.is_stopped()) return;
      UntakenValue one{axis.name, cell_of(value), {}};
      if (refused.legal.empty() && !refused.nearest.empty()) {
        one.why = refused.nearest.front().problems.front();
      }
      untaken.push_back(std::move(one));
    }
  });
  return untaken;
}

}  // namespace prequel