#pragma once

/// The key of a layer's price.

#include <cstdint>

#include "models/job/inputs.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"

namespace prequel {

/// All that the price of a layer depends on, besides model, device, cluster and stack. Groups
/// inside a node cost the same in any job; others depend on how many ranks there are.
struct LayerQuestion : LayerContent {
  std::int64_t mean_len{}, seen_len{};  ///< of rows, as in `mean_layer_setting`
  RankGroup tensor, context, expert, expert_tensor;
  std::int64_t gpus{};       ///< of the job; those of a node where all groups lie inside one
  bool staged_over_nodes{};  ///< in a pipeline that spans nodes
  WordSet<Overlapped> overlap;
  bool beside{};                ///< tokens are exchanged with experts beside another micro batch
  bool by_matrix{};             ///< the optimizer updates whole matrices (Muon)
  std::int64_t forward_only{};  ///< passes beside the one that learns

  /// With rows of the mean length.
  [[nodiscard]] LayerSetting mean() const {
    LayerSetting mean = setting;
    mean.seq_len = mean_len;
    mean.seen_len = seen_len;
    return mean;
  }
  /// Returns the ranks between which a layer's collectives of an axis run.
  [[nodiscard]] const RankGroup& group(GroupAxis axis) const {
    switch (axis) {
      case GroupAxis::context: return context;
      case GroupAxis::expert: return expert;
      case GroupAxis::expert_tensor: return expert_tensor;
      default: return tensor;
    }
  }
  [[nodiscard]] bool in_node(const Cluster& cluster) const {
    return gpus <= cluster.devices_per_node;
  }

  auto operator<=>(const LayerQuestion&) const = default;
};
LayerQuestion layer_question(const Plan& plan, const Cluster& cluster);

}  // namespace prequel
