#include "sim/schedule/two_way.hpp"

#include <algorithm>
#include <utility>

namespace prequel {
namespace {

/// Collects the passes of one device. `near` is the direction that enters at the nearer end of the
/// pipeline, `half` devices from its middle, and `far` the other.
class DirectionsOrder {
 public:
  /// `depth` devices are between this one and the nearer end; `micro_batches` are of each
  /// direction.
  DirectionsOrder(std::uint32_t half, std::uint32_t depth, std::uint32_t micro_batches,
                  std::uint8_t near)
      : half_(half),
        depth_(depth),
        micro_batches_(micro_batches),
        near_(near),
        far_(static_cast<std::uint8_t>(1 - near)) {}

  StageOrder order() && {
    const std::uint32_t to_middle = half_ - 1 - depth_;
    for (std::uint32_t i = 0; i < 2 * to_middle; ++i) forward(near_);
    for (std::uint32_t i = 0; i <= depth_; ++i) {
      forward(near_);
      forward(far_);
    }
    for (std::uint32_t i = 0; i < to_middle; ++i) {
      split_backward(far_);
      weights();
      forward(far_);
    }
    // The two middle devices begin without overlap, which shortens the way in.
    if (to_middle == 0) {
      forward(near_);
      backward(far_);
    } else {
      overlapped(near_, far_);
    }
    overlapped(far_, near_);
    StageOrder order{std::exchange(passes_, {}), {}, {}, micro_batches_ - 2 * half_ + depth_};

    overlapped(near_, far_);
    overlapped(far_, near_);
    order.unit = std::exchange(passes_, {});

    for (std::uint32_t i = 0; i < to_middle; ++i) {
      backward(far_);
      overlapped(far_, near_);
    }
    // From the middle of the last backwards on, weights wait, to fill the way out.
    const std::uint32_t last_backwards = 2 * (depth_ + 1);
    for (std::uint32_t i = 0; i < last_backwards; ++i) {
      const std::uint8_t direction = i % 2 == 0 ? far_ : near_;
      if (i < depth_ + 1) {
        backward(direction);
      } else {
        split_backward(direction);
      }
    }
    for (std::uint32_t i = 0; i < to_middle; ++i) {
      weights();
      split_backward(near_);
    }
    for (std::uint32_t i = 0; i <= depth_; ++i) weights();
    order.after = std::move(passes_);
    return order;
  }

 private:
  void forward(std::uint8_t chunk) { passes_.push_back({TaskKind::forward, chunk}); }
  void overlapped(std::uint8_t forward_chunk, std::uint8_t backward_chunk) {
    passes_.push_back({TaskKind::forward, forward_chunk, true});
    backward(backward_chunk);
  }
  void backward(std::uint8_t chunk) { passes_.push_back({TaskKind::backward, chunk}); }
  void split_backward(std::uint8_t chunk) { passes_.push_back({TaskKind::input_gradient, chunk}); }
  void weights() { passes_.push_back({TaskKind::weight_gradient, 0}); }

  std::uint32_t half_;
  std::uint32_t depth_;
  std::uint32_t micro_batches_;
  std::uint8_t near_;
  std::uint8_t far_;
  std::vector<StagePass> passes_;
};

}  // namespace

StageOrders dualpipe_orders(const PipelineShape& shape) {
  const std::uint32_t half = shape.stages / 2;
  StageOrders orders;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    const std::uint32_t depth = std::min(stage, shape.stages - 1 - stage);
    const std::uint8_t near = stage < half ? 0 : 1;
    orders.push_back(DirectionsOrder(half, depth, shape.micro_batches / 2, near).order());
  }
  return orders;
}

StageOrders dualpipe_v_orders(const PipelineShape& shape) {
  StageOrders orders;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(DirectionsOrder(shape.stages, stage, shape.micro_batches, 0).order());
  }
  return orders;
}

}  // namespace prequel
