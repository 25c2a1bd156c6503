#pragma once

/// Which part of their scatter two plans of one stack on one cluster share: more, the more alike
/// they are. ln seconds of a plan scatter by a sum of independent parts: one of all plans, one for
/// each value of each trait, and one of the plan's own.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/plan/plan.hpp"

namespace prequel {

/// Groups of axes by which tables of layouts differ.
enum class PlanTrait : std::uint8_t {
  tensor,    ///< tensor, sequence and context ranks
  pipeline,  ///< stages, chunks, schedule
  batch,     ///< micro batch
  memory     ///< what is sharded, offloaded or computed again
};
inline constexpr std::array<std::string_view, 4> kPlanTraitNames{"tensor", "pipeline", "batch",
                                                                 "memory"};
inline constexpr std::size_t kPlanTraits = kPlanTraitNames.size();

/// A number for each trait, the same where plans are alike in it.
using PlanTraits = std::array<std::uint64_t, kPlanTraits>;

PlanTraits traits_of(const Plan& plan);

/// Shares of the variance of a plan's scatter; what they leave is the plan's own.
struct ScatterShares {
  double all{0.5};  ///< of all plans of a stack on a cluster
  std::array<double, kPlanTraits> traits{};

  [[nodiscard]] double own() const;
  /// Returns the share that two plans have in common.
  [[nodiscard]] double shared(const PlanTraits& first, const PlanTraits& second) const;
};

}  // namespace prequel
