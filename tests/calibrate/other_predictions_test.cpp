#include "calibrate/validate/other_predictions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

std::vector<OtherPrediction> read_predictions(const std::string& text) {
  std::istringstream in(text);
  return read_other_predictions(in, "theirs.csv");
}

ValidatedRun measured_run(const std::string& id, double seconds) {
  ValidatedRun run;
  run.run.id = id;
  run.run.status = RunStatus::ok;
  run.run.sec_per_iter = seconds;
  run.outcome = Outcome::predicted;
  run.time_error = 0.5;
  return run;
}

}  // namespace

TEST_CASE("another tool's predictions are scored on the same rows") {
  std::vector<ValidatedRun> runs{measured_run("a", 2.0), measured_run("b", 4.0),
                                 measured_run("c", 1.0)};
  replace_predictions(runs, read_predictions("id,sec_per_iter,low,high\na,3,2,6\nb,4,,\n"));
  CHECK(*runs[0].time_error == doctest::Approx(0.5));
  REQUIRE(runs[0].interval);
  // Measured at the low end: as far as an interval of 80 % reaches.
  const double error = std::log1p(*runs[0].time_error);
  CHECK(error / runs[0].interval->scale_towards(error) == doctest::Approx(1.533).epsilon(1e-3));
  CHECK(*runs[1].time_error == doctest::Approx(0.0));
  CHECK_FALSE(runs[1].interval);
  CHECK(runs[2].outcome == Outcome::unsupported);
  CHECK_FALSE(runs[2].time_error);
}

TEST_CASE("what is no table of predictions is refused by name") {
  const auto problem = [](const std::string& text) {
    return error_text([&] { static_cast<void>(read_predictions(text)); });
  };
  CHECK(problem("id,seconds\n").find("unknown column \"seconds\"") != std::string::npos);
  CHECK(problem("id\na\n").find("id and sec_per_iter") != std::string::npos);
  CHECK(problem("id,sec_per_iter\na,1\na,2\n").find("twice") != std::string::npos);
  CHECK(problem("id,sec_per_iter\na,-1\n").find("expected a positive number") != std::string::npos);
  CHECK(problem("id,sec_per_iter,low\na,1,0.5\n").find("go together") != std::string::npos);
  CHECK(problem("id,sec_per_iter,low,high\na,1,2,3\n").find("from low to high") !=
        std::string::npos);
  std::vector<ValidatedRun> runs{measured_run("a", 2.0)};
  CHECK(error_text([&] {
          replace_predictions(runs, read_predictions("id,sec_per_iter\nb,1\n"));
        }).find("no row of the tables is called \"b\"") != std::string::npos);
}

}  // namespace prequel
