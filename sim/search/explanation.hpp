#pragma once

/// Why a layout that someone has in mind is not the best plan.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/search/search.hpp"

namespace prequel {

enum class LayoutVerdict : std::uint8_t {
  illegal,   ///< rules of the framework or the model refuse all its plans
  excluded,  ///< it is legal, but a requirement is not met
  oom,       ///< it does not fit, with the head-room that was asked for
  ranked     ///< it could be trained: others may be better
};

/// "illegal", "excluded", "oom" or "ranked".
std::string_view name(LayoutVerdict verdict);

/// The fate of a layout: that of the best of its plans, where it leaves axes open.
struct Explanation {
  LayoutVerdict verdict{};
  std::vector<RefusedPlan> refused;     ///< illegal: plans that break the fewest rules
  std::vector<std::string> unmet;       ///< excluded: requirements that its plans do not meet
  std::optional<Plan> plan;             ///< oom, ranked: the smallest, the best
  ModelShape shape;                     ///< of the model, for `plan`
  std::optional<Prediction> predicted;  ///< of `plan`
  Bytes needed, room;                   ///< oom: on the fullest device
  std::size_t rank{};  ///< ranked: from 1, its place; 0: behind the best, which alone are told
  bool searched{};     ///< ranked: whether the search looked at it, too
  double value{};      ///< ranked: what it is ranked by; less is better
};

/// Explains the plans that have what `layout` says and are else within `axes`, against the plans
/// that a search of these `axes` under these `limits` found among the `searched`.
Explanation explain(const PlanRequest& layout, const SearchAxes& axes, const SearchInputs& inputs,
                    const SearchLimits& limits, const Candidates& searched,
                    const SearchResult& found);

}  // namespace prequel
