#include "sim/schedule/two_way.hpp"

#include <array>
#include <queue>
#include <utility>

namespace prequel {
namespace {

/// Collects the passes of one device.
class DeviceOrder {
 public:
  DeviceOrder(const PipelineShape& shape, std::uint32_t stage)
      : before_(stage), behind_(shape.stages - stage), micro_batches_(shape.micro_batches) {}

  StageOrder order() && {
    for (std::uint32_t i = 0; i < 2 * behind_ - 1; ++i) forward(0);
    for (std::uint32_t i = 0; i < before_; ++i) {
      forward(1);
      forward(0);
    }
    for (std::uint32_t i = 0; i < behind_; ++i) {
      forward(1);
      backward(1);
    }

    // Few micro batches do what the first of enough would.
    const std::uint32_t begun = before_ + 2 * behind_ - 1;
    const std::uint32_t full = 2 * (before_ + behind_) - 1;
    StageOrder order;
    if (micro_batches_ > full) {
      order.before = std::exchange(passes_, {});
      order.times = micro_batches_ - begun;
      each_of_all();
      order.unit = std::exchange(passes_, {});
    } else {
      for (std::uint32_t i = begun; i < full; ++i) each_of_all();
    }

    for (std::uint32_t i = 1; i < behind_; ++i) {
      backward(0);
      forward(1);
      backward(1);
    }
    for (std::uint32_t i = 0; i < before_; ++i) {
      input_gradient(0);
      input_gradient(1);
    }
    for (std::uint32_t i = 0; i < behind_; ++i) {
      input_gradient(0);
      weight_gradient();
    }
    for (std::uint32_t i = 0; i < 2 * before_; ++i) weight_gradient();
    order.after = std::move(passes_);
    return order;
  }

 private:
  void each_of_all() {
    forward(0);
    backward(0);
    forward(1);
    backward(1);
  }
  void backward(std::uint8_t chunk) {
    input_gradient(chunk);
    weight_gradient();
  }

  void forward(std::uint8_t chunk) { add({TaskKind::forward, chunk}, forwards_[chunk]++); }
  void input_gradient(std::uint8_t chunk) {
    weights_.push(gradients_[chunk]);
    add({TaskKind::input_gradient, chunk}, gradients_[chunk]++);
  }
  void weight_gradient() {
    add({TaskKind::weight_gradient, 0}, weights_.front());
    weights_.pop();
  }
  void add(StagePass pass, std::uint32_t micro_batch) {
    if (micro_batch < micro_batches_) passes_.push_back(pass);
  }

  std::uint32_t before_;  // devices
  std::uint32_t behind_;  // and this one
  std::uint32_t micro_batches_;
  std::array<std::uint32_t, 2> forwards_{}, gradients_{};  // so far, by chunk
  std::queue<std::uint32_t> weights_;                      // micro batches whose are yet to run
  std::vector<StagePass> passes_;
};

}  // namespace

StageOrders zb_v_orders(const PipelineShape& shape) {
  StageOrders orders;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(DeviceOrder(shape, stage).order());
  }
  return orders;
}

}  // namespace prequel
