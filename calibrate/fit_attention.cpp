#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "calibrate/fit.hpp"
#include "calibrate/fit_sample.hpp"

namespace prequel {
namespace {

constexpr std::size_t kFewestLengths = 3;  ///< of sequences, to tell the loss on short rows
constexpr double kBackwardFlops = 2.5;     ///< five products of the square instead of two

std::string head_counts(const Measurement& point) {
  const FusedAttention& what = std::get<MeasuredAttention>(point.what).attention;
  return fmt::format("{} {}", what.heads, what.kv_heads);
}

/// With few sequence lengths the loss on short rows and the traffic stay what they are; else the
/// starts do not depend on earlier fits.
std::vector<Parameter> attention_parameters(const AttentionPass& start, bool many_lengths) {
  constexpr double kFixed = 1e3;
  const double hold = many_lengths ? 0.02 : kFixed;
  const double saturation = many_lengths ? 300.0 : std::max(start.saturation_tokens, 1.0);
  return {{"efficiency", 0.5, 0.05, 1.0},
          {"saturation_tokens", saturation, 0.5, 5e3, hold},
          {"launch_s", 1e-5, 5e-7, 1e-3, 0.02},
          {"tail", 0.5, 0.005, 5.0, 0.02},
          {"memory_fraction", many_lengths ? 0.5 : start.memory_fraction, 0.05, 2.0, hold}};
}

AttentionPass with_values(AttentionPass pass, const std::vector<double>& values) {
  pass.efficiency = values[0];
  pass.saturation_tokens = values[1];
  pass.launch_s = values[2];
  pass.tail = values[3];
  pass.memory_fraction = values[4];
  return pass;
}

/// The device's constants for the head size, added where it has none.
AttentionHeadSize& head_size(AttentionKernel& kernel, double head_dim) {
  auto& sizes = kernel.head_sizes;
  const auto place = std::lower_bound(
      sizes.begin(), sizes.end(), head_dim,
      [](const AttentionHeadSize& size, double value) { return size.head_dim < value; });
  if (place != sizes.end() && place->head_dim == head_dim) return *place;
  const AttentionPass start{0.5, 500.0, 1e-5, 0.5, 0.5, 1.0};
  AttentionHeadSize added{head_dim, start, start};
  added.backward.flop_factor = kBackwardFlops;
  return *sizes.insert(place, added);
}

AttentionKernel& kernel_of(Device& device, const std::string& name) {
  for (AttentionKernel& kernel : device.attention) {
    if (kernel.name == name ||
        std::count(kernel.measured_as.begin(), kernel.measured_as.end(), name) > 0) {
      return kernel;
    }
  }
  device.attention.push_back({name, {}, true, {}});
  return device.attention.back();
}

FitReport fit_pass(AttentionKernel& kernel, double head_dim, bool backward,
                   const std::vector<const Measurement*>& points, const FitOptions& options,
                   const Device& device) {
  AttentionHeadSize& size = head_size(kernel, head_dim);
  AttentionPass& pass = backward ? size.backward : size.forward;
  std::map<std::int64_t, int> lengths;
  for (const Measurement* point : points) {
    ++lengths[std::get<MeasuredAttention>(point->what).attention.seq];
  }
  const AttentionPass start = pass;
  const std::string name = kernel.name;
  const bool skips_masked = kernel.skips_masked;
  const auto model_of = [&](const std::vector<double>& values) -> Predictor {
    Device trial;
    trial.compute_units = device.compute_units;
    trial.memory_rate = device.memory_rate;
    trial.peaks = device.peaks;
    const AttentionPass tried = with_values(start, values);
    trial.attention = {{name, {}, skips_masked, {{head_dim, tried, tried}}}};
    return [trial, name](const Measurement& point) {
      return price(trial, std::get<MeasuredAttention>(point.what).attention, name);
    };
  };
  FitReport report =
      fit_sample(fmt::format("{} {} {}", name, head_dim, backward ? "backward" : "forward"),
                 split_sample(points, head_counts, options),
                 attention_parameters(start, lengths.size() >= kFewestLengths), model_of, options);
  pass = with_values(start, values_of(report));
  // Until backward passes are measured, they keep their efficiency relative to the forward one.
  if (!backward) {
    const double relative = size.backward.efficiency / start.efficiency;
    const double flop_factor = size.backward.flop_factor;
    size.backward = pass;
    size.backward.efficiency = pass.efficiency * relative;
    size.backward.flop_factor = flop_factor;
  }
  return report;
}

}  // namespace

std::vector<FitReport> fit_attention(const std::vector<Measurement>& points,
                                     const FitOptions& options, Device& device) {
  std::map<std::tuple<std::string, double, bool>, std::vector<const Measurement*>>
      groups;  // forward before backward
  for (const Measurement& point : points) {
    const auto* measured = std::get_if<MeasuredAttention>(&point.what);
    if (!measured) continue;
    const FusedAttention& what = measured->attention;
    groups[{measured->kernel, static_cast<double>(what.head_dim), what.backward}].push_back(&point);
  }
  std::vector<FitReport> reports;
  for (const auto& [key, members] : groups) {
    if (members.size() < kFewestAttentions) continue;
    const auto& [kernel, head_dim, backward] = key;
    reports.push_back(
        fit_pass(kernel_of(device, kernel), head_dim, backward, members, options, device));
  }
  if (!reports.empty()) device.errors.attention = mean_stated_error(reports);
  return reports;
}

}  // namespace prequel
