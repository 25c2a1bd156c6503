#include "sim/answer/difference.hpp"

#include <algorithm>
#include <cmath>

#include "hw/base/portable_math.hpp"
#include "hw/base/student_t.hpp"
#include "sim/answer/known_spread.hpp"

namespace prequel {
namespace {

constexpr std::size_t kShownCauses = 3;
constexpr double kLeastVariance = 1e-12;  ///< of two that are all the same, but for rounding

enum class Owner : std::uint8_t {
  stack,   ///< the software alone
  device,  ///< kernels of one card
  site     ///< links, hosts, clocks and power of one cluster
};

Owner owner_of(Uncertain constant) {
  switch (constant) {
    case Uncertain::gemm:
    case Uncertain::attention:
    case Uncertain::pointwise:
    case Uncertain::cross_entropy:
    case Uncertain::optimizer:
    case Uncertain::small_kernels:
    case Uncertain::overlap:
    case Uncertain::offload: return Owner::device;
    case Uncertain::node_links:
    case Uncertain::network:
    case Uncertain::latency:
    case Uncertain::rank_limit:
    case Uncertain::blocking:
    case Uncertain::host:
    case Uncertain::all: return Owner::site;
    default: return Owner::stack;
  }
}

bool is_one_run_like_the_other(const Scenario& first, const Scenario& second) {
  return first.cluster.name == second.cluster.name && first.software.name == second.software.name;
}

double tokens_per_second(const ComparedAnswer& answer) {
  const Plan& plan = answer.scenario.plan;
  return tokens_of_step(plan) / answer.prediction.sec_per_iter.value;
}

/// ln seconds over independent standard normals: what the root of the covariance makes of slopes.
Deviations over_normals(const Deviations& slopes, const Spread& spread) {
  const auto root = spread.root();
  Deviations weights{};
  for (std::size_t i = 0; i < kUncertain; ++i) {
    for (std::size_t j = 0; j <= i; ++j) weights[j] += slopes[i] * root[i][j];
  }
  return weights;
}

}  // namespace

bool is_shared(Uncertain constant, const Scenario& first, const Scenario& second) {
  switch (owner_of(constant)) {
    case Owner::stack: break;
    case Owner::device:
      if (first.device.name != second.device.name) return false;
      break;
    case Owner::site:
      if (first.cluster.name != second.cluster.name) return false;
      break;
  }
  return fields_of(first, constant) == fields_of(second, constant);
}

Difference difference(const ComparedAnswer& first, const ComparedAnswer& second,
                      const Uncertainty& uncertainty, double level) {
  const Spread first_spread = spread_of(first.scenario, uncertainty);
  const Spread second_spread = spread_of(second.scenario, uncertainty);
  const Deviations a = over_normals(first.interval.slopes, first_spread);
  const Deviations b = over_normals(second.interval.slopes, second_spread);
  const double noise = first_spread.time_noise * first_spread.time_noise +
                       second_spread.time_noise * second_spread.time_noise;
  const PlanTraits traits = traits_of(first.scenario.plan);
  const double shared_scatter =
      is_one_run_like_the_other(first.scenario, second.scenario)
          ? first_spread.scatter.shared(traits, traits_of(second.scenario.plan))
          : 0.0;
  const double own = (1.0 - shared_scatter) * noise;
  std::vector<SpreadSource> sources{{"run to run", own}};
  double all = own, alone = noise;
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const double separate = a[i] * a[i] + b[i] * b[i];
    const bool shared = is_shared(Uncertain(i), first.scenario, second.scenario);
    const double remains = shared ? (a[i] - b[i]) * (a[i] - b[i]) : separate;
    alone += separate;
    all += remains;
    sources.push_back({std::string(kUncertainNames[i]), remains});
  }
  Difference result;
  result.level = level;
  result.speed_ratio = tokens_per_second(second) / tokens_per_second(first);
  result.scale = std::sqrt(std::max(all, kLeastVariance));
  const double factor = portable::exp(t4_half_width(level) * result.scale);
  result.ratio_low = result.speed_ratio / factor;
  result.ratio_high = result.speed_ratio * factor;
  result.first_is_faster = t4_below(-portable::log(result.speed_ratio) / result.scale);
  result.cancelled = alone > 0 ? std::max(0.0, 1.0 - all / alone) : 0.0;
  std::ranges::stable_sort(sources, std::greater{}, &SpreadSource::share);
  sources.resize(kShownCauses);
  for (SpreadSource& source : sources) source.share /= std::max(all, kLeastVariance);
  std::erase_if(sources, [](const SpreadSource& source) { return source.share <= 0; });
  result.sources = std::move(sources);
  return result;
}

}  // namespace prequel
