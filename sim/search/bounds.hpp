#pragma once

/// Times that plans of a search cannot be below, found without pricing what lies between layers.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "sim/price/pricing.hpp"
#include "sim/search/space.hpp"

namespace prequel {

/// The least of every price of both, part by part.
LayerCosts least_of(const LayerCosts& a, const LayerCosts& b);

/// Bounds by the passes over layers alone: transfers, reductions and the optimizer take nothing.
/// Stages' contents are dealt once for all plans that deal alike.
class PassBounds {
 public:
  explicit PassBounds(const SearchInputs& inputs) : inputs_(inputs) {}

  /// Returns a lower bound of the iteration time of `scenario` where its layers cost `layers` or
  /// more.
  [[nodiscard]] Seconds least_time(const Scenario& scenario, const LayerCosts& layers);

 private:
  using Dealing = std::vector<StageContent>;
  /// Layers of the model, pp, vpp, layout, stage_split.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, StageSplit>;

  [[nodiscard]] std::shared_ptr<const Dealing> dealt(const Scenario& scenario);

  const SearchInputs& inputs_;
  std::mutex lock_;
  std::map<Key, std::shared_ptr<const Dealing>> dealt_;
};

}  // namespace prequel
