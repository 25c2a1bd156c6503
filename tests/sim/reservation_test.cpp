#include "sim/run/reservation.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "sim/run/checkpointing.hpp"
#include "sim/run/draws.hpp"
#include "sim/run/expected_reservation.hpp"
#include "sim/run/failure_process.hpp"
#include "sim/run/replications.hpp"

namespace prequel {
namespace {

constexpr double kHour = 3600, kDay = 24 * kHour;
constexpr double kEndless = std::numeric_limits<double>::infinity();

/// Nothing fails, nothing is unknown: ten days of work, saved every half hour.
Reservation quiet() {
  Reservation reservation;
  reservation.nodes = 64;
  reservation.work = 10 * kDay;
  reservation.length = kEndless;
  reservation.saving = {1800, 60, 0, 0};
  return reservation;
}

/// As it comes, with what a mature site loses.
Reservation usual(std::int64_t nodes) {
  Reservation reservation = quiet();
  reservation.nodes = nodes;
  reservation.length = 30 * kDay;
  reservation.work = 27 * kDay;
  reservation.spares = nodes / 20;
  reservation.step_scale = 0.05;
  reservation.first_start = 300;
  reservation.saving = {1800, 5, 60, 30};
  Reliability& rates = reservation.reliability;
  rates.node_failures = 4.5e-3 / kDay;
  rates.rate_sigma = 0.5;
  rates.job_failures = 0.3;
  rates.least_job_failures = 0.15 / kDay;
  rates.hang_share = 0.12;
  rates.watchdog = 600;
  rates.planned_stops = 4e-4 / kDay;
  rates.silent_corruption = 5e-5 / kDay;
  rates.corruption_latency = kHour;
  rates.fail_slow = 1e-3 / kDay;
  rates.slowdown_low = 0.05;
  rates.slowdown_high = 0.3;
  rates.slow_median = 1800;
  rates.slow_p90 = 8 * kHour;
  rates.slow_longest = 10 * kHour;
  rates.restart = 480;
  rates.restart_sigma = 0.7;
  rates.detect = 180;
  rates.unattended = 6 * kHour;
  rates.repair = 2 * kDay;
  return reservation;
}

double lost(const Replication& outcome) {
  return std::accumulate(outcome.lost.begin(), outcome.lost.end(), 0.0);
}

TEST_CASE("draws need no libm: logarithm, exponential and normal quantile agree with it") {
  for (int i = 1; i < 2000; ++i) {
    const double x = std::pow(1.07, i - 900);
    CHECK(draws::natural_log(x) == doctest::Approx(std::log(x)).epsilon(1e-14));
    const double y = (i - 1000) * 0.35;
    CHECK(draws::exponential_of(y) == doctest::Approx(std::exp(y)).epsilon(1e-13));
    const double share = i / 2000.0;
    CHECK(std::erfc(-draws::normal_quantile(share) / std::sqrt(2.0)) / 2 ==
          doctest::Approx(share).epsilon(1e-13));
  }
}

TEST_CASE("without failures a run takes its work and what saving it takes, to the second") {
  const Reservation reservation = quiet();
  const Replication outcome = play(reservation, 1, 0);
  CHECK(outcome.finished == doctest::Approx(10 * kDay + 480 * 60).epsilon(1e-12));
  CHECK(outcome.productive == doctest::Approx(10 * kDay).epsilon(1e-12));
  CHECK(outcome.stops == 0);
}

TEST_CASE("without failures a write that outlasts its interval is what a run waits for") {
  Reservation reservation = quiet();
  reservation.saving = {1800, 5, 2400, 0};
  const Replication outcome = play(reservation, 1, 0);
  // The first checkpoint finds nothing under way.
  CHECK(outcome.finished == doctest::Approx(1805 + 479 * 2405.0).epsilon(1e-12));
}

TEST_CASE("productive time and all losses add up to what has passed") {
  for (const std::int64_t nodes : {16, 512}) {
    for (const WithoutSpare without : {WithoutSpare::wait, WithoutSpare::shrink}) {
      Reservation reservation = usual(nodes);
      reservation.spares = 1;
      reservation.without_spare = without;
      reservation.replicas = 8;
      reservation.micro_batches = 12;
      reservation.walltime = kDay;
      reservation.queue = kHour;
      reservation.evaluation_share = 0.02;
      reservation.reliability.unattended_share = 0.15;
      for (std::uint64_t i = 0; i < 50; ++i) {
        const Replication outcome = play(reservation, 7, i);
        CHECK(outcome.productive + lost(outcome) == doctest::Approx(outcome.elapsed).epsilon(1e-9));
        CHECK(outcome.elapsed <= reservation.length);
        for (const double seconds : outcome.lost) CHECK(seconds >= 0);
      }
    }
  }
}

TEST_CASE("where failures are alike and saving is synchronous, Daly's expectation is the mean") {
  Reservation reservation = quiet();
  reservation.saving = {1000, 100, 0, 0};
  reservation.work = 100000;
  reservation.reliability.node_failures = 1.0 / 3000 / 64;
  reservation.reliability.restart = 200;
  std::vector<double> times;
  for (std::uint64_t i = 0; i < 10000; ++i) times.push_back(play(reservation, 3, i).finished);
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / 10000;
  double squares = 0;
  for (const double time : times) squares += (time - mean) * (time - mean);
  const double error = std::sqrt(squares) / 10000;
  const double daly = expected_time({100000}, {1000}, {{3000}, {100}, {200}}).value;
  CHECK(std::abs(mean - daly) < 3 * error);
  CHECK(expected_stretch(reservation.saving, 3000, 200) == doctest::Approx(daly / 100000));
}

TEST_CASE("saving beside training is worth to first order what its closed form says") {
  Reservation reservation = quiet();
  reservation.work = 60 * kDay;
  reservation.saving = {3600, 10, 600, 0};
  reservation.reliability.node_failures = 1.0 / kDay / 64;
  reservation.reliability.restart = 600;
  const PlayedReservation played = replications(reservation, {2000, 5, {}, 0, {}});
  const double lost_to_failures = (600 + 1800 + 600) / kDay;
  CHECK(played.mean_ettr == doctest::Approx((1 - lost_to_failures) * 3600 / 3610).epsilon(0.003));
  CHECK(played.mean_ettr ==
        doctest::Approx(1 / expected_stretch(reservation.saving, kDay, 600)).epsilon(0.002));
}

TEST_CASE("the closed form of a whole reservation is the play's mean") {
  for (const std::int64_t nodes : {64, 1024}) {
    Reservation reservation = usual(nodes);
    reservation.length = kEndless;
    reservation.spares = nodes;
    reservation.step_scale = 0;
    reservation.first_start = 0;
    reservation.reliability.rate_sigma = 0;
    reservation.saving.interval = 900;
    const PlayedReservation played = replications(reservation, {400, 5, {}, 0, {}});
    CHECK(played.mean_ettr == doctest::Approx(expected_ettr(reservation)).epsilon(0.006));
  }
}

TEST_CASE("the same seed plays the same, whatever else is played") {
  const Reservation reservation = usual(256);
  const Replication once = play(reservation, 11, 4);
  (void)play(reservation, 12, 9);
  const Replication again = play(reservation, 11, 4);
  CHECK(once.finished == again.finished);
  CHECK(once.lost == again.lost);
  CHECK(play(reservation, 12, 4).lost != once.lost);
  // Bits that no machine may change.
  CHECK(draws::key(1, 2) == 16171810823986729605ULL);
}

TEST_CASE("a process of a higher rate has all events of a lower one, and as many as it should") {
  const std::uint64_t key = draws::mixed(5);
  constexpr double kEnd = 1e7;
  std::vector<double> few, many;
  for (PoissonProcess process(key, 2e-4); process.next() < kEnd;) few.push_back(process.pop().time);
  for (PoissonProcess process(key, 5e-4); process.next() < kEnd;) {
    many.push_back(process.pop().time);
  }
  CHECK(std::ranges::includes(many, few));
  CHECK(few.size() == doctest::Approx(2000).epsilon(3 / std::sqrt(2000)));
  CHECK(many.size() == doctest::Approx(5000).epsilon(3 / std::sqrt(5000)));
  CHECK(PoissonProcess(key, 0).next() == kEndless);
}

TEST_CASE("in every replication, what fails more often ends no sooner") {
  Reservation reservation = usual(256);
  reservation.length = kEndless;
  reservation.spares = 256;
  reservation.reliability.silent_corruption = 0;  // a failure may undo one unseen
  reservation.reliability.planned_stops = 0;      // saves what a later failure would lose
  using Rate = double Reliability::*;
  for (const Rate rate :
       {&Reliability::node_failures, &Reliability::job_failures, &Reliability::fail_slow}) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      double before = 0;
      for (const double factor : {0.0, 0.5, 1.0, 3.0}) {
        Reservation other = reservation;
        other.reliability.*rate *= factor;
        const double finished = play(other, 2, i).finished;
        CHECK(finished >= before * (1 - 1e-9));
        before = finished;
      }
    }
  }
}

TEST_CASE("in the median, more of any stop ends no sooner and leaves fewer tokens") {
  using Rate = double Reliability::*;
  for (const Rate rate :
       {&Reliability::node_failures, &Reliability::job_failures, &Reliability::planned_stops,
        &Reliability::silent_corruption, &Reliability::fail_slow, &Reliability::restart}) {
    Reservation reservation = usual(512);
    double before = 0;
    for (const double factor : {0.25, 1.0, 4.0}) {
      Reservation other = reservation;
      other.reliability.*rate *= factor;
      const double days = replications(other, {300, 2, {}, 0, {}}).finished.p50;
      CHECK(days > before);
      before = days;
    }
  }
}

TEST_CASE("saving beside training never ends later than standing still for the whole write") {
  Reservation sync = usual(256);
  sync.length = kEndless;
  sync.reliability.silent_corruption = 0;
  sync.reliability.planned_stops = 0;
  Reservation async = sync;
  sync.saving = {1800, 90, 0, 0};
  async.saving = {1800, 10, 80, 0};
  for (std::uint64_t i = 0; i < 200; ++i) {
    CHECK(play(async, 2, i).finished <= play(sync, 2, i).finished * (1 + 1e-9));
  }
}

TEST_CASE("nodes in repair are a Poisson number: the share of time that lacks one is its tail") {
  Reservation reservation = quiet();
  reservation.reliability.node_failures = 5e-3 / kDay;
  reservation.reliability.repair = 2 * kDay;
  const auto needed = [&](std::int64_t nodes) {
    reservation.nodes = nodes;
    return spares_for(reservation, 0.01);
  };
  CHECK(needed(16) == 2);
  CHECK(needed(64) == 3);
  CHECK(needed(256) == 7);
  CHECK(needed(1024) == 18);
  CHECK(needed(2048) == 32);
  reservation.nodes = 256;
  reservation.spares = 4;
  reservation.work = 3000 * kDay;
  reservation.reliability.restart = 1e-3;
  const PlayedReservation played = replications(reservation, {40, 1, {}, 0, {}});
  const double waiting =
      played.lost[static_cast<std::size_t>(Loss::waiting_for_spares)] / played.mean_finished;
  CHECK(waiting == doctest::Approx(chance_of_lacking(reservation)).epsilon(0.05));
}

TEST_CASE("spares of other domains do not help") {
  Reservation reservation = usual(144);
  reservation.spares = 8;
  const double one_pool = chance_of_lacking(reservation);
  reservation.domains = 8;
  CHECK(chance_of_lacking(reservation) > 5 * one_pool);
  const PlayedReservation apart = replications(reservation, {200, 1, {}, 0, {}});
  reservation.domains = 1;
  const PlayedReservation together = replications(reservation, {200, 1, {}, 0, {}});
  constexpr auto kWaiting = static_cast<std::size_t>(Loss::waiting_for_spares);
  CHECK(apart.lost[kWaiting] > 2 * together.lost[kWaiting]);
}

TEST_CASE("who goes on with fewer replicas loses less than who waits, and who stops loses all") {
  Reservation reservation = usual(128);
  reservation.spares = 0;
  reservation.replicas = 32;
  reservation.micro_batches = 31;
  const auto median = [&](WithoutSpare without) {
    reservation.without_spare = without;
    return replications(reservation, {200, 1, {}, 0, {}}).tokens.p50;
  };
  const double waits = median(WithoutSpare::wait);
  CHECK(median(WithoutSpare::shrink) > waits);
  CHECK(median(WithoutSpare::stop) < 0.6 * waits);
}

TEST_CASE("few nodes that fail often make most failures, and a long run gets better by itself") {
  const std::uint64_t key = draws::mixed(9);
  constexpr double kRate = 8e-3 / kDay;
  double first_half = 0, second_half = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    UnlikeNodes nodes(draws::key(key, i), 63, kRate, 0.15, 60 * kDay);
    while (nodes.next() < kEndless) {
      (nodes.pop().time < 30 * kDay ? first_half : second_half) += 1;
    }
  }
  CHECK(second_half < 0.7 * first_half);
  // As good as all alike where the shape is large.
  double events = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    UnlikeNodes nodes(draws::key(key, i), 63, kRate, 1e4, 60 * kDay);
    for (; nodes.next() < kEndless; events += 1) nodes.pop();
  }
  CHECK(events == doctest::Approx(200 * 63 * kRate * 60 * kDay).epsilon(0.04));
}

TEST_CASE("Llama 3's stops: 419 failures and 47 planned in 54 days on 2,048 nodes") {
  Reservation reservation = usual(2048);
  reservation.work = reservation.length = 54 * kDay;
  reservation.spares = 60;
  Reliability& rates = reservation.reliability;
  rates.node_failures = 3.79e-3 / kDay;
  rates.planned_stops = 0.425e-3 / kDay;
  rates.rate_sigma = rates.job_failures = rates.least_job_failures = 0;
  rates.silent_corruption = 0;
  rates.fail_slow = 0;  // what is slow counts as effective there
  reservation.saving.interval =
      best_interval(reservation.saving, 1 / stop_rates(reservation).failures);
  const PlayedReservation played = replications(reservation, {500, 1, {}, 0, {}});
  CHECK(std::abs(played.stops.p50 - 466) < 2 * std::sqrt(466));
  CHECK(played.ettr.p50 > 0.9);
}

TEST_CASE("nodes at the plug: MLPerf's power logs of 8 H100 and 8 B200") {
  const PlugPower h100{6951.0 / 8, 300};
  CHECK(node_power(h100, 8, 1).step == doctest::Approx(6951));
  CHECK(node_power(h100, 8, 0.478 / 0.634).step == doctest::Approx(5811).epsilon(0.01));
}

}  // namespace
}  // namespace prequel
