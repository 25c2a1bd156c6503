// Every kernel of one rank per stage, one after the other. An item is a kernel.

#include <benchmark/benchmark.h>

#include <utility>

#include "sim/engine/clock.hpp"
#include "sim/price/pricing.hpp"
#include "sim/schedule/emit.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// A clock that plays each pass kernel by kernel, without skipping what repeats.
class KernelClock {
 public:
  using Token = Clock::Token;
  /// Kernels of a pass: places in the durations.
  using Pass = std::pair<PriceId, PriceId>;

  KernelClock(std::span<const double> durations, std::span<const Pass> passes, std::size_t streams)
      : clock_(durations, streams), passes_(passes) {}

  template <class... Tokens>
  Token run(StreamId stream, PriceId price, Label label, Tokens... after) {
    const auto [begin, end] = passes_[price];
    Token done = clock_.run(stream, begin, label, after...);
    for (PriceId kernel = begin + 1; kernel < end; ++kernel) {
      done = clock_.run(stream, kernel, label);
    }
    kernels_ += end - begin;
    return done;
  }
  [[nodiscard]] Token last(StreamId stream) const { return clock_.last(stream); }
  void begin_repeating() {}
  std::uint32_t skip(std::uint32_t /*remaining*/, std::span<Token> /*carried*/) { return 0; }

  [[nodiscard]] std::size_t kernels() const { return kernels_; }
  [[nodiscard]] double end() const { return clock_.end(); }

 private:
  Clock clock_;
  std::span<const Pass> passes_;
  std::size_t kernels_{};
};

/// The durations of all kernels, and those of each kind of pass on each of `shape`'s stages.
class KernelTable {
 public:
  KernelTable(const PipelineShape& shape, const LayerKernels& kernels, std::size_t layers)
      : passes_(std::size_t{kTaskKinds} * shape.blocks()) {
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      add(TaskKind::forward, stage, shape, kernels[Part::first_block].forward, layers);
      add(TaskKind::backward, stage, shape, kernels[Part::first_block].backward, layers);
      for (const TaskKind send : {TaskKind::send_forward, TaskKind::send_backward}) {
        add(send, stage, shape, {{"send", 0.002}}, 1);
      }
    }
  }

  [[nodiscard]] std::span<const double> durations() const { return durations_; }
  [[nodiscard]] std::span<const KernelClock::Pass> passes() const { return passes_; }

 private:
  void add(TaskKind kind, std::uint32_t stage, const PipelineShape& shape,
           const KernelCosts& kernels, std::size_t times) {
    const auto begin = static_cast<PriceId>(durations_.size());
    for (std::size_t i = 0; i < times; ++i) {
      for (const KernelCost& kernel : kernels) durations_.push_back(kernel.seconds);
    }
    passes_[BlockTable::price(kind, stage, shape.blocks())] = {
        begin, static_cast<PriceId>(durations_.size())};
  }

  std::vector<double> durations_;
  std::vector<KernelClock::Pass> passes_;
};

void kernels_of_stages(benchmark::State& state) {
  const Scenario scenario = shipped_scenario();
  // The 70-layer model on 384 GPUs with dp 4, tp 8, pp 12, mbs 1 and gbs 2048.
  PipelineShape shape;
  shape.stages = 12;
  shape.micro_batches = 512;
  const KernelTable table(
      shape, price_kernels(layer_question(scenario.plan, scenario.cluster), scenario), 6);
  std::size_t kernels = 0;
  for ([[maybe_unused]] auto _ : state) {
    KernelClock clock(table.durations(), table.passes(), stream_count(shape));
    emit_pipeline(Schedule::one_f_one_b, shape, clock);
    benchmark::DoNotOptimize(clock.end());
    kernels = clock.kernels();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kernels));
  state.counters["kernels"] = static_cast<double>(kernels);
}
BENCHMARK(kernels_of_stages)->Name("kernels/176b_stages")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prequel
