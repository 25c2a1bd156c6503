#include "sim/step/uneven.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/plan/lengths.hpp"
#include "sim/engine/uneven_clock.hpp"
#include "sim/step/tell_step.hpp"

namespace prequel {
namespace {

constexpr int kMostSteps = 96;
constexpr int kLeastSteps = 16;
constexpr double kRows = 20'000;  // drawn in all, where that leaves enough steps
constexpr std::uint64_t kDrawSeed = 20'260'401;

/// The load of a micro batch over the mean: by the token, and by the squares of its sequences.
struct LoadFactors {
  double tokens{1}, squares{1};
};

double pass_seconds(const PassCost& pass, const LoadFactors& factors) {
  const double device = pass.total() - pass.host - pass.attention;
  const double scaled = device * factors.tokens + pass.attention * factors.squares;
  return pass.launching > 0 ? std::max(scaled, pass.launching) : scaled + pass.host;
}

/// Durations of the passes of a step, by micro batch.
class UnevenDurations {
 public:
  explicit UnevenDurations(const Step& step)
      : step_(step), differs_(step.durations.values().size()) {
    for (const TaskKind kind : kPasses) {
      for (std::uint32_t block = 0; block < step.shape.blocks(); ++block) {
        differs_[BlockTable::price(kind, block, step.shape.blocks())] = true;
      }
    }
  }

  [[nodiscard]] const std::vector<bool>& differs() const { return differs_; }

  /// Returns durations by PriceId. The rest of a table's duration beside the passes (copies between
  /// shards, cost of overlap) stays as it is.
  [[nodiscard]] std::vector<double> of(const LoadFactors& factors) const {
    const auto values = step_.durations.values();
    std::vector<double> durations(values.begin(), values.end());
    for (std::uint32_t block = 0; block < step_.shape.blocks(); ++block) {
      const ChunkCosts& costs = step_.blocks[block].costs;
      const double forward = pass_seconds(costs.forward, factors) - pass_seconds(costs.forward, {});
      const double backward =
          pass_seconds(costs.backward, factors) - pass_seconds(costs.backward, {});
      const double weights = costs.backward.weight_gradient * (factors.tokens - 1);
      const auto add = [&](TaskKind kind, double more) {
        double& duration = durations[BlockTable::price(kind, block, step_.shape.blocks())];
        duration = std::max(0.0, duration + more);
      };
      add(TaskKind::forward, forward);
      add(TaskKind::backward, backward);
      add(TaskKind::weight_gradient, weights);
      add(TaskKind::input_gradient, backward - weights);
      add(TaskKind::forward_beside, forward);
      add(TaskKind::backward_beside, backward);
    }
    return durations;
  }

 private:
  static constexpr TaskKind kPasses[] = {TaskKind::forward,         TaskKind::backward,
                                         TaskKind::weight_gradient, TaskKind::input_gradient,
                                         TaskKind::forward_beside,  TaskKind::backward_beside};

  const Step& step_;
  std::vector<bool> differs_;
};

double played(const Step& step, const UnevenDurations& durations,
              const std::vector<LoadFactors>& factors) {
  std::vector<std::vector<double>> by_batch;
  by_batch.reserve(factors.size());
  for (const LoadFactors& each : factors) by_batch.push_back(durations.of(each));
  UnevenClock clock(step.durations.values(), by_batch, durations.differs(),
                    stream_count(step.shape));
  tell(step, clock);
  return clock.end();
}

/// The slowest replica of each micro batch: they meet in all of them.
std::vector<LoadFactors> slowest(const std::vector<std::vector<LoadFactors>>& replicas) {
  std::vector<LoadFactors> most = replicas.front();
  for (const auto& replica : replicas) {
    for (std::size_t i = 0; i < most.size(); ++i) {
      if (replica[i].tokens + replica[i].squares > most[i].tokens + most[i].squares) {
        most[i] = replica[i];
      }
    }
  }
  return most;
}

}  // namespace

UnevenSteps play_uneven(const Scenario& scenario, const Step& step) {
  const Plan& plan = scenario.plan;
  const auto lengths = read_lengths(plan.lengths);
  if (!lengths) return {};
  const Filling filling = filling_of(plan);
  const double rows = real(filling.mbs);
  const double tokens = rows * real(plan.computed_len);
  const double squares = tokens * real(std::min(plan.computed_len, plan.seen_len));
  const double of_step = rows * real(filling.replicas * filling.micro_batches);
  const int steps = std::clamp(static_cast<int>(kRows / of_step), kLeastSteps, kMostSteps);
  const UnevenDurations durations(step);
  const bool meets = in_every_micro_batch(step.shape.gathers);

  std::mt19937_64 bits{kDrawSeed};
  UnevenSteps result;
  double sum = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < steps; ++i) {
    std::vector<std::vector<LoadFactors>> replicas;
    for (const auto& replica : draw_step(*lengths, filling, bits)) {
      auto& factors = replicas.emplace_back();
      for (const MicroBatchLoad& load : replica) {
        factors.push_back({load.computed / tokens, load.squares / squares});
        result.tokens.computed += load.computed / steps;
        result.tokens.real += load.real / steps;
        result.tokens.loss += (load.real - load.sequences) / steps;
      }
    }
    double seconds = 0;
    if (meets) {
      seconds = played(step, durations, slowest(replicas));
    } else {
      for (const auto& replica : replicas) {
        seconds = std::max(seconds, played(step, durations, replica));
      }
    }
    seconds += step.fixed.value;
    sum += seconds;
    sum_of_squares += seconds * seconds;
  }
  result.seconds = sum / steps;
  const double variance = std::max(0.0, sum_of_squares / steps - result.seconds * result.seconds);
  result.sd = std::sqrt(variance) / result.seconds;
  return result;
}

}  // namespace prequel
