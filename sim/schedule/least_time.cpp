#include "sim/schedule/least_time.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace prequel {
namespace {

/// What all micro batches take of a stage's compute stream on one of its chunks.
struct Passes {
  double all{};     ///< with what may come after the last gradient is handed on
  double before{};  ///< without it
};

class PipelineBound {
 public:
  PipelineBound(ScheduleKind kind, const PipelineShape& shape, const BlockTable& durations)
      : mirrored_(traits(kind).mirrored),
        split_(traits(kind).splits_backward),
        shape_(shape),
        last_(shape.stages - 1),
        durations_(durations),
        batches_(mirrored_ ? shape.micro_batches / 2 : shape.micro_batches),
        down_(shape.blocks()),
        up_(shape.blocks()) {
    add_ways();
  }

  [[nodiscard]] double seconds() const {
    double most = 0;
    for (std::uint32_t stage = 0; stage <= last_; ++stage) most = std::max(most, through(stage));
    return most;
  }

 private:
  struct Block {
    std::uint32_t stage{}, chunk{};
  };

  [[nodiscard]] double at(TaskKind kind, Block block) const {
    return durations_.at(kind, block.stage, block.chunk);
  }
  [[nodiscard]] std::size_t index(Block block) const {
    return block.chunk * shape_.stages + block.stage;
  }

  /// In the order in which activations pass them; of mirrored pipelines those of one direction.
  [[nodiscard]] Block block(std::uint32_t direction, std::uint32_t place) const {
    if (mirrored_) return {direction == 0 ? place : last_ - place, direction};
    return {place % shape_.stages, place / shape_.stages};
  }
  [[nodiscard]] std::uint32_t directions() const { return mirrored_ ? 2 : 1; }
  [[nodiscard]] std::uint32_t places() const { return mirrored_ ? shape_.stages : shape_.blocks(); }

  /// As buckets, where the pass of one micro batch runs as such.
  [[nodiscard]] double in_buckets(TaskKind bucket, TaskKind whole, Block block) const {
    return shape_.buckets > 0 ? shape_.buckets * at(bucket, block) : at(whole, block);
  }
  [[nodiscard]] double first_forward(Block block) const {
    return shape_.gathers ? in_buckets(TaskKind::forward_bucket, TaskKind::forward, block)
                          : at(TaskKind::forward, block);
  }
  [[nodiscard]] double last_backward(Block block) const {
    return in_buckets(TaskKind::backward_bucket, TaskKind::backward, block);
  }
  [[nodiscard]] double last_weights(Block block) const {
    return in_buckets(TaskKind::weight_gradient_bucket, TaskKind::weight_gradient, block);
  }

  /// A micro batch at least, until its gradient is there for the block before.
  [[nodiscard]] double gradient(Block block) const {
    const double whole = std::min(at(TaskKind::backward, block), last_backward(block));
    const double input = at(TaskKind::input_gradient, block);
    if (mirrored_) return std::min(whole, input);
    return split_ ? input : whole;
  }

  [[nodiscard]] Passes passes(Block block) const {
    const double forward = (batches_ - 1) * at(TaskKind::forward, block) + first_forward(block);
    const double whole = at(TaskKind::backward, block);
    const double input = at(TaskKind::input_gradient, block);
    const double weights = at(TaskKind::weight_gradient, block);
    if (mirrored_) {  // some micro batches so, some so
      const double last = std::min(last_backward(block), input + last_weights(block));
      return {forward + (batches_ - 1) * std::min(whole, input + weights) + last,
              forward + batches_ * gradient(block)};
    }
    if (split_) {
      const double before = forward + batches_ * input;
      return {before + (batches_ - 1) * weights + last_weights(block), before};
    }
    const double all = forward + (batches_ - 1) * whole + last_backward(block);
    return {all, all};
  }

  /// What blocking sends add to a stage's compute stream.
  [[nodiscard]] Passes sends(std::uint32_t direction, std::uint32_t place) const {
    if (shape_.sends == Sends::overlapped) return {};
    const Block from = block(direction, place);
    const double forward = place + 1 < places() ? at(TaskKind::send_forward, from) : 0;
    const double backward = place > 0 ? at(TaskKind::send_backward, from) : 0;
    // The last gradient's is part of the way up.
    return {batches_ * (forward + backward),
            mirrored_ ? 0 : batches_ * forward + (batches_ - 1) * backward};
  }

  /// From the first block down to each, and from each up to the end of the step.
  void add_ways() {
    for (std::uint32_t direction = 0; direction < directions(); ++direction) {
      double down = 0;
      double up = end(block(direction, 0).stage);
      for (std::uint32_t place = 0; place < places(); ++place) {
        const Block here = block(direction, place);
        if (place > 0) up += at(TaskKind::send_backward, here);
        down_[index(here)] = down;
        up_[index(here)] = up;
        down += std::min(at(TaskKind::forward, here), first_forward(here)) +
                at(TaskKind::send_forward, here);
        up += gradient(here);
      }
    }
  }

  /// After the last pass of a stage.
  [[nodiscard]] double end(std::uint32_t stage) const {
    const Block block{stage, 0};
    double seconds = at(TaskKind::optimizer, block);
    if (shape_.buckets > 0) return seconds;
    seconds += at(TaskKind::gradient_reduce, block);
    const bool is_end = last_ > 0 && (stage == 0 || stage == last_);
    return seconds + (is_end ? at(TaskKind::embedding_reduce, block) : 0);
  }

  /// Down to the stage, its passes, and the longer of its own end and the way up. Which chunk is
  /// its first and its last is not known: at least the shortest ways.
  [[nodiscard]] double through(std::uint32_t stage) const {
    double down = std::numeric_limits<double>::infinity();
    double up = down;
    Passes sum;
    const auto add = [&sum](Passes more) {
      sum.all += more.all;
      sum.before += more.before;
    };
    for (std::uint32_t chunk = 0; chunk < shape_.chunks; ++chunk) {
      const Block here{stage, chunk};
      down = std::min(down, down_[index(here)]);
      up = std::min(up, up_[index(here)]);
      add(passes(here));
      if (mirrored_) {
        add(sends(chunk, chunk == 0 ? stage : last_ - stage));
      } else {
        add(sends(0, chunk * shape_.stages + stage));
      }
    }
    return down + std::max(sum.all + end(stage), sum.before + up);
  }

  bool mirrored_;
  bool split_;
  const PipelineShape& shape_;
  std::uint32_t last_;
  const BlockTable& durations_;
  double batches_;  ///< that pass each chunk
  std::vector<double> down_, up_;
};

}  // namespace

double least_seconds(ScheduleKind kind, const PipelineShape& shape, const BlockTable& durations) {
  return PipelineBound(kind, shape, durations).seconds();
}

double least_seconds(const ShardedShape& shape, const ShardedTable& durations) {
  double computing = 0;
  double communicating = 0;
  for (std::uint32_t unit = 0; unit < shape.units(); ++unit) {
    computing +=
        durations.at(ShardedTask::forward, unit) + durations.at(ShardedTask::backward, unit);
    communicating += durations.at(ShardedTask::forward_gather, unit) +
                     durations.at(ShardedTask::reduce_scatter, unit);
    if (shape.reshard_after_forward && unit != shape.root()) {
      communicating += durations.at(ShardedTask::backward_gather, unit);
    }
  }
  return shape.micro_batches * std::max(computing, communicating) +
         durations.at(ShardedTask::optimizer, shape.root());
}

}  // namespace prequel
