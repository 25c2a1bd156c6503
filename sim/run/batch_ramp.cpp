#include "sim/run/batch_ramp.hpp"

#include <algorithm>
#include <set>

#include "hw/base/errors.hpp"
#include "hw/base/parallel.hpp"

namespace prequel {
namespace {

/// A micro batch size played; `roomy` when its memory is not tight.
struct Played {
  BatchTime time;
  bool roomy{};
};

/// Nothing where the framework refuses the sizes.
std::optional<Played> play(const Job& job, std::int64_t dp, std::int64_t gbs, std::int64_t mbs) {
  if (gbs % (dp * mbs) != 0) return std::nullopt;
  PlanRequest request = job.plan;
  request.gbs = gbs;
  request.mbs = mbs;
  try {
    const Scenario scenario = resolve(job, request).scenario;
    const Prediction prediction = predict(scenario);
    return Played{
        {mbs, scenario.plan.micro_batches(), prediction.sec_per_iter, prediction.breakdown.bubble},
        prediction.verdict == MemoryVerdict::fits};
  } catch (const InputError&) {  // the schedule wants other counts of micro batches
    return std::nullopt;
  }
}

BatchPoint batch_point(const Job& job, const Plan& plan, std::int64_t gbs) {
  BatchPoint point;
  point.gbs = gbs;
  const auto better = [&](const BatchTime& time) {
    return !point.fastest || time.sec_per_iter < point.fastest->sec_per_iter;
  };
  if (const auto planned = play(job, plan.dp, gbs, plan.mbs)) {
    point.planned = planned->time;
    if (planned->roomy) point.fastest = planned->time;
  }
  for (std::int64_t mbs = 1; mbs * plan.dp <= gbs; mbs *= 2) {
    if (mbs == plan.mbs) continue;
    const auto played = play(job, plan.dp, gbs, mbs);
    if (!played) continue;
    if (!played->roomy) break;  // larger ones take more
    if (better(played->time)) point.fastest = played->time;
  }
  return point;
}

}  // namespace

std::vector<MicroBatchSwitch> micro_batch_switches(const std::vector<BatchPoint>& points,
                                                   std::int64_t dp) {
  std::set<std::int64_t> sizes;
  for (const BatchPoint& point : points) {
    if (point.fastest) sizes.insert(point.fastest->mbs);
  }
  std::vector<MicroBatchSwitch> switches;
  for (const std::int64_t mbs : sizes) {
    std::optional<std::int64_t> from;
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      if (!point->fastest || point->gbs % (dp * mbs) != 0) continue;
      if (point->fastest->mbs < mbs) break;
      from = point->gbs;
    }
    if (!from) continue;
    while (!switches.empty() && switches.back().gbs >= *from) switches.pop_back();
    switches.push_back({*from, mbs});
  }
  return switches;
}

RampCurve ramp_curve(const Job& job, const Plan& plan, const BatchRamp& ramp) {
  RampCurve curve;
  curve.points.resize(static_cast<std::size_t>(ramp.increments()) + 1);
  parallel_for(curve.points.size(), [&](std::size_t index) {
    const std::int64_t gbs = ramp.first + static_cast<std::int64_t>(index) * ramp.increment;
    curve.points[index] = batch_point(job, plan, gbs);
  });
  const auto full = std::ranges::find_if(curve.points, [&](const BatchPoint& point) {
    return point.planned && point.planned->micro_batches >= plan.pp;
  });
  if (full != curve.points.end()) curve.first_full = full->gbs;
  curve.switches = micro_batch_switches(curve.points, plan.dp);
  return curve;
}

}  // namespace prequel
