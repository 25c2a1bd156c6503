#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"

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
std::vector<FreeConstant<AttentionPass>> attention_constants(const AttentionPass& start,
                                                             bool many_lengths) {
  constexpr double kFixed = 1e3;
  const double hold = many_lengths ? 0.02 : kFixed;
  const double saturation = many_lengths ? 300.0 : std::max(start.saturation_tokens, 1.0);
  const double traffic = many_lengths ? 0.5 : start.memory_fraction;
  return {{{"efficiency", 0.5, 0.05, 2.0}, &AttentionPass::efficiency},
          {{"saturation_tokens", saturation, 0.5, 5e3, hold}, &AttentionPass::saturation_tokens},
          {{"launch_s", 1e-5, 5e-7, 1e-3, 0.02}, &AttentionPass::launch},
          {{"tail", 0.5, 0.005, 5.0, 0.02}, &AttentionPass::tail},
          {{"memory_fraction", traffic, 0.05, 2.0, hold}, &AttentionPass::memory_fraction}};
}

/// The sizes that constants are fitted for, besides the pass.
struct HeadSizes {
  double head_dim{};
  double value_dim{};
  bool fp8{};

  auto operator<=>(const HeadSizes&) const = default;
};

HeadSizes sizes_of(const FusedAttention& what) {
  return {static_cast<double>(what.head_dim), static_cast<double>(what.value_size()),
          is_quantized(what.precision)};
}

std::string text(const HeadSizes& sizes) {
  const std::string values =
      sizes.value_dim == sizes.head_dim ? "" : fmt::format("/{}", sizes.value_dim);
  return fmt::format("{}{}{}", sizes.head_dim, values, sizes.fp8 ? " fp8" : "");
}

/// The device's constants for the head sizes, added where it has none.
AttentionHeadSize& head_size(AttentionKernel& kernel, const HeadSizes& wanted) {
  auto& sizes = kernel.head_sizes;
  const auto place = std::find_if(sizes.begin(), sizes.end(), [&](const AttentionHeadSize& size) {
    return HeadSizes{size.head_dim, size.value_dim, size.fp8} >= wanted;
  });
  if (place != sizes.end() && HeadSizes{place->head_dim, place->value_dim, place->fp8} == wanted) {
    return *place;
  }
  const AttentionPass start{0.5, 500.0, {1e-5}, 0.5, 0.5, 1.0};
  AttentionHeadSize added{wanted.head_dim, wanted.value_dim, wanted.fp8, start, start};
  added.backward.flop_factor = kBackwardFlops;
  return *sizes.insert(place, added);
}

bool is_called(const AttentionKernel& kernel, const std::string& name) {
  return kernel.name == name || std::ranges::count(kernel.measured_as, name) > 0;
}

std::string known_name(const Device& device, const std::string& name) {
  for (const AttentionKernel& kernel : device.attention) {
    if (is_called(kernel, name)) return kernel.name;
  }
  return name;
}

bool has(const Device& device, const std::string& name, const HeadSizes& wanted) {
  return std::ranges::any_of(device.attention, [&](const AttentionKernel& kernel) {
    return is_called(kernel, name) &&
           std::ranges::any_of(kernel.head_sizes, [&](const AttentionHeadSize& size) {
             return HeadSizes{size.head_dim, size.value_dim, size.fp8} == wanted;
           });
  });
}

AttentionKernel& kernel_of(Device& device, const std::string& name) {
  for (AttentionKernel& kernel : device.attention) {
    if (is_called(kernel, name)) return kernel;
  }
  device.attention.push_back({name, {}, true, {}, {}});
  return device.attention.back();
}

/// The times of attention by a kernel on the device.
Predictor prices_of(const AttentionKernel& kernel, const Device& device) {
  return [kernel, rates = rates_of(device)](const Measurement& point) {
    return price(kernel, rates, std::get<MeasuredAttention>(point.what).attention);
  };
}

FitReport fit_pass(AttentionKernel& kernel, const HeadSizes& sizes, bool backward,
                   const Points& points, const FitOptions& options, const Device& device) {
  AttentionHeadSize& size = head_size(kernel, sizes);
  AttentionPass& pass = backward ? size.backward : size.forward;
  std::set<std::int64_t> lengths;
  for (const Measurement* point : points) {
    lengths.insert(std::get<MeasuredAttention>(point->what).attention.seq);
  }
  const AttentionPass start = pass;
  const auto prices = [&](const AttentionPass& tried) {
    return prices_of({kernel.name,
                      {},
                      kernel.skips_masked,
                      {{sizes.head_dim, sizes.value_dim, sizes.fp8, tried, tried}},
                      {}},
                     device);
  };
  FitReport report = fit_model(
      fmt::format("{} {} {}", kernel.name, text(sizes), backward ? "backward" : "forward"),
      split_sample(points, head_counts, options),
      attention_constants(start, lengths.size() >= kFewestLengths), prices, options, pass,
      kFewestAttentions);
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

/// Fits the cost of windowed forward passes beside the arithmetic, which stays as it is; 8-bit
/// blocks over 16-bit ones only where both formats were measured.
FitReport fit_window(AttentionKernel& kernel, const Points& points, const FitOptions& options,
                     const Device& device) {
  const auto prices = [&](const WindowedAttention& tried) {
    AttentionKernel trial = kernel;
    trial.window = tried;
    return prices_of(trial, device);
  };
  std::vector<FreeConstant<WindowedAttention>> constants{
      {{"launch_s", 1.5e-5, 5e-7, 1e-3, 0.02}, &WindowedAttention::launch},
      {{"memory_fraction", 0.7, 0.2, 1.0, 0.5}, &WindowedAttention::memory_fraction},
      {{"block_s", 2e-6, 1e-9, 1e-4, 0.01}, &WindowedAttention::block},
      {{"edge", 2.0, 1e-3, 50.0, 0.01}, &WindowedAttention::edge}};
  const auto fp8 = std::ranges::count_if(points, [](const Measurement* point) {
    return is_quantized(std::get<MeasuredAttention>(point->what).attention.precision);
  });
  if (fp8 > 0 && static_cast<std::size_t>(fp8) < points.size()) {
    constants.push_back({{"fp8_factor", 1.0, 0.2, 5.0, 0.05}, &WindowedAttention::fp8_factor});
  }
  WindowedAttention window = kernel.window.value_or(WindowedAttention{});
  FitReport report =
      fit_model(kernel.name + " window forward", split_sample(points, head_counts, options),
                constants, prices, options, window);
  kernel.window = window;
  return report;
}

}  // namespace

std::vector<FitReport> fit_attention(const std::vector<Measurement>& points,
                                     const FitOptions& options, Device& device) {
  // By the kernel as the device knows it, which tables may call by several names.
  std::map<std::tuple<std::string, HeadSizes, bool>, Points> groups;  // forward before backward
  std::map<std::string, Points> windowed;
  for (const Measurement& point : points) {
    const auto* measured = std::get_if<MeasuredAttention>(&point.what);
    if (!measured) continue;
    const FusedAttention& what = measured->attention;
    const std::string kernel = known_name(device, measured->kernel);
    if (what.window > 0) {
      if (!what.backward) windowed[kernel].push_back(&point);
    } else {
      groups[{kernel, sizes_of(what), what.backward}].push_back(&point);
    }
  }
  std::vector<FitReport> reports;
  for (const auto& [key, members] : groups) {
    const auto& [kernel, sizes, backward] = key;
    const bool few = members.size() < kFewestAttentions;
    if (few && (!options.same_device || !has(device, kernel, sizes))) continue;
    reports.push_back(
        fit_pass(kernel_of(device, kernel), sizes, backward, members, options, device));
  }
  for (const auto& [kernel, members] : windowed) {
    AttentionKernel& known = kernel_of(device, kernel);
    if (members.size() < kFewestAttentions || known.head_sizes.empty()) continue;
    reports.push_back(fit_window(known, members, options, device));
  }
  std::erase_if(device.attention, [](const auto& kernel) { return kernel.head_sizes.empty(); });
  if (!reports.empty()) device.errors.attention = mean_stated_error(reports);
  return reports;
}

}  // namespace prequel
