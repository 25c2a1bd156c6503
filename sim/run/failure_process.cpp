#include "sim/run/failure_process.hpp"

#include <algorithm>

#include "sim/run/draws.hpp"

namespace prequel {
namespace {

constexpr double kLowestLayer = 0x1p-18;  // events a second: one in three days

/// Returns a gamma draw of `shape` and mean 1. G. Marsaglia and W. W. Tsang, ACM Transactions on
/// Mathematical Software 26(3), 2000; below shape 1 by their note 6: of shape + 1, times
/// u^(1/shape).
double gamma_of_mean_one(std::uint64_t key, double shape) {
  const double raised = shape < 1 ? shape + 1 : shape;
  const double d = raised - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint64_t attempt = 0;; attempt += 2) {
    const double x = draws::normal(draws::key(key, attempt));
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0) continue;
    const double u = draws::natural_log(draws::share(draws::key(key, attempt + 1)));
    if (u >= x * x / 2 + d - d * v + d * draws::natural_log(v)) continue;
    double value = d * v;
    if (shape < 1) {
      value *= draws::exponential_of(-draws::exponential(draws::key(key, ~0ULL)) / shape);
    }
    return value / shape;
  }
}

}  // namespace

PoissonProcess::PoissonProcess(std::uint64_t key, double rate) {
  rate_[0] = kLowestLayer;
  double below = 0, width = kLowestLayer;
  while (below + width < rate && layers_ < kMostLayers) {
    below += width;
    if (layers_ > 1) width *= 2;
    rate_[layers_++] = width;
  }
  kept_ = (rate - below) / rate_[layers_ - 1];
  std::fill_n(next_.begin(), layers_, 0.0);
  for (std::size_t layer = 0; layer < layers_; ++layer) {
    stream_[layer] = draws::key(key, layer);
    draw(layer);
  }
  find_first();
}

void PoissonProcess::draw(std::size_t layer) {
  if (layer + 1 == layers_ && !(kept_ > 0)) {
    next_[layer] = kNever;
    return;
  }
  while (true) {
    const std::uint64_t word = draws::key(stream_[layer], index_[layer]++);
    next_[layer] += draws::exponential(word) / rate_[layer];
    if (layer + 1 < layers_ || draws::share(draws::mixed(word)) < kept_) return;
  }
}

void PoissonProcess::find_first() {
  first_ = 0;
  for (std::size_t layer = 1; layer < layers_; ++layer) {
    if (next_[layer] < next_[first_]) first_ = layer;
  }
}

ChanceEvent PoissonProcess::pop() {
  const ChanceEvent event{next_[first_],
                          draws::key(stream_[first_], ~std::uint64_t{index_[first_]}), 0};
  draw(first_);
  find_first();
  return event;
}

UnlikeNodes::UnlikeNodes(std::uint64_t key, std::int64_t nodes, double rate, double shape,
                         double end)
    : key_(key), rate_(rate), shape_(shape), end_(end) {
  for (std::int64_t node = 0; node < nodes; ++node) add(node, 0, 0);
}

void UnlikeNodes::add(std::int64_t node, std::uint64_t generation, double now) {
  const std::uint64_t own =
      draws::key(draws::key(key_, static_cast<std::uint64_t>(node)), generation);
  const double hazard = rate_ * gamma_of_mean_one(own, shape_);
  if (!(hazard > 0)) return;
  const double time = now + draws::exponential(draws::mixed(own)) / hazard;
  if (!(time < end_)) return;
  clocks_.push_back({time, node, generation});
  std::ranges::push_heap(clocks_, std::greater{}, &Clock::time);
}

double UnlikeNodes::next() const {
  return clocks_.empty() ? kNever : clocks_.front().time;
}

ChanceEvent UnlikeNodes::pop() {
  std::ranges::pop_heap(clocks_, std::greater{}, &Clock::time);
  const Clock failed = clocks_.back();
  clocks_.pop_back();
  add(failed.node, failed.generation + 1, failed.time);
  const std::uint64_t own =
      draws::key(draws::key(key_, static_cast<std::uint64_t>(failed.node)), failed.generation);
  return {failed.time, draws::key(own, ~std::uint64_t{1}), failed.node};
}

}  // namespace prequel
