#pragma once

/// The answer to one plan: seconds per iteration, memory and utilisation, and where the time goes.

#include <string>
#include <vector>

#include "models/layers/flops.hpp"
#include "models/memory/memory.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

/// Seconds of one iteration on the busiest stage; they add up to the iteration.
struct Breakdown {
  double compute{};
  double recompute{};
  double tp_comm{};
  double cp_comm{};
  double ep_comm{};  ///< dispatch of tokens to experts, and back
  double pp_comm{};  ///< transfers between stages that hold up the busiest stage
  double dp_comm{};  ///< exposed
  double bubble{};   ///< waiting for other stages
  double optimizer{};
  double host{};
  double other{};  ///< fixed time per iteration

  [[nodiscard]] double total() const {
    return compute + recompute + tp_comm + cp_comm + ep_comm + pp_comm + dp_comm + bubble +
           optimizer + host + other;
  }
};

struct StagePrediction {
  std::int64_t blocks{};
  PartCounts parts;                 ///< all that it holds, by kind
  double forward_s{};               ///< one micro batch, all chunks
  double backward_s{};              ///< with what is recomputed
  double recompute_s{};             ///< of backward_s, repeating the forward pass
  double busy_s{};                  ///< of the iteration, without waiting
  std::int64_t chunks_in_flight{};  ///< most (micro batch, chunk) pairs held at once
  StageMemory memory;               ///< as printed by nvidia-smi
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
  Breakdown breakdown;
  std::vector<StagePrediction> stages;
  Bytes peak_memory;  ///< as printed by nvidia-smi on the fullest device
  MemoryVerdict verdict{};
  std::vector<std::string> warnings;

  [[nodiscard]] double model_flops_rate(const Plan& plan) const;     ///< FLOP/s of one device
  [[nodiscard]] double hardware_flops_rate(const Plan& plan) const;  ///< FLOP/s of one device
};

/// Plays one iteration with `layers` as `price_layers` priced them for this scenario, or for one
/// that differs only in what does not touch a layer (gbs, schedule, …).
Prediction predict(const Scenario& scenario, const LayerCosts& layers,
                   FlopsConvention convention = FlopsConvention::prequel);

/// `sec_per_iter` of that alone, for those who look at many plans.
Seconds iteration_time(const Scenario& scenario, const LayerCosts& layers);
/// What that cannot be shorter than, but for rounding: found without playing the iteration.
Seconds least_iteration_time(const Scenario& scenario, const LayerCosts& layers);

/// Plays one iteration. Throws InputError for what is not modelled.
Prediction predict(const Scenario& scenario, FlopsConvention convention = FlopsConvention::prequel);

}  // namespace prequel
