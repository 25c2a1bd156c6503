#include "sim/schedule/least_time.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace prequel {
namespace {

/// What all micro batches take of a stage's compute stream on one of its chunks.
struct PassSeconds {
  double all{};     ///< with what may come after the last gradient is handed on
  double before{};  ///< without it
};

class PipelineBound {
 public:
  PipelineBound(Schedule kind, const PipelineShape& shape, const BlockTable& durations)
      : mirrored_(traits(kind).mirrored),
        folded_(traits(kind).folded),
        staggered_(kind == Schedule::zb_2p),
        split_(traits(kind).splits_backward),
        split_at_ends_(traits(kind).pairs),
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
    if (folded_ && place > last_) return {2 * last_ + 1 - place, 1};
    return {place % shape_.stages, place / shape_.stages};
  }
  [[nodiscard]] std::uint32_t directions() const { return mirrored_ ? 2 : 1; }
  [[nodiscard]] std::uint32_t places() const { return mirrored_ ? shape_.stages : shape_.blocks(); }
  [[nodiscard]] std::uint32_t place(Block block) const {
    if (mirrored_) return block.chunk == 0 ? block.stage : last_ - block.stage;
    if (folded_ && block.chunk == 1) return 2 * last_ + 1 - block.stage;
    return static_cast<std::uint32_t>(index(block));
  }

  /// Which passes run side by side is not known: each as short as it can be.
  [[nodiscard]] double shorter(TaskKind alone, TaskKind beside, Block block) const {
    const double seconds = at(alone, block);
    return shape_.exchanges == Exchanges::beside ? std::min(seconds, at(beside, block)) : seconds;
  }
  [[nodiscard]] double forward(Block block) const {
    if (in_every_micro_batch(shape_.gathers)) {
      return shape_.buckets * at(TaskKind::forward_bucket, block);
    }
    return shorter(TaskKind::forward, TaskKind::forward_beside, block);
  }
  [[nodiscard]] double backward(Block block) const {
    if (in_every_micro_batch(shape_.gathers) || shape_.reduces_each) {
      return shape_.buckets * at(TaskKind::backward_bucket, block);
    }
    return shorter(TaskKind::backward, TaskKind::backward_beside, block);
  }

  /// As buckets, where the pass of one micro batch runs as such.
  [[nodiscard]] double in_buckets(TaskKind bucket, double whole, Block block) const {
    return shape_.buckets > 0 ? shape_.buckets * at(bucket, block) : whole;
  }
  [[nodiscard]] double first_forward(Block block) const {
    const double whole = forward(block);
    return shape_.gathers != Gathers::never ? in_buckets(TaskKind::forward_bucket, whole, block)
                                            : whole;
  }
  [[nodiscard]] double last_backward(Block block) const {
    return in_buckets(TaskKind::backward_bucket, backward(block), block);
  }
  [[nodiscard]] double last_weights(Block block) const {
    return in_buckets(TaskKind::weight_gradient_bucket, at(TaskKind::weight_gradient, block),
                      block);
  }

  /// A micro batch at least, until its gradient is there for the block before.
  [[nodiscard]] double gradient(Block block) const {
    const double whole = std::min(backward(block), last_backward(block));
    const double input = at(TaskKind::input_gradient, block);
    if (split_at_ends_) return std::min(whole, input);
    return split_ ? input : whole;
  }

  [[nodiscard]] PassSeconds passes(Block block) const {
    const double forwards = (batches_ - 1) * forward(block) + first_forward(block);
    const double whole = backward(block);
    const double input = at(TaskKind::input_gradient, block);
    const double weights =
        shape_.reduces_each ? last_weights(block) : at(TaskKind::weight_gradient, block);
    if (split_at_ends_) {  // some micro batches so, some so
      const double last = std::min(last_backward(block), input + last_weights(block));
      return {forwards + (batches_ - 1) * std::min(whole, input + weights) + last,
              forwards + batches_ * gradient(block)};
    }
    if (split_) {
      const double before = forwards + batches_ * input;
      return {before + (batches_ - 1) * weights + last_weights(block), before};
    }
    const double all = forwards + (batches_ - 1) * whole + last_backward(block);
    return {all, all};
  }

  /// From the block in a place to the next, and to the one before: nothing where both are on one
  /// device, as a V turns.
  [[nodiscard]] double send_down(Block from, std::uint32_t place) const {
    const bool stays = place + 1 == places() || (folded_ && place == last_);
    return stays ? 0 : at(TaskKind::send_forward, from);
  }
  [[nodiscard]] double send_up(Block from, std::uint32_t place) const {
    const bool stays = place == 0 || (folded_ && place == last_ + 1);
    return stays ? 0 : at(TaskKind::send_backward, from);
  }

  /// What blocking sends add to a stage's compute stream.
  [[nodiscard]] PassSeconds sends(std::uint32_t direction, std::uint32_t place) const {
    if (shape_.sends == Sends::overlapped) return {};
    const Block from = block(direction, place);
    const double down = send_down(from, place);
    const double up = send_up(from, place);
    // The last gradient's is part of the way up.
    return {batches_ * (down + up), mirrored_ ? 0 : batches_ * down + (batches_ - 1) * up};
  }

  /// From the first block down to each, and from each up to the end of the step.
  void add_ways() {
    for (std::uint32_t direction = 0; direction < directions(); ++direction) {
      double down = 0;
      double up = end(block(direction, 0).stage);
      for (std::uint32_t place = 0; place < places(); ++place) {
        const Block here = block(direction, place);
        up += send_up(here, place);
        down_[index(here)] = down;
        up_[index(here)] = up;
        down += std::min(forward(here), first_forward(here)) + send_down(here, place);
        up += gradient(here);
      }
    }
  }

  /// After the last pass of a stage.
  [[nodiscard]] double end(std::uint32_t stage) const {
    const Block block{stage, 0};
    double seconds = at(TaskKind::optimizer, block);
    if (shape_.gathers_at_end) seconds += at(TaskKind::gather_updates, block);
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
    PassSeconds sum;
    const auto add = [&sum](PassSeconds more) {
      sum.all += more.all;
      sum.before += more.before;
    };
    for (std::uint32_t chunk = 0; chunk < shape_.chunks; ++chunk) {
      const Block here{stage, chunk};
      down = std::min(down, down_[index(here)]);
      up = std::min(up, up_[index(here)]);
      add(passes(here));
      add(sends(mirrored_ ? chunk : 0, place(here)));
    }
    if (staggered_) return sum.all + end(stage);
    return down + std::max(sum.all + end(stage), sum.before + up);
  }

  bool mirrored_;
  bool folded_;
  bool staggered_;      ///< stages do not wait for each other
  bool split_;          ///< each backward
  bool split_at_ends_;  ///< some
  const PipelineShape& shape_;
  std::uint32_t last_;
  const BlockTable& durations_;
  double batches_;  ///< that pass each chunk
  std::vector<double> down_, up_;
};

double longer_stream(const PipelineShape& shape, const BlockTable& durations) {
  double computing = 0;
  double communicating = 0;
  for (std::uint32_t unit = 0; unit < shape.chunks; ++unit) {
    const auto at = [&](TaskKind kind) { return durations.at(kind, 0, unit); };
    computing += at(TaskKind::forward) + at(TaskKind::backward);
    communicating += at(TaskKind::parameter_gather) + at(TaskKind::gradient_reduce);
    const bool is_root = unit + 1 == shape.chunks;
    if (shape.gathers == Gathers::each_pass && !is_root) {
      communicating += at(TaskKind::backward_gather);
    }
  }
  return shape.micro_batches * std::max(computing, communicating) +
         durations.at(TaskKind::optimizer, 0);
}

}  // namespace

double least_seconds(Schedule kind, const PipelineShape& shape, const BlockTable& durations) {
  if (shape.is_layer_by_layer()) return longer_stream(shape, durations);
  return PipelineBound(kind, shape, durations).seconds();
}

}  // namespace prequel
