#include "sim/search/space.hpp"

#include <algorithm>

#include "models/plan/gathers.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMostMicroBatch = 64;  // sequences; the batch bounds it in practice
constexpr std::int64_t kMostChunks = 16;      // of one stage
constexpr std::size_t kNearest = 3;

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

std::vector<std::int64_t> tensor_degrees(std::int64_t per_node, bool across_nodes) {
  std::vector<std::int64_t> values = powers_of_two(across_nodes ? 2 * per_node : per_node);
  for (std::int64_t value = 1; value <= per_node; ++value) {
    if (per_node % value == 0) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Plans of one shape of the model after another.
class Collector {
 public:
  explicit Collector(const SearchInputs& inputs, Refusals refusals = Refusals::nearest)
      : inputs_(inputs), refusals_(refusals), model_(inputs.model) {}

  /// The shape of what comes next.
  void begin(const ModelShape& shape) {
    if (shape == shape_) return;
    shape_ = shape;
    shape_problem_ = reshape_problem(inputs_.model, shape);
    if (shape_problem_.empty()) model_ = reshaped(inputs_.model, shape);
  }
  [[nodiscard]] const Transformer& model() const { return model_; }
  [[nodiscard]] bool has_shape() const { return shape_problem_.empty(); }

  void consider(const PlanRequest& request) {
    ++found_.considered;
    PlanJudgement judged;
    if (has_shape()) {
      judged = judge_plan(request, model_, inputs_.cluster, inputs_.software);
    } else {
      judged.problems.push_back("model: " + shape_problem_);
    }
    if (judged.problems.empty()) {
      found_.legal.push_back({std::move(judged.plan), shape_});
    } else if (refusals_ == Refusals::all) {
      found_.nearest.push_back({request, shape_, std::move(judged.problems)});
    } else if (found_.legal.empty()) {
      remember({request, shape_, std::move(judged.problems)});
    }
  }

  /// One that the axes already exclude.
  void skip() { ++found_.considered; }

  Candidates result() && {
    if (!found_.legal.empty() && refusals_ == Refusals::nearest) found_.nearest.clear();
    return std::move(found_);
  }

 private:
  void remember(RefusedPlan refused) {
    auto& nearest = found_.nearest;
    const bool known = std::any_of(nearest.begin(), nearest.end(), [&](const RefusedPlan& other) {
      return other.problems == refused.problems;
    });
    if (known) return;
    const auto place = std::upper_bound(nearest.begin(), nearest.end(), refused,
                                        [](const RefusedPlan& a, const RefusedPlan& b) {
                                          return a.problems.size() < b.problems.size();
                                        });
    nearest.insert(place, std::move(refused));
    if (nearest.size() > kNearest) nearest.pop_back();
  }

  const SearchInputs& inputs_;
  Refusals refusals_;
  ModelShape shape_;
  std::string shape_problem_;
  Transformer model_;  ///< of that shape
  Candidates found_;
};

template <class Value>
bool holds(const std::vector<Value>& axis, const Value& value) {
  return std::find(axis.begin(), axis.end(), value) != axis.end();
}

/// One value where an axis has no effect, all of it where it has. A value that the axis leaves out
/// never takes the place of those asked for, even where the rules refuse all of them.
template <class Value>
std::vector<Value> effective(const std::vector<Value>& axis, bool has_effect, Value otherwise) {
  return has_effect || !holds(axis, otherwise) ? axis : std::vector<Value>{otherwise};
}

/// Combines the axes from the outside in: what decides most about legality first.
class Combiner {
 public:
  Combiner(const SearchAxes& axes, const SearchInputs& inputs)
      : axes_(axes), inputs_(inputs), collector_(inputs), request_(inputs.fixed) {}

  Candidates combine() && {
    for (const ModelShape& shape : axes_.shapes) {
      collector_.begin(shape);
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
  void plans() {
    for (const std::int64_t nodes : axes_.nodes) {
      request_.nodes = nodes;
      for (const std::int64_t tp : axes_.tp) {
        request_.tp = tp;
        for (const std::int64_t pp : axes_.pp) degrees(nodes, tp, pp);
      }
    }
  }

  void degrees(std::int64_t nodes, std::int64_t tp, std::int64_t pp) {
    const std::int64_t devices = nodes * inputs_.cluster.devices_per_node;
    const std::int64_t model_parallel = tp * pp * inputs_.fixed.cp.value_or(1);
    const std::int64_t dp = devices / model_parallel;
    const bool wanted = axes_.dp.empty() || holds(axes_.dp, dp);
    if (devices % model_parallel != 0 || !wanted || collector_.model().heads % tp != 0) {
      return collector_.skip();
    }
    request_.pp = pp;
    request_.dp = dp;
    for (const std::int64_t gbs : axes_.gbs) {
      request_.gbs = gbs;
      for (const std::int64_t mbs : axes_.mbs) {
        request_.mbs = mbs;
        if (gbs % (dp * mbs) != 0) {
          collector_.skip();
        } else {
          schedules(tp, pp, dp);
        }
      }
    }
  }

  void schedules(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
    const Schedule usual = inputs_.software.defaults.schedule.value_or(Schedule::one_f_one_b);
    for (const Schedule schedule : effective(axes_.schedule, pp > 1, usual)) {
      request_.schedule = schedule;
      const bool chunks = pp > 1 && traits(schedule).interleaved;
      const std::int64_t usual_chunks = pp > 1 && traits(schedule).folded ? 2 : 1;
      for (const std::int64_t vpp : effective(axes_.vpp, chunks, usual_chunks)) {
        if (chunks && (vpp == 1 || vpp * pp > collector_.model().layers)) {
          collector_.skip();
          continue;
        }
        request_.vpp = vpp;
        memory_axes(tp, pp, dp);
      }
    }
  }

  void memory_axes(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
    for (const std::int64_t zero : effective(axes_.zero, dp > 1, axes_.zero.front())) {
      request_.zero = zero;
      if (zero >= 2 && pp > 1 && !stages_shard_gradients(zero, inputs_.software)) {
        refuse_sharded_gradients();
        continue;
      }
      for (const Offload offload : effective(axes_.offload, zero > 0, Offload::none)) {
        request_.offload = offload;
        for (const bool sequence_parallel : effective(axes_.sequence_parallel, tp > 1, false)) {
          request_.sequence_parallel = sequence_parallel;
          for (const Recompute recompute : axes_.recompute) {
            request_.recompute = recompute;
            const bool full = recompute == Recompute::full;
            for (const std::int64_t layers :
                 effective(axes_.recompute_layers, full, std::int64_t{1})) {
              request_.recompute_layers = layers;
              collector_.consider(request_);
            }
          }
        }
      }
    }
  }

  /// They do not go with pipeline stages. The rule is asked only where other stages of ZeRO, which
  /// could be legal, are not.
  void refuse_sharded_gradients() {
    if (std::ranges::any_of(axes_.zero, [](std::int64_t zero) { return zero < 2; })) {
      return collector_.skip();
    }
    request_.offload = axes_.offload.front();
    request_.sequence_parallel = axes_.sequence_parallel.front();
    request_.recompute = axes_.recompute.front();
    request_.recompute_layers = axes_.recompute_layers.front();
    collector_.consider(request_);
  }

  const SearchAxes& axes_;
  const SearchInputs& inputs_;
  Collector collector_;
  PlanRequest request_;
};

}  // namespace

SearchAxes fill_axes(SearchAxes axes, const SearchInputs& inputs, bool everything) {
  const std::int64_t most_gbs =
      axes.gbs.empty() ? 1 : *std::max_element(axes.gbs.begin(), axes.gbs.end());
  fill(axes.shapes, {shape_of(inputs.model)});
  const std::int64_t layers =
      std::ranges::max_element(axes.shapes, {}, &ModelShape::layers)->layers;
  fill(axes.nodes, up_to(inputs.cluster.nodes));
  fill(axes.tp, tensor_degrees(inputs.cluster.devices_per_node, everything));
  fill(axes.pp, up_to(layers));
  fill(axes.vpp, up_to(std::min(kMostChunks, layers)));
  fill(axes.mbs, powers_of_two(std::min(kMostMicroBatch, most_gbs)));
  if (everything) {
    fill(axes.zero, {0, 1, 2, 3});
    fill_with_all(axes.recompute);
    fill(axes.sequence_parallel, {false, true});
    fill_with_all(axes.schedule);
  }
  each_axis([&](const auto& axis) {
    if (axis.use != AxisUse::offered) return;
    fill(axis.of(axes), axis.of(inputs.software.choices));
    fill(axis.of(axes), {axis.of(inputs.software.defaults).value_or(plainest(axis.domain))});
  });
  return axes;
}

Candidates legal_plans(const SearchAxes& axes, const SearchInputs& inputs) {
  return Combiner(axes, inputs).combine();
}

Candidates legal_plans(const std::vector<CandidateRequest>& requests, const SearchInputs& inputs,
                       Refusals refusals) {
  Collector collector(inputs, refusals);
  for (const CandidateRequest& request : requests) {
    collector.begin(request.shape);
    collector.consider(request.plan);
  }
  return std::move(collector).result();
}

}  // namespace prequel
