#include "calibrate/fit/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/dispatch.hpp"

namespace prequel {
namespace {

struct PricesOnDevice {
  const Device& device;

  Seconds operator()(const Gemm& gemm) const { return price(device, gemm); }
  Seconds operator()(const MeasuredKernels& measured) const {
    Seconds sum{};
    for (const auto& kernel : measured.kernels) {
      sum += std::visit([this](const auto& what) { return price(device, what); }, kernel);
    }
    return sum;
  }
  Seconds operator()(const MeasuredStream& measured) const {
    return price(device, measured.stream) * measured.count;
  }
  Seconds operator()(const MeasuredAttention& measured) const {
    return price(device, measured.attention, measured.kernel);
  }
  Seconds operator()(const MeasuredCopy& copy) const {
    if (!copy.pinned) throw InputError("copies of pageable memory have no model");
    return host_copy_time(device, copy.bytes);
  }
  Seconds operator()(const MeasuredBeside& measured) const {
    return price(device, measured.gemm) * (1.0 + device.overlap_loss);
  }
  Seconds operator()(const MeasuredOther& other) const {
    throw InputError(other.op + " has no model");
  }
  Seconds operator()(const MeasuredDispatch&) const {
    throw InputError("a device dispatches nothing to others; check it against a cluster");
  }
  Seconds operator()(const MeasuredCollective&) const {
    throw InputError("a device has no collectives; check them against a cluster");
  }
};

/// The cell of a column, which every point must have.
const std::string& column(const Measurement& point, const std::string& name) {
  const auto found = point.fields.find(name);
  if (found != point.fields.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& field : point.fields) known.push_back(field.first);
  throw InputError(
      fmt::format("the measurements have no column \"{}\"{}", name, did_you_mean(name, known)));
}

struct Pair {
  const Measurement* point{};
  double ratio{};  ///< predicted / measured
};

}  // namespace

Seconds predict(const Device& device, const Measurement& point) {
  return std::visit(PricesOnDevice{device}, point.what);
}

Seconds predict(const Cluster& cluster, const Measurement& point) {
  // A log whose head is cut names fewer nodes than its ranks fill.
  const auto group_of = [&](const auto& measured) {
    const std::int64_t filled =
        (measured.ranks + cluster.devices_per_node - 1) / cluster.devices_per_node;
    return lone_group_shape(cluster, measured.ranks,
                            std::max<std::int64_t>(measured.nodes, filled));
  };
  if (const auto* what = std::get_if<MeasuredDispatch>(&point.what)) {
    return price(cluster, group_of(*what), what->dispatch, what->units).time();
  }
  const auto* measured = std::get_if<MeasuredCollective>(&point.what);
  if (!measured) {
    throw InputError("a cluster has collectives and dispatchers; check kernels against a device");
  }
  return collective_time(cluster, measured->op, group_of(*measured), measured->bytes);
}

Check check(const std::vector<Measurement>& points, const Predictor& predictor,
            const CheckOptions& options) {
  std::vector<Pair> pairs;
  std::set<std::string> reasons;
  for (const Measurement& point : points) {
    try {
      pairs.push_back({&point, predictor(point) / point.time});
    } catch (const InputError& error) {
      reasons.insert(error.what());
    }
  }
  if (pairs.empty()) {
    throw InputError(fmt::format("none of the {} measured points can be predicted: {}",
                                 points.size(), reasons.empty() ? "no points" : *reasons.begin()));
  }

  std::map<std::string, std::vector<double>> environments;
  if (!options.scale_per.empty()) {
    for (const Pair& pair : pairs) {
      environments[column(*pair.point, options.scale_per)].push_back(1.0 / pair.ratio);
    }
  }
  Check result;
  std::map<std::string, double> scale_of;
  for (auto& [environment, scales] : environments) {
    const double scale = quantile(std::move(scales), 0.5);
    scale_of[environment] = scale;
    result.scales.push_back({environment, scale});
  }

  struct Members {
    std::vector<double> errors;
    std::vector<double> scales;
  };
  std::map<std::string, Members> groups;
  for (const Pair& pair : pairs) {
    const double scale =
        scale_of.empty() ? 1.0 : scale_of.at(column(*pair.point, options.scale_per));
    Members& members = groups[options.by.empty() ? "all" : column(*pair.point, options.by)];
    members.errors.push_back(pair.ratio * scale - 1.0);
    members.scales.push_back(1.0 / pair.ratio);
  }
  for (auto& [name, members] : groups) {
    result.groups.push_back(
        {name, error_statistics(members.errors), quantile(std::move(members.scales), 0.5)});
  }
  result.not_predicted.assign(reasons.begin(), reasons.end());
  return result;
}

}  // namespace prequel
