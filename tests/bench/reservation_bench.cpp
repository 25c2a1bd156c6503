// How fast reservations are played.

#include <benchmark/benchmark.h>

#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"
#include "sim/run/expected_reservation.hpp"

namespace prequel {
namespace {

constexpr double kDay = 86400;

/// Nodes of a mature site, saved as often as is best, with a spare for each forty, and work for
/// nine tenths of the time that failures are expected to leave.
Reservation reserved(std::int64_t nodes, double days) {
  const Library library({PREQUEL_DATA_DIR});
  Reservation reservation;
  reservation.nodes = nodes;
  reservation.spares = nodes / 40;
  reservation.length = days * kDay;
  reservation.step_scale = 0.05;
  reservation.first_start = 300;
  reservation.reliability = read_site(library.open("sites", "mature")).reliability;
  reservation.saving = {0, 5, 60, 30};
  reservation.saving.interval =
      best_interval(reservation.saving, 1 / stop_rates(reservation).failures);
  reservation.work = 0.9 * reservation.length * expected_progress(reservation);
  return reservation;
}

/// A thousand replications on one core. An item is a replication.
void play_reservation(benchmark::State& state, std::int64_t nodes, double days) {
  const Reservation reservation = reserved(nodes, days);
  constexpr std::uint64_t kReplications = 1000;
  for ([[maybe_unused]] auto _ : state) {
    for (std::uint64_t i = 0; i < kReplications; ++i) {
      benchmark::DoNotOptimize(play(reservation, 1, i));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kReplications));
}
BENCHMARK_CAPTURE(play_reservation, 1024, 1024, 30)
    ->Name("run/reservation_1024")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(play_reservation, 12500, 12500, 100)
    ->Name("run/reservation_12500")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prequel
