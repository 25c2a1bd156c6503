#pragma once

/// A global batch size that grows during training (Megatron's --rampup-batch-size): what each size
/// takes on one layout, and which micro batch suits it.

#include <cstdint>
#include <optional>
#include <vector>

#include "models/job/library.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {

/// Global batch sizes `first`, `first` + `increment`, …, `last`, in sequences.
struct BatchRamp {
  std::int64_t first{1}, last{1}, increment{1};

  [[nodiscard]] std::int64_t increments() const { return (last - first) / increment; }
};

/// One iteration of some batch size.
struct BatchTime {
  std::int64_t mbs{};
  std::int64_t micro_batches{};
  Seconds sec_per_iter;
  double bubble{};  ///< s, on the busiest stage
};

struct BatchPoint {
  std::int64_t gbs{};
  std::optional<BatchTime> planned;  ///< with the plan's micro batch; empty: it does not divide
  std::optional<BatchTime> fastest;  ///< with the best micro batch that fits; empty: none does
};

/// From `gbs` on, micro batches of `mbs` are the fastest.
struct MicroBatchSwitch {
  std::int64_t gbs{}, mbs{};
};

struct RampCurve {
  std::vector<BatchPoint> points;          ///< one a batch size, ascending
  std::optional<std::int64_t> first_full;  ///< gbs from which all stages work at the same time
  std::vector<MicroBatchSwitch> switches;  ///< ascending in both
};

/// Plays each size of `ramp` on the layout of `plan` (that of `job`, resolved), with the plan's
/// micro batch and, as others, powers of two. Fastest are those whose memory is not tight.
RampCurve ramp_curve(const Job& job, const Plan& plan, const BatchRamp& ramp);

/// Returns, for each micro batch that is ever the fastest, the batch size from which it beats all
/// smaller ones wherever it divides; `points` ascend, each size is dealt out to `dp` replicas.
std::vector<MicroBatchSwitch> micro_batch_switches(const std::vector<BatchPoint>& points,
                                                   std::int64_t dp);

}  // namespace prequel
