#include "calibrate/spread/stack_spread.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "hw/base/student_t.hpp"
#include "tests/calibrate/shipped_tables.hpp"

using namespace prequel;

namespace {

/// A row whose constants alone would scatter by `prior`, off by `error`.
ValidatedRun row(const std::string& table, const std::string& stack, double error, double prior) {
  ValidatedRun run;
  run.run.cells = {{"file", table}, {"kind", "dense"}};
  run.run.cluster = "somewhere";
  run.stack = stack;
  run.time_error = std::expm1(error);
  run.interval = Interval{};
  run.interval->time_prior = prior;
  return run;
}

/// Errors that lie at the quantiles of a Student t of this scale.
std::vector<ValidatedRun> rows(const std::string& stack, int n, double scale, double prior) {
  std::vector<ValidatedRun> runs;
  for (int i = 0; i < n; ++i) {
    runs.push_back(row(stack + "-runs", stack, scale * t4_quantile((i + 0.5) / n), prior));
  }
  return runs;
}

}  // namespace

TEST_CASE("a stack whose runs scatter more is said to be known less, and both are covered") {
  std::vector<ValidatedRun> runs = rows("good", 60, 0.03, 0.3);
  for (ValidatedRun& run : rows("bad", 60, 0.3, 0.3)) runs.push_back(std::move(run));
  const StackSpreadReport report = stack_spreads(runs, priors());
  REQUIRE(report.stacks.size() == 2);
  const auto scale = [](const CheckedStack& stack) {
    return std::hypot(stack.time.level * 0.3, stack.time.noise);
  };
  CHECK(report.stacks[0].software == "bad");
  CHECK(scale(report.stacks[0]) == doctest::Approx(0.3).epsilon(0.15));
  CHECK(scale(report.stacks[1]) == doctest::Approx(0.03).epsilon(0.3));
  for (const TableCoverage& table : report.tables) {
    CAPTURE(table.table);
    CHECK(table.time.inside[1] == doctest::Approx(0.8).epsilon(0.1));
    CHECK(table.held_out.n == 60);
  }
}

TEST_CASE("a cluster whose rows all err alike is wider, and no other of the stack") {
  std::vector<ValidatedRun> runs = rows("stack", 40, 0.03, 0.3);
  for (ValidatedRun run : rows("stack", 20, 0.03, 0.3)) {
    run.run.cluster = "elsewhere";
    run.time_error = std::expm1(std::log1p(*run.time_error) + 0.15);
    runs.push_back(std::move(run));
  }
  const StackSpreadReport report = stack_spreads(runs, priors());
  REQUIRE(report.stacks.size() == 1);
  const CheckedStack& stack = report.stacks.front();
  REQUIRE(stack.clusters.size() == 2);
  CHECK(stack.clusters[0].name == "elsewhere");
  CHECK(stack.clusters[0].time == doctest::Approx(0.15).epsilon(0.15));
  CHECK(stack.clusters[1].time < 0.02);
  CHECK(std::hypot(stack.time.level * 0.3, stack.time.noise) == doctest::Approx(0.03).epsilon(0.3));
  CHECK(report.cluster > 0.02);
}

TEST_CASE(
    "runs that ran where the card was said to be full tell of memory, as those that did not") {
  const auto memory_of = [](double room, RunStatus status) {
    std::vector<ValidatedRun> runs = rows("printing", 40, 0.05, 0.3);
    for (ValidatedRun& run : runs) {
      run.memory_error = run.time_error;
      run.interval->memory_prior = 0.3;
    }
    for (ValidatedRun run : rows("silent", 20, 0.05, 0.3)) {
      run.run.status = status;
      run.interval->memory_prior = 0.3;
      run.interval->memory_room = room;
      runs.push_back(std::move(run));
    }
    const StackSpreadReport report = stack_spreads(runs, priors());
    return report.stacks.back().memory;
  };
  const KnownSpread with_room = memory_of(0.1, RunStatus::ok);
  const KnownSpread too_full = memory_of(-0.3, RunStatus::ok);
  const KnownSpread too_little = memory_of(0.3, RunStatus::oom);
  CHECK(with_room.rows == 0);
  CHECK(too_full.level > with_room.level);
  CHECK(too_little.level > with_room.level);
}

TEST_CASE("few, equal or no rows give finite spreads") {
  CHECK(stack_spreads({}, priors()).stacks.empty());
  for (const double error : {0.0, 0.4}) {
    for (const int n : {1, 12}) {
      std::vector<ValidatedRun> runs;
      for (int i = 0; i < n; ++i) runs.push_back(row("t", "s", error, 0.2));
      const StackSpreadReport report = stack_spreads(runs, priors());
      CHECK(std::isfinite(report.stacks.front().time.level));
      CHECK(report.stacks.front().time.noise > 0);
      CHECK(report.stacks.front().time.rows == static_cast<std::size_t>(n));
      CHECK(std::isfinite(report.other));
    }
  }
}
