#include "calibrate/runs/advise.hpp"

#include <doctest/doctest.h>

#include "hw/base/json_cursor.hpp"
#include "tests/scenarios.hpp"

using namespace prequel;

namespace {

AdviceReport shipped_advice(const Library& library) {
  return advise(shipped_scenario(), read_uncertainty(library.open("uncertainty", "priors")));
}

}  // namespace

TEST_CASE("no measurement widens an interval, and the best stands first") {
  const AdviceReport report = shipped_advice(Library({}));
  REQUIRE(!report.advices.empty());
  double last = 0.0;
  for (const Advice& advice : report.advices) {
    CAPTURE(advice.measurement);
    CHECK(advice.half_width <= report.half_width + 1e-12);
    CHECK(advice.half_width >= last);
    CHECK(advice.minutes > 0);
    last = advice.half_width;
  }
}

TEST_CASE("no run is proposed on fewer ranks than the experts are spread over") {
  JobRequest request;
  request.model = "qwen3-30b-a3b";
  request.cluster = "nvidia-dgx-b200";
  for (const auto& [axis, value] :
       {std::pair{"nodes", "8"}, {"ep", "16"}, {"gbs", "512"}, {"seq_len", "4096"}}) {
    request.overrides.push_back({std::string("plan.") + axis, value});
  }
  const Library library({});
  const Job job = read_job(library, request);
  const AdviceReport report = advise(resolve(job).scenario, shipped_uncertainty(library));
  std::size_t runs = 0;
  for (const Advice& advice : report.advices) {
    CAPTURE(advice.measurement);
    if (!advice.measurement.starts_with("a run of")) continue;
    ++runs;
    CHECK(
        (advice.measurement.ends_with("on 16 GPUs") || advice.measurement.ends_with("on 32 GPUs")));
  }
  CHECK(runs == 2);
}

TEST_CASE("a short run of the same plan tells more than any benchmark of one constant") {
  const AdviceReport report = shipped_advice(Library({}));
  const std::string& best = report.advices.front().measurement;
  CHECK((best.starts_with("a run of") || best.starts_with("an iteration")));
}
