#include "sim/answer/plan_scatter.hpp"

#include <algorithm>
#include <initializer_list>

namespace prequel {
namespace {

/// Mixes values to one number (Fowler, Noll and Vo's hash).
std::uint64_t mixed(std::initializer_list<std::int64_t> values) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const std::int64_t value : values) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 1'099'511'628'211U;
  }
  return hash;
}

}  // namespace

PlanTraits traits_of(const Plan& plan) {
  return {mixed({plan.tp, plan.cp, static_cast<std::int64_t>(plan.sequence_parallel)}),
          mixed({plan.pp, plan.vpp, static_cast<std::int64_t>(plan.schedule)}), mixed({plan.mbs}),
          mixed({plan.zero, static_cast<std::int64_t>(plan.offload),
                 static_cast<std::int64_t>(plan.recompute)})};
}

double ScatterShares::own() const {
  double rest = 1.0 - all;
  for (const double trait : traits) rest -= trait;
  return std::max(0.0, rest);
}

double ScatterShares::shared(const PlanTraits& first, const PlanTraits& second) const {
  double sum = all;
  for (std::size_t i = 0; i < kPlanTraits; ++i) sum += first[i] == second[i] ? traits[i] : 0.0;
  return sum;
}

}  // namespace prequel
