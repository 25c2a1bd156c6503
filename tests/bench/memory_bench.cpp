// Speed of the machine: one pass over memory, to relate the other cases to.

#include <benchmark/benchmark.h>

#include <vector>

namespace {

/// y += x over doubles that no cache holds: two streams read and one written. An item is a double.
void memory_pass(benchmark::State& state) {
  const std::size_t count = std::size_t{1} << 23;
  const std::vector<double> x(count, 1.0);
  std::vector<double> y(count, 2.0);
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) y[i] += x[i];
    benchmark::ClobberMemory();
  }
  const auto passes = static_cast<std::int64_t>(count) * state.iterations();
  state.SetItemsProcessed(passes);
  state.SetBytesProcessed(passes * static_cast<std::int64_t>(3 * sizeof(double)));
}
BENCHMARK(memory_pass)->Unit(benchmark::kMillisecond);

}  // namespace
