#include "sim/answer/odds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <random>

#include "hw/base/portable_math.hpp"
#include "hw/base/student_t.hpp"

namespace prequel {
namespace {

constexpr int kDraws = 1000;

/// Standard normals (Box and Muller 1958) that are the same with every library.
class Normals {
 public:
  double operator()() {
    const double radius = std::sqrt(-2.0 * portable::log(uniform()));
    return radius * portable::cos(2.0 * std::numbers::pi * uniform());
  }
  /// sqrt(4 / chi² with 4 degrees of freedom): times a normal, Student's t.
  double heavy() { return std::sqrt(4.0 / (-2.0 * portable::log(uniform() * uniform()))); }

 private:
  double uniform() {
    constexpr double kSteps = 9007199254740992.0;  // 2^53
    return (static_cast<double>(bits_() >> 11U) + 0.5) / kSteps;
  }
  std::mt19937_64 bits_{20'240'817};
};

/// Parts of scatter that plans share: for each plan and trait the place of its value in a draw.
struct SharedScatter {
  std::vector<std::array<std::size_t, kPlanTraits>> places;  ///< by plan
  std::vector<double> scales;                                ///< by place, of ln value

  SharedScatter(const std::vector<UncertainPlan>& plans, const Spread& spread) {
    std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> known;
    for (const UncertainPlan& plan : plans) {
      auto& own = places.emplace_back();
      for (std::size_t i = 0; i < kPlanTraits; ++i) {
        const auto [found, added] = known.try_emplace({i, plan.traits[i]}, scales.size());
        if (added) scales.push_back(spread.time_noise * std::sqrt(spread.scatter.traits[i]));
        own[i] = found->second;
      }
    }
  }
};

}  // namespace

double better_probability(const UncertainPlan& first, const UncertainPlan& second,
                          const Spread& spread) {
  Deviations apart{};
  for (std::size_t i = 0; i < kUncertain; ++i) apart[i] = first.slopes[i] - second.slopes[i];
  const double unshared = 2.0 * (1.0 - spread.scatter.shared(first.traits, second.traits));
  const double scatter = spread.time_noise * std::sqrt(unshared);
  const double scale = portable::hypot(std::sqrt(variance_of(apart, spread)), scatter);
  return t4_below(portable::log(second.value / first.value) / scale);
}

std::vector<std::size_t> most_promising(const std::vector<Odds>& odds, std::size_t count,
                                        const Unlikeness& unlikeness) {
  std::vector<std::size_t> ranks(odds.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::ranges::stable_sort(ranks, std::greater{}, [&](std::size_t i) { return odds[i].best; });
  const std::size_t named = std::min(ranks.size(), count);
  for (std::size_t place = 0; unlikeness && place < named; ++place) {
    // Counts of draws differ by chance as those of two outcomes of one number of trials do.
    const double most = odds[ranks[place]].best;
    const double chance = 2.0 * std::sqrt(2.0 * most / kDraws);
    const auto how_unlike = [&](std::size_t plan) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < place; ++i) least = std::min(least, unlikeness(ranks[i], plan));
      return least;
    };
    std::size_t chosen = place;
    for (std::size_t i = place + 1; i < ranks.size(); ++i) {
      if (odds[ranks[i]].best < most - chance) break;
      const double more = how_unlike(ranks[i]) - how_unlike(ranks[chosen]);
      if (place == 0 ? ranks[i] < ranks[chosen] : more > 0) chosen = i;
    }
    const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(place);
    std::rotate(first, first + static_cast<std::ptrdiff_t>(chosen - place),
                first + static_cast<std::ptrdiff_t>(chosen - place) + 1);
  }
  ranks.resize(named);
  return ranks;
}

std::vector<Odds> odds(const std::vector<UncertainPlan>& plans, const Spread& spread) {
  const auto lower = spread.root();
  const double own = spread.time_noise * std::sqrt(spread.scatter.own());
  const SharedScatter shared(plans, spread);
  std::vector<double> drawn(shared.scales.size());
  std::vector<Odds> result(plans.size());
  std::vector<double> values(plans.size());
  std::vector<int> runs(plans.size());  // draws in which it does
  Normals normal;
  for (int draw = 0; draw < kDraws && !plans.empty(); ++draw) {
    Deviations z{}, u{};
    for (double& one : z) one = normal();
    const double heavy = normal.heavy();
    for (std::size_t i = 0; i < kUncertain; ++i) {
      for (std::size_t j = 0; j <= i; ++j) u[i] += heavy * lower[i][j] * z[j];
    }
    const double rough = normal.heavy();  // a draw's for all, so that pairs scatter as one t
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      drawn[i] = shared.scales[i] * normal() * rough;
    }
    const double memory = std::fmod((draw + 0.5) * std::numbers::phi, 1.0);  // an even spread
    for (std::size_t i = 0; i < plans.size(); ++i) {
      double moved = own * normal() * rough;
      for (const std::size_t place : shared.places[i]) moved += drawn[place];
      for (std::size_t k = 0; k < kUncertain; ++k) moved += plans[i].slopes[k] * u[k];
      values[i] = memory < plans[i].fits ? plans[i].value * portable::exp(moved)
                                         : std::numeric_limits<double>::infinity();
    }
    const auto best = std::ranges::min_element(values);
    if (std::isinf(*best)) continue;
    result[static_cast<std::size_t>(best - values.begin())].best += 1.0;  // counted exactly
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (std::isinf(values[i])) continue;
      result[i].expected_loss += values[i] / *best - 1.0;
      ++runs[i];
    }
  }
  for (std::size_t i = 0; i < plans.size(); ++i) {
    result[i].best /= kDraws;
    if (runs[i] > 0) result[i].expected_loss /= runs[i];
  }
  return result;
}

}  // namespace prequel
