#pragma once

/// The answer to one plan: seconds per iteration, memory and utilisation, and where the time goes.

#include <optional>
#include <string>
#include <vector>

#include "models/layers/flops.hpp"
#include "models/memory/memory.hpp"
#include "sim/price/pricing.hpp"
#include "sim/step/breakdown.hpp"
#include "sim/step/uneven.hpp"

namespace prequel {

struct StagePrediction {
  std::int64_t blocks{};
  PartCounts parts;      ///< all that it holds, by kind
  double forward_s{};    ///< one micro batch, all chunks
  double backward_s{};   ///< with what is recomputed
  double recompute_s{};  ///< of backward_s, repeating the forward pass
  double busy_s{};       ///< of the iteration, without waiting and the optimizer
  Breakdown time;        ///< of the iteration; it adds up to it
  InFlight in_flight;    ///< (micro batch, chunk) pairs held at once
  StageMemory memory;    ///< as printed by nvidia-smi
};

struct Prediction {
  Seconds sec_per_iter;
  double relative_error{};  ///< of sec_per_iter, expected
  std::string error_basis;
  StepFlops flops;  ///< of the whole cluster, one iteration
  FlopsConvention convention{};
  FlopsPerSecond peak;  ///< of one device, in the plan's precision
  std::size_t slowest_stage{};
  std::size_t fullest_stage{};
  Breakdown breakdown;  ///< of the slowest stage
  HiddenTime hidden;    ///< of that stage
  std::vector<StagePrediction> stages;
  Bytes peak_memory;  ///< as printed by nvidia-smi on the fullest device
  MemoryVerdict verdict{};
  bool fits{true};                    ///< more probably than not
  std::optional<UnevenSteps> uneven;  ///< where sequences differ in length
  std::vector<std::string> warnings;

  [[nodiscard]] double model_flops_rate(const Plan& plan) const;     ///< FLOP/s of one device
  [[nodiscard]] double hardware_flops_rate(const Plan& plan) const;  ///< FLOP/s of one device
  /// Shares of the peak.
  [[nodiscard]] double mfu(const Plan& plan) const { return model_flops_rate(plan) / peak.value; }
  [[nodiscard]] double hfu(const Plan& plan) const {
    return hardware_flops_rate(plan) / peak.value;
  }
};

/// Returns the stage whose peak logs of the stack print.
std::size_t logged_stage(const Prediction& prediction, const MemoryStack& stack);
/// Returns what a log of the stack prints as that kind of figure: of the stage that it logs.
Bytes logged_memory(const Prediction& prediction, const MemoryStack& stack, MemoryKind kind);
/// Returns what the fullest device holds, as that kind of figure counts it.
Bytes memory_of(const Prediction& prediction, MemoryKind kind);

/// Plays one iteration with `layers` as `price_layers` priced them for this scenario, or for one
/// that differs only in what does not touch a layer (gbs, schedule, …).
Prediction predict(const Scenario& scenario, const LayerCosts& layers,
                   FlopsConvention convention = FlopsConvention::prequel);

/// FLOP of one iteration of the scenario, by the convention.
StepFlops step_flops(const Scenario& scenario, FlopsConvention convention);
/// `sec_per_iter` of that alone, for those who look at many plans.
Seconds iteration_time(const Scenario& scenario, const LayerCosts& layers);
/// Returns a lower bound of `iteration_time`, but for rounding, without playing the iteration.
Seconds least_iteration_time(const Scenario& scenario, const LayerCosts& layers);

/// Plays one iteration. Throws InputError for what is not modelled.
Prediction predict(const Scenario& scenario, FlopsConvention convention = FlopsConvention::prequel);

}  // namespace prequel
