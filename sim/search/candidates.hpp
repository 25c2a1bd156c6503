#pragma once

/// The plans of a search that the rules allow, and those that came nearest.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/model_shape.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "sim/search/searched_axes.hpp"

namespace prequel {

/// The axes of a plan that its memory does not depend on.
struct PlanVariant {
  ContextComm cp_comm{};
  Dispatcher dispatcher{};
  WordSet<Overlapped> overlap;
  WordSet<GraphedModule> cuda_graphs;

  auto operator<=>(const PlanVariant&) const = default;
};
PlanVariant variant_of(const Plan& plan);
void set_variant(Plan& plan, const PlanVariant& variant);
/// Tests whether an axis is one of those.
inline bool is_of_variant(std::string_view axis) {
  return axis == "cp_comm" || axis == "dispatcher" || axis == "overlap" || axis == "cuda_graphs";
}

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

/// A plan that the rules refuse, with its problems.
struct RefusedPlan {
  PlanRequest request;
  ModelShape shape;
  std::vector<std::string> problems;
};

struct Candidates {
  std::int64_t considered{};  ///< combinations; those that rules pass over as a whole are one
  std::vector<Candidate> legal;
  std::int64_t left_out{};  ///< legal plans that are counted alone, of a search that was stopped
  /// A few of those that broke the fewest rules, where none is legal, or all as asked for.
  std::vector<RefusedPlan> nearest;

  /// How many plans are legal.
  [[nodiscard]] std::int64_t plans() const;
};

/// Frees candidates beside what goes on: there may be gigabytes of them, and somebody who stopped a
/// search waits for its answer.
void free_later(std::vector<std::vector<Candidate>> candidates);

/// Leaves about `most` candidates of all parts, evenly spread, and counts the rest.
void thin_out(std::vector<Candidates>& parts, std::size_t most);

/// Which refused plans are told.
enum class Refusals : std::uint8_t {
  nearest,  ///< a few, where none is legal
  all       ///< each, in the order of the requests
};

/// Those of requests given one by one.
Candidates legal_plans(const std::vector<CandidateRequest>& requests, const SearchInputs& inputs,
                       Refusals refusals = Refusals::nearest);

/// Judges plans of one shape of the model after another.
class CandidateCollector {
 public:
  explicit CandidateCollector(const SearchInputs& inputs, Refusals refusals = Refusals::nearest)
      : inputs_(inputs), refusals_(refusals), model_(inputs.model) {}

  /// The shape of what comes next.
  void begin(const ModelShape& shape);
  [[nodiscard]] const Transformer& model() const { return model_; }
  [[nodiscard]] bool has_shape() const { return shape_problem_.empty(); }

  /// `request` has the first of `variants`.
  void consider(const PlanRequest& request,
                std::shared_ptr<const std::vector<PlanVariant>> variants = {});
  /// One that the axes already exclude.
  void skip() { ++found_.considered; }
  /// Has the rules say what is wrong with what such combinations share, which is no combination.
  void tell(const PlanRequest& shared);

  [[nodiscard]] Candidates result() &&;

 private:
  const SearchInputs& inputs_;
  Refusals refusals_;
  ModelShape shape_;
  std::string shape_problem_;
  Transformer model_;  ///< of that shape
  Candidates found_;
};

/// Those of several parts of a space, in their order. Variants that are the same stay one list, by
/// which plans share the prices of their layers.
Candidates together(std::vector<Candidates> parts);

}  // namespace prequel
