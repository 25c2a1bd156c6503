// Reading training logs, as they come from a pipe.

#include <benchmark/benchmark.h>

#include <string>

#include <fmt/format.h>

#include "cli/import/logs/training_log.hpp"

namespace {

constexpr std::size_t kPiece = 1 << 16;

/// 64 MiB as several ranks print them: a line of an iteration and two that say nothing of use. An
/// item is an iteration.
void log_megatron(benchmark::State& state) {
  std::string log;
  std::int64_t iterations = 0;
  while (log.size() < (std::size_t{64} << 20)) {
    log += fmt::format(
        "[default7]: iteration {:8}/  115311 | consumed samples: {:12} | elapsed time per "
        "iteration "
        "(s): {:.2f} | learning rate: 6.000E-05 | global batch size:  2048 | lm loss: 2.1E+00 | "
        "grad norm: 0.204 | number of skipped iterations:   0 | samples per second: 17.055 | "
        "TFLOPs: 134.15 |\n"
        "[default7]:time (ms) | forward-compute: 43210.12 | backward-compute: 76543.21\n"
        "[default0]: > loading the next shard of the data\n",
        iterations + 1, 2048 * (iterations + 1), 120 + 0.01 * static_cast<double>(iterations % 7));
    ++iterations;
  }
  for ([[maybe_unused]] auto _ : state) {
    prequel::TrainingLogReader reader;
    for (std::size_t begin = 0; begin < log.size(); begin += kPiece) {
      reader.take(std::string_view(log).substr(begin, kPiece));
    }
    benchmark::DoNotOptimize(reader.finish().iteration_lines);
  }
  state.SetItemsProcessed(state.iterations() * iterations);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(log.size()));
}
BENCHMARK(log_megatron)->Name("log/megatron");

}  // namespace
