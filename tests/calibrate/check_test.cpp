#include "calibrate/fit/check.hpp"

#include <doctest/doctest.h>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

/// A copy kernel measured at `seconds` in the environment `source`.
Measurement copy(double bytes, double seconds, const std::string& source) {
  Measurement point;
  point.what = MeasuredStream{{StreamKind::copy, {bytes}}};
  point.time = {seconds};
  point.fields = {{"source", source}, {"operator", "copy"}};
  return point;
}

/// One byte a second.
const Predictor kUnitRate = [](const Measurement& point) {
  return Seconds{std::get<MeasuredStream>(point.what).stream.bytes.value};
};

TEST_CASE("without options all points make one group, and nothing is scaled") {
  const Check result = check({copy(1.0, 2.0, "a"), copy(3.0, 2.0, "b")}, kUnitRate, {});
  REQUIRE(result.groups.size() == 1);
  CHECK(result.groups[0].group == "all");
  CHECK(result.groups[0].errors.mape == doctest::Approx(0.5));
  CHECK(result.groups[0].errors.bias == doctest::Approx(0.0));
  CHECK(result.scales.empty());
}

TEST_CASE("a scale per environment takes the median ratio out") {
  const Check result = check({copy(1.0, 2.0, "a"), copy(2.0, 4.0, "a"), copy(1.0, 1.0, "b")},
                             kUnitRate, {"source", "source"});
  REQUIRE(result.groups.size() == 2);
  CHECK(result.groups[0].errors.mape == doctest::Approx(0.0));
  CHECK(result.groups[0].scale == doctest::Approx(2.0));
  REQUIRE(result.scales.size() == 2);
  CHECK(result.scales[0].environment == "a");
  CHECK(result.scales[0].scale == doctest::Approx(2.0));
}

TEST_CASE("points that cannot be predicted are left out, each reason once") {
  Measurement gather = copy(1.0, 1.0, "a");
  gather.what = MeasuredCollective{CollectiveOp::all_gather, 2, 1, {1.0}};
  Device device;
  device.memory_rate = {1.0};
  const Check result = check({copy(1.0, 1.0, "a"), gather, gather},
                             [&](const Measurement& point) { return predict(device, point); }, {});
  CHECK(result.groups[0].errors.n == 1);
  CHECK(result.not_predicted ==
        std::vector<std::string>{"a device has no collectives; check them against a cluster"});
}

TEST_CASE("tokens on their way to experts are checked against the cluster's dispatcher") {
  const Cluster cluster = read_cluster(Document::read(PREQUEL_DATA_DIR "/clusters/dgx-h100.json"));
  const auto checked = [&](const char* way, double measured_us) {
    Measurement point;
    MeasuredDispatch what;
    what.dispatch.dispatcher = Dispatcher::deepep;
    what.dispatch.combine = std::string(way) == "combine";
    what.dispatch.tokens = 4096;
    what.dispatch.hidden = 7168;
    what.dispatch.top_k = 8;
    what.dispatch.precision = what.dispatch.combine ? Precision::bf16 : Precision::fp8_block;
    what.ranks = 8;
    what.units = 24;
    point.what = what;
    point.time = {measured_us * 1e-6};
    point.fields = {{"operator", way}};
    return point;
  };
  // aiconfigurator's table of DeepEP v1 on H100.
  const Check result =
      check({checked("dispatch", 498.4), checked("combine", 960.6)},
            [&](const Measurement& point) { return predict(cluster, point); }, {"operator", ""});
  REQUIRE(result.groups.size() == 2);
  for (const CheckGroup& group : result.groups) CHECK(group.errors.mape < 0.15);
  Device device;
  CHECK(error_text([&] { (void)predict(device, checked("dispatch", 1)); }) ==
        "a device dispatches nothing to others; check it against a cluster");
}

TEST_CASE("a column that the measurements lack is refused with the nearest") {
  CHECK(error_text([] {
          static_cast<void>(check({copy(1.0, 1.0, "a")}, kUnitRate, {"sourc", ""}));
        }) == "the measurements have no column \"sourc\" (did you mean \"source\"?)");
}

TEST_CASE("when nothing can be predicted, that is an error with the reason") {
  const Cluster cluster;
  CHECK(error_text([&] {
          static_cast<void>(check({copy(1.0, 1.0, "a")},
                                  [&](const Measurement& point) { return predict(cluster, point); },
                                  {}));
        }) ==
        "none of the 1 measured points can be predicted: a cluster has collectives and "
        "dispatchers; check kernels against a device");
}

}  // namespace
}  // namespace prequel
