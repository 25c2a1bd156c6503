#include <fmt/format.h>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"

namespace prequel {
namespace {

/// Below it a copy is mostly the time to start it, which offload, in large pieces, does not see.
constexpr double kSmallestCopy = 1048576.0;

std::string copied_bytes(const Measurement& point) {
  return fmt::format("{:.0f}", std::get<MeasuredCopy>(point.what).bytes.value);
}

}  // namespace

std::vector<FitReport> fit_host_link(const std::vector<Measurement>& points,
                                     const FitOptions& options, Device& device) {
  std::vector<const Measurement*> copies;
  for (const Measurement& point : points) {
    const auto* copy = std::get_if<MeasuredCopy>(&point.what);
    if (copy && copy->pinned && copy->bytes.value >= kSmallestCopy) copies.push_back(&point);
  }
  if (copies.size() < kFewestCopies) return {};
  const auto model_of = [](const std::vector<double>& values) -> Predictor {
    Device trial;
    trial.host_link = {values[0]};
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  const FitReport report =
      fit_sample("host_link", split_sample(copies, copied_bytes, options),
                 {{"rate", device.host_link.value, 1e8, 1e13}}, model_of, options);
  device.host_link = {values_of(report).front()};
  return {report};
}

}  // namespace prequel
