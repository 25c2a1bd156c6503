#include <fmt/format.h>

#include <algorithm>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"

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

bool runs(const Measurement& point, StreamKind kind) {
  const auto* timed = std::get_if<MeasuredKernels>(&point.what);
  return timed && std::ranges::any_of(timed->kernels, [&](const auto& kernel) {
           const auto* stream = std::get_if<Stream>(&kernel);
           return stream && stream->kind == kind;
         });
}

bool alone(const Measurement& point, StreamKind kind) {
  const auto* timed = std::get_if<MeasuredStream>(&point.what);
  return timed && timed->stream.kind == kind;
}

std::string expert_weight_shape(const Measurement& point) {
  const GroupedGemm& product = *experts_of(point);
  return fmt::format("{} {}", product.outputs, product.inputs);
}

/// A parameter that `known` does not tell stays where it is.
Parameter held(std::string name, double value) {
  return {std::move(name), value, value / 1.001, value * 1.001, 1e3};
}

StreamModel& stream_model(Device& device, StreamKind kind) {
  return device.streams[static_cast<std::size_t>(kind)];
}

/// How much faster than single products the tiles of layers in these formats may become: to their
/// peak.
double most_efficiency(const Device& device, const Points& layers) {
  double most = 0.0;
  for (const Measurement* layer : layers) {
    const auto& own = device.gemm_formats[static_cast<std::size_t>(experts_of(*layer)->precision)];
    const GemmModel& model = own ? *own : device.gemm;
    most = std::max(most, std::visit([](const auto& form) { return form.efficiency; }, model));
  }
  return std::max(1.0, 1.0 / most);
}

/// Spread that ties an expert's tiles to those of single products where layers do not tell them
/// apart.
constexpr double kLikeSingle = 0.3;

using FreeOfDevice = FreeConstant<Device>;

template <class Value>
auto of_grouped(Value GroupedModel::*member) {
  return [member](Device& device, double value) { device.grouped.*member = Value{value}; };
}

template <class Value>
auto of_stream(StreamKind kind, Value StreamModel::*member) {
  return [kind, member](Device& device, double value) {
    stream_model(device, kind).*member = Value{value};
  };
}

}  // namespace

std::vector<FitReport> fit_experts(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  Points layers;
  for (const Measurement& point : points) {
    if (experts_of(point)) layers.push_back(&point);
  }
  if (layers.size() < kFewestExperts) return {};
  const auto any = [&](const auto& is_it) {
    return std::ranges::any_of(layers, [&](const Measurement* point) { return is_it(*point); });
  };
  const bool permuted = any([](const auto& point) { return runs(point, StreamKind::permute); });
  // Libraries differ most in the casts to blocks inside of a layer; tables of casts tell the rest.
  const bool casts =
      any([](const auto& point) { return runs(point, StreamKind::quantize_block); }) &&
      std::ranges::none_of(points, [](const Measurement& point) {
        return alone(point, StreamKind::quantize_block) ||
               (!experts_of(point) && runs(point, StreamKind::quantize_block));
      });
  const bool by_group = any([](const auto& point) { return !experts_of(point)->one_launch; });
  Device tried = device;
  StreamModel& permute = stream_model(tried, StreamKind::permute);
  permute = {permute.launch, {}, 1.0, permute.memory_fraction};
  const GroupedModel& start = device.grouped;
  std::vector<FreeOfDevice> free{
      {held("launch_s", std::max(start.launch.value, 1e-7)), of_grouped(&GroupedModel::launch)},
      {by_group ? Parameter{"group_launch_s", 4e-6, 1e-7, 5e-5, 0.05}
                : held("group_launch_s", std::max(start.group_launch.value, 1e-7)),
       of_grouped(&GroupedModel::group_launch)},
      {{"efficiency", 0.95, 0.15, most_efficiency(device, layers)},
       of_grouped(&GroupedModel::efficiency)},
      {{"memory_fraction", 0.8, 0.2, 1.0}, of_grouped(&GroupedModel::memory_fraction)},
      {{"l2_factor", 1.0, 0.2, 5.0, kLikeSingle}, of_grouped(&GroupedModel::l2_factor)},
      {{"tile_overhead_factor", 1.0, 0.05, 5.0, kLikeSingle},
       of_grouped(&GroupedModel::tile_overhead_factor)},
      {permuted ? Parameter{"permute launch_s", 8e-6, 1e-6, 5e-5, 0.02}
                : held("permute launch_s", permute.launch.value),
       of_stream(StreamKind::permute, &StreamModel::launch)},
      {permuted ? Parameter{"permute memory_fraction", 0.5, 0.05, 2.0, 0.02}
                : held("permute memory_fraction", permute.memory_fraction),
       of_stream(StreamKind::permute, &StreamModel::memory_fraction)}};
  if (casts) {
    free.push_back({{"quantize_block memory_fraction", 0.5, 0.05, 2.0, 0.02},
                    of_stream(StreamKind::quantize_block, &StreamModel::memory_fraction)});
  }
  const auto prices = [](const Device& trial) {
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  const FitReport report =
      fit_model("grouped_gemm", split_sample(layers, expert_weight_shape, options), free, prices,
                options, tried);
  device = std::move(tried);
  device.errors.grouped = stated_error(report);
  return {report};
}

}  // namespace prequel
