#include <fmt/format.h>

#include <algorithm>

#include "calibrate/fit.hpp"
#include "calibrate/fit_sample.hpp"

namespace prequel {
namespace {

/// The first product of experts that was timed, if there is one.
const GroupedGemm* experts_of(const Measurement& point) {
  const auto* timed = std::get_if<MeasuredKernels>(&point.what);
  if (!timed) return nullptr;
  for (const auto& kernel : timed->kernels) {
    if (const auto* product = std::get_if<GroupedGemm>(&kernel)) return product;
  }
  return nullptr;
}

bool permutes(const Measurement& point) {
  const auto& kernels = std::get<MeasuredKernels>(point.what).kernels;
  return std::ranges::any_of(kernels, [](const auto& kernel) {
    const auto* stream = std::get_if<Stream>(&kernel);
    return stream && stream->kind == StreamKind::permute;
  });
}

std::string shape_of_weights(const Measurement& point) {
  const GroupedGemm& product = *experts_of(point);
  return fmt::format("{} {}", product.outputs, product.inputs);
}

/// A parameter that `known` does not tell stays where it is.
Parameter held(std::string name, double value) {
  return {std::move(name), value, value / 1.001, value * 1.001, 1e3};
}

Device with_values(Device device, const std::vector<double>& values) {
  device.grouped = {{values[0]}, {values[1]}, values[2], values[3]};
  StreamModel& permute = device.streams[static_cast<std::size_t>(StreamKind::permute)];
  permute = {{values[4]}, {}, 1.0, values[5]};
  return device;
}

}  // namespace

std::vector<FitReport> fit_experts(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  std::vector<const Measurement*> layers;
  for (const Measurement& point : points) {
    if (experts_of(point)) layers.push_back(&point);
  }
  if (layers.size() < kFewestExperts) return {};
  const auto any = [&](const auto& is_it) {
    return std::ranges::any_of(layers, [&](const Measurement* point) { return is_it(*point); });
  };
  const bool permuted = any(permutes);
  const bool by_group = any([](const auto& point) { return !experts_of(point)->one_launch; });
  const StreamModel& permute = device.streams[static_cast<std::size_t>(StreamKind::permute)];
  const GroupedModel start = device.grouped;
  const std::vector<Parameter> parameters{
      held("launch_s", std::max(start.launch.value, 1e-7)),
      by_group ? Parameter{"group_launch_s", 4e-6, 1e-7, 5e-5, 0.05}
               : held("group_launch_s", std::max(start.group_launch.value, 1e-7)),
      {"efficiency", 0.95, 0.3, 1.0},
      {"memory_fraction", 0.8, 0.2, 1.0},
      permuted ? Parameter{"permute launch_s", 8e-6, 1e-6, 5e-5, 0.02}
               : held("permute launch_s", permute.launch.value),
      permuted ? Parameter{"permute memory_fraction", 0.5, 0.05, 1.1, 0.02}
               : held("permute memory_fraction", permute.memory_fraction)};
  const auto model_of = [&](const std::vector<double>& values) -> Predictor {
    return [trial = with_values(device, values)](const Measurement& point) {
      return predict(trial, point);
    };
  };
  const FitReport report =
      fit_sample("grouped_gemm", split_sample(layers, shape_of_weights, options), parameters,
                 model_of, options);
  device = with_values(device, values_of(report));
  device.errors.grouped = stated_error(report);
  return {report};
}

}  // namespace prequel
