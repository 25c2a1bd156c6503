#pragma once

/// Which plans a search looks at.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/base/progress.hpp"
#include "models/job/model_shape.hpp"
#include "models/plan/rules.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// Values of each axis to combine; an empty axis is chosen by `fill_axes`.
struct SearchAxes : AxisValues<std::vector> {
  std::vector<ModelShape> shapes;  ///< of the model
};

/// The inputs of a search beside its axes: `fixed` holds what all plans share.
struct SearchInputs : Inputs {
  PlanRequest fixed;
};

/// In the axis of layouts: as the stack deals, and where stages are then uneven, layouts that give
/// the ends fewer layers for the embedding and the head that they hold.
inline constexpr std::string_view kAutoLayout = "auto";

/// What of a plan its memory does not depend on.
struct PlanVariant {
  ContextComm cp_comm{};
  Dispatcher dispatcher{};
  WordSet<Overlapped> overlap;
  WordSet<GraphedModule> cuda_graphs;

  auto operator<=>(const PlanVariant&) const = default;
};
PlanVariant variant_of(const Plan& plan);
void set_variant(Plan& plan, const PlanVariant& variant);
/// Whether an axis is one of those.
bool is_of_variant(std::string_view axis);

/// Plans that differ in their variants alone, and the shape of the model that they are for.
struct Candidate {
  Plan plan;  ///< of the first variant
  ModelShape shape;
  /// All of them, in the order of the axes; none: the plan as it is.
  std::shared_ptr<const std::vector<PlanVariant>> variants;

  [[nodiscard]] std::size_t plans() const { return variants ? variants->size() : 1; }
};
std::vector<PlanVariant> variants_of(const Candidate& candidate);
/// Each plan as a candidate of its own.
std::vector<Candidate> plans_apart(const std::vector<Candidate>& candidates);

struct CandidateRequest {
  PlanRequest plan;
  ModelShape shape;
};

/// What a plan that the rules refuse would have needed.
struct RefusedPlan {
  PlanRequest request;
  ModelShape shape;
  std::vector<std::string> problems;
};

struct Candidates {
  std::int64_t considered{};  ///< combinations; those that rules pass over as a whole are one
  std::vector<Candidate> legal;
  /// A few of those that broke the fewest rules, where none is legal, or all as asked for.
  std::vector<RefusedPlan> nearest;

  /// How many plans are legal.
  [[nodiscard]] std::int64_t plans() const;
};

/// Tells and asks while it runs; all may be empty.
struct SearchWatch {
  Progress progress;  ///< of plans that are played
  const std::atomic<bool>* stop{};
  Progress combining{};  ///< of the parts of the space whose plans are combined before
};

/// How far a search goes beyond what the user says.
enum class Reach : std::uint8_t {
  usual,         ///< what the stack offers, tensor groups where device links join their ranks
  beyond_links,  ///< the same with tensor groups of several nodes
  everything     ///< all values of all axes, but those that change what is computed
};

/// Fills empty axes with all that makes sense: the model's own shape, tp up to the ranks that
/// device links join (powers of two and a node's divisors), cp for long sequences, ep by the
/// experts, pp and vpp up to the layers, mbs in powers of two, dp from the nodes; the rest as the
/// software's choices say, or by `reach`. A schedule follows from chunks that are said, as in a
/// single plan.
SearchAxes fill_axes(SearchAxes axes, const SearchInputs& inputs, Reach reach);

/// What all plans share, as what they lack is at its plainest: a problem of it is one of each plan.
PlanJudgement judge_shared(const SearchInputs& inputs, const SearchAxes& said);

/// All combinations that the rules of plans and schedules allow, in the order of the axes. Axes
/// without effect (vpp and schedule at pp 1, sequence parallelism at tp 1, ZeRO at dp 1,
/// dispatchers where ranks keep their tokens) take one value only, of those in the axis. HybridEP
/// stays inside the domain of device links, unless no other dispatcher is wanted. Of a part of the
/// space where it is stopped.
Candidates legal_plans(const SearchAxes& axes, const SearchInputs& inputs,
                       const SearchWatch& watch = {});

/// Which refused plans are told.
enum class Refusals : std::uint8_t {
  nearest,  ///< a few, where none is legal
  all       ///< each, in the order of the requests
};

/// The same for requests given one by one.
Candidates legal_plans(const std::vector<CandidateRequest>& requests, const SearchInputs& inputs,
                       Refusals refusals = Refusals::nearest);

/// A value that was asked for and that no legal plan has.
struct UntakenValue {
  std::string_view axis;
  std::string value;
  std::string why;  ///< the rule in its way, where one alone can be named
};

/// Of what `said` lists, what no plan of `candidates` takes; nothing where none is legal.
std::vector<UntakenValue> untaken_values(const SearchAxes& said, const SearchAxes& axes,
                                         const Candidates& candidates, const SearchInputs& inputs);

}  // namespace prequel
