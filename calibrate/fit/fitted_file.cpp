#include "calibrate/fit/fitted_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/fit/fit_sample.hpp"
#include "hw/base/json_layout.hpp"

namespace prequel {
namespace {

using json = nlohmann::ordered_json;

std::string gigabytes_per_second(double rate) {
  return fmt::format("{} GB/s", rounded(rate / kGB));
}

std::string origin_text(const FitOrigin& origin, const std::vector<FitReport>& reports) {
  std::size_t points = 0;
  std::set<std::string> sources;
  CollectiveGroups groups;
  for (const FitReport& report : reports) {
    points += report.errors.n;
    sources.insert(report.sources);
    groups.insert(report.groups.begin(), report.groups.end());
  }
  return fmt::format("fitted to {} points{} of {} by `{}`", points,
                     groups.empty() ? "" : " (" + groups_text(groups) + ")",
                     fmt::join(sources, ", "), origin.command);
}

/// "80 % intervals: gemm efficiency 0.81 to 0.83, …": of constants that the points tell within a
/// factor of two. By the scatter of the points: it says nothing of another stack or another day.
std::string intervals_text(const std::vector<FitReport>& reports) {
  constexpr double kTold = 2.0;
  std::vector<std::string> parts;
  for (const FitReport& report : reports) {
    for (const FittedConstant& one : report.constants) {
      const Interval80 interval = interval80(one);
      if (one.at_bound || !(interval.high < kTold * one.value)) continue;
      parts.push_back(fmt::format("{} {} {} to {}", report.what, one.name, rounded(interval.low, 3),
                                  rounded(interval.high, 3)));
    }
  }
  if (parts.empty()) return "the points tell no constant within a factor of two";
  return fmt::format("80 % intervals by the scatter of the points: {}", fmt::join(parts, ", "));
}

/// Returns the section of a model of products; `may_leave` tells whether some of them leave the
/// tensor cores.
json gemm_section(const GemmModel& fitted, double error, const FitOrigin& origin,
                  const FitReport& report, bool may_leave = true) {
  if (const auto* flat = std::get_if<FlatGemm>(&fitted)) {
    return {{"origin", origin_text(origin, {report})}, {"note", intervals_text({report})},
            {"relative_error", rounded(error, 2)},     {"model", "flat"},
            {"efficiency", rounded(flat->efficiency)}, {"launch_s", rounded(flat->launch.value)}};
  }
  const auto& model = std::get<TiledGemm>(fitted);
  json tiles = json::array();
  for (const GemmTile& tile : model.tiles) {
    tiles.push_back({{"m", static_cast<int>(tile.m)},
                     {"n", static_cast<int>(tile.n)},
                     {"quality", rounded(tile.quality)}});
  }
  json splits = json::array();
  for (const double split : model.splits) splits.push_back(static_cast<int>(split));
  json section{{"origin", origin_text(origin, {report})},
               {"note", intervals_text({report})},
               {"relative_error", rounded(error, 2)},
               {"model", "tiled"},
               {"efficiency", rounded(model.efficiency)},
               {"launch_s", rounded(model.launch.value)},
               {"tile_overhead_s", rounded(model.tile_overhead.value)},
               {"tail", rounded(model.tail)},
               {"l2_rate", gigabytes_per_second(model.l2_rate.value)},
               {"memory_fraction", rounded(model.memory_fraction)},
               {"split_s", rounded(model.split.value)},
               {"droop", rounded(model.droop)},
               {"wgrad_factor", rounded(model.wgrad_factor)}};
  if (model.gradient_bytes > 0.0) section["gradient_bytes"] = model.gradient_bytes;
  if (may_leave) section["misaligned_fraction"] = rounded(model.misaligned_fraction);
  section["splits"] = splits;
  section["tiles"] = tiles;
  return section;
}

/// "gemm" for 16-bit formats, "gemm fp8" for others.
void add_gemm(json& file, const Device& device, const FitOrigin& origin, const FitReport& report) {
  if (report.what == "gemm") {
    file["gemm"] = gemm_section(device.gemm, device.errors.gemm, origin, report);
  }
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const std::string format(name(static_cast<Precision>(i)));
    if (report.what != "gemm " + format) continue;
    file["gemm_formats"][format] =
        gemm_section(*device.gemm_formats[i], device.errors.gemm_formats[i], origin, report,
                     may_leave_tensor_cores(static_cast<Precision>(i)));
  }
}

json stream_entry(const StreamModel& model) {
  json entry{{"launch_s", rounded(model.launch.value)},
             {"memory_fraction", rounded(model.memory_fraction)}};
  if (model.cached.value > 0.0) {
    entry["cached"] = {{"bytes", fmt::format("{} MB", rounded(model.cached.value / 1e6, 3))},
                       {"fraction", rounded(model.cached_fraction)}};
  }
  if (model.row_rate.value > 0.0) {
    entry["rows"] = {{"overhead_bytes", rounded(model.row_overhead.value, 3)},
                     {"rate", gigabytes_per_second(model.row_rate.value)}};
    if (model.rows_per_unit > 0.0) {
      entry["rows"]["waves"] = {{"rows_per_unit", model.rows_per_unit},
                                {"last_wave", rounded(model.last_wave, 3)}};
    }
  }
  return entry;
}

/// Kinds that were not measured stay as they are in the base, with their own origin.
json streams_section(json section, const Device& device, const FitOrigin& origin,
                     const std::vector<FitReport>& reports) {
  section["origin"] = origin_text(origin, reports);
  section["relative_error"] = rounded(device.errors.stream, 2);
  for (const FitReport& report : reports) {
    for (std::size_t i = 0; i < kStreamKinds; ++i) {
      if (name(static_cast<StreamKind>(i)) == report.what) {
        section[report.what] = stream_entry(device.streams[i]);
        section[report.what]["note"] = intervals_text({report});
      }
    }
  }
  return section;
}

json pass_entry(const AttentionPass& pass) {
  json entry{{"efficiency", rounded(pass.efficiency)},
             {"saturation_tokens", rounded(pass.saturation_tokens)},
             {"launch_s", rounded(pass.launch.value)},
             {"tail", rounded(pass.tail)},
             {"memory_fraction", rounded(pass.memory_fraction)}};
  if (pass.flop_factor != 1.0) entry["flop_factor"] = rounded(pass.flop_factor);
  return entry;
}

json attention_section(json section, const Device& device, const FitOrigin& origin,
                       const std::vector<FitReport>& reports) {
  section["origin"] = origin_text(origin, reports) +
                      "; backward passes without measurements keep their ratio to forward";
  section["note"] = intervals_text(reports);
  section["relative_error"] = rounded(device.errors.attention, 2);
  json& kernels = section["kernels"];
  for (const AttentionKernel& kernel : device.attention) {
    const bool fitted = std::any_of(reports.begin(), reports.end(), [&](const FitReport& report) {
      return report.what.starts_with(kernel.name + " ");
    });
    if (!fitted) continue;
    json sizes = json::array();
    for (const AttentionHeadSize& size : kernel.head_sizes) {
      json entry{{"head_dim", static_cast<int>(size.head_dim)}};
      if (size.latent()) entry["value_dim"] = static_cast<int>(size.value_dim);
      if (size.fp8) entry["precision"] = "fp8";
      entry["forward"] = pass_entry(size.forward);
      entry["backward"] = pass_entry(size.backward);
      sizes.push_back(entry);
    }
    json& entry = kernels[kernel.name];
    if (!kernel.measured_as.empty()) entry["measured_as"] = kernel.measured_as;
    entry["skips_masked"] = kernel.skips_masked;
    if (kernel.window) {
      entry["window"] = {{"launch_s", rounded(kernel.window->launch.value)},
                         {"memory_fraction", rounded(kernel.window->memory_fraction)},
                         {"block_s", rounded(kernel.window->block.value)},
                         {"edge", rounded(kernel.window->edge)},
                         {"fp8_factor", rounded(kernel.window->fp8_factor)}};
    }
    entry["head_sizes"] = sizes;
  }
  return section;
}

json link_entry(const LinkModel& link) {
  json entry{{"latency_s", rounded(link.latency.value)}};
  if (link.step.value > 0.0) entry["step_s"] = rounded(link.step.value);
  entry["bandwidth"] = gigabytes_per_second(link.bandwidth.value);
  if (link.fill.value > 0.0) entry["fill_s"] = rounded(link.fill.value);
  if (link.local_bandwidth.value > 0.0) {
    entry["local_bandwidth"] = gigabytes_per_second(link.local_bandwidth.value);
  }
  return entry;
}

std::string origin_with_error(const FitOrigin& origin, const std::vector<FitReport>& reports) {
  return fmt::format("{}; mean error {:.1f} %", origin_text(origin, reports),
                     100.0 * mean_stated_error(reports));
}

json node_section(const CollectiveModel& node, const FitOrigin& origin,
                  const std::vector<FitReport>& reports) {
  json section = link_entry(node.ring);
  section["origin"] = origin_with_error(origin, reports);
  section["note"] = intervals_text(reports);
  json overrides = json::array();
  for (const CollectiveOverride& other : node.overrides) {
    json entry{{"op", std::string(name(other.op))}};
    if (other.ranks > 0) entry["ranks"] = other.ranks;
    entry.update(link_entry(other.link));
    overrides.push_back(entry);
  }
  if (!overrides.empty()) section["overrides"] = overrides;
  if (node.tree) section["tree"] = link_entry(*node.tree);
  if (node.nvls) {
    section["nvls"] = {{"min_ranks", node.nvls_min_ranks}};
    section["nvls"].update(link_entry(*node.nvls));
  }
  return section;
}

json network_section(const NetworkModel& network, const FitOrigin& origin,
                     const std::vector<FitReport>& reports) {
  json section{{"origin", origin_with_error(origin, reports)},
               {"note", intervals_text(reports)},
               {"efficiency", rounded(network.efficiency)},
               {"latency_s", rounded(network.link.latency.value)},
               {"step_latency_s", rounded(network.link.step.value)}};
  if (network.link.fill.value > 0.0) section["fill_s"] = rounded(network.link.fill.value);
  if (network.rings > 0) section["rings"] = network.rings;
  if (network.pat) section["pat"] = true;
  if (network.transport) section["transport"] = name(*network.transport);
  return section;
}

}  // namespace

std::string fitted_device_file(const std::string& base, const Device& device,
                               const DeviceFits& fits, const FitOrigin& origin) {
  json file = json::parse(base);
  file["name"] = origin.name;
  if (!fits.host_link.empty()) {
    file["host_link"] = {{"rate", gigabytes_per_second(device.host_link.value)},
                         {"origin", origin_with_error(origin, fits.host_link)},
                         {"note", intervals_text(fits.host_link)}};
  }
  if (!fits.overlap.empty()) {
    file["overlap"] = {{"loss", rounded(device.overlap_loss)},
                       {"origin", origin_with_error(origin, fits.overlap)},
                       {"note", intervals_text(fits.overlap)}};
  }
  for (const FitReport& report : fits.gemm) add_gemm(file, device, origin, report);
  if (!fits.experts.empty()) {
    const FitReport& report = fits.experts.front();
    file["grouped_gemm"] = {{"origin", origin_text(origin, fits.experts)},
                            {"note", intervals_text(fits.experts)},
                            {"relative_error", rounded(device.errors.grouped, 2)},
                            {"launch_s", rounded(device.grouped.launch.value)},
                            {"group_launch_s", rounded(device.grouped.group_launch.value)},
                            {"efficiency", rounded(device.grouped.efficiency)},
                            {"memory_fraction", rounded(device.grouped.memory_fraction)},
                            {"l2_factor", rounded(device.grouped.l2_factor)},
                            {"tile_overhead_factor", rounded(device.grouped.tile_overhead_factor)}};
    auto& permute = file["memory_bound"]["permute"];
    permute = stream_entry(device.streams[static_cast<std::size_t>(StreamKind::permute)]);
    permute["origin"] = origin_text(origin, {report});
    const std::string cast = "quantize_block";
    if (std::ranges::any_of(report.constants, [&](const FittedConstant& constant) {
          return constant.name.starts_with(cast);
        })) {
      auto& entry = file["memory_bound"][cast];
      entry = stream_entry(device.streams[static_cast<std::size_t>(StreamKind::quantize_block)]);
      entry["origin"] = origin_text(origin, {report});
    }
  }
  if (!fits.streams.empty()) {
    file["memory_bound"] = streams_section(file["memory_bound"], device, origin, fits.streams);
  }
  if (!fits.attention.empty()) {
    file["attention"] = attention_section(file["attention"], device, origin, fits.attention);
  }
  return laid_out(file);
}

std::string fitted_cluster_file(const std::string& base, const Cluster& cluster,
                                const std::vector<FitReport>& node,
                                const std::vector<FitReport>& network, const FitOrigin& origin) {
  json file = json::parse(base);
  file["name"] = origin.name;
  if (!origin.device.empty()) file["device"] = origin.device;
  if (!node.empty()) file["node"]["collectives"] = node_section(cluster.node, origin, node);
  if (!network.empty()) file["network"] = network_section(cluster.network, origin, network);
  return laid_out(file);
}

}  // namespace prequel
