#include "calibrate/stack_spread.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/answer/student_t.hpp"
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
