#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"

namespace prequel {
namespace {

/// Below it a copy is mostly the time to start it, which offload, in large pieces, does not see.
constexpr double kSmallestCopy = 1048576.0;

std::string copied_bytes(const Measurement& point) {
  return fmt::format("{:.0f}", std::get<MeasuredCopy>(point.what).bytes.value);
}

const Gemm& product(const Measurement& point) {
  return std::get<MeasuredBeside>(point.what).gemm;
}

std::string beside_weight_shape(const Measurement& point) {
  return weight_shape(product(point));
}

/// Median times of the products alone.
std::map<Gemm, Seconds> times_alone(const std::vector<Measurement>& points) {
  std::map<Gemm, std::vector<double>> measured;
  for (const Measurement& point : points) {
    if (const auto* gemm = std::get_if<Gemm>(&point.what)) {
      measured[*gemm].push_back(point.time.value);
    }
  }
  std::map<Gemm, Seconds> times;
  for (auto& [gemm, samples] : measured) times[gemm] = {quantile(std::move(samples), 0.5)};
  return times;
}

/// Points of one kind, and how many a fit needs; 0: nothing is fitted to them.
struct Kind {
  std::string name;
  std::size_t needed{};
};

struct KindOf {
  Kind operator()(const Gemm&) const { return {}; }
  Kind operator()(const MeasuredKernels&) const { return {}; }
  Kind operator()(const MeasuredCollective&) const { return {}; }
  Kind operator()(const MeasuredDispatch& measured) const {
    return {measured.dispatch.combine ? "combine" : "dispatch"};
  }
  Kind operator()(const MeasuredStream& measured) const {
    return {std::string(name(measured.stream.kind)), kFewestStreams};
  }
  Kind operator()(const MeasuredAttention& measured) const {
    const FusedAttention& what = measured.attention;
    return {fmt::format("attention {} {} {}", measured.kernel, what.head_dim,
                        what.backward ? "backward" : "forward"),
            kFewestAttentions};
  }
  Kind operator()(const MeasuredCopy& copy) const {
    if (!copy.pinned) return {"copies of pageable memory"};
    return {"copies between host and device", kFewestCopies};
  }
  Kind operator()(const MeasuredBeside&) const { return {"gemm_beside_collective", kFewestBeside}; }
  Kind operator()(const MeasuredOther& other) const { return {other.op}; }
};

/// Tests whether a kind has a report: few points may move a rate alone.
bool has_report(const std::vector<FitReport>& fitted, const std::string& kind) {
  return std::ranges::any_of(fitted, [&](const FitReport& report) {
    return report.what == kind || "attention " + report.what == kind;
  });
}

}  // namespace

std::vector<FitReport> fit_host_link(const std::vector<Measurement>& points,
                                     const FitOptions& options, Device& device) {
  const Points copies = points_of<MeasuredCopy>(points, [](const MeasuredCopy& copy) {
    return copy.pinned && copy.bytes.value >= kSmallestCopy;
  });
  if (copies.size() < kFewestCopies) return {};
  const auto prices = [](const Device& trial) {
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  return {fit_model<Device>("host_link", split_sample(copies, copied_bytes, options),
                            {{{"rate", device.host_link.value, 1e8, 1e13}, &Device::host_link}},
                            prices, options, device)};
}

std::vector<FitReport> fit_overlap(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device) {
  const std::map<Gemm, Seconds> alone = times_alone(points);
  const Points beside = points_of<MeasuredBeside>(
      points, [&](const MeasuredBeside& what) { return alone.contains(what.gemm); });
  if (beside.size() < kFewestBeside) return {};
  const auto prices = [&alone](const Device& trial) {
    return [&alone, loss = trial.overlap_loss](const Measurement& point) {
      return alone.at(product(point)) * (1.0 + loss);
    };
  };
  return {fit_model<Device>("overlap", split_sample(beside, beside_weight_shape, options),
                            {{{"loss", 0.3, 1e-4, 1.0}, &Device::overlap_loss}}, prices, options,
                            device)};
}

DeviceFits fit_device(const std::vector<Measurement>& points, const FitOptions& options,
                      Device& device) {
  DeviceFits fits;
  fits.streams = fit_streams(points, options, device);  // casts before the products with them
  fits.gemm = fit_gemm(points, options, device);
  fits.attention = fit_attention(points, options, device);
  fits.experts = fit_experts(points, options, device);
  fits.host_link = fit_host_link(points, options, device);
  fits.overlap = fit_overlap(points, options, device);
  return fits;
}

std::vector<FitReport> all_reports(const DeviceFits& fits) {
  std::vector<FitReport> all;
  for (const auto* part : {&fits.gemm, &fits.streams, &fits.attention, &fits.experts,
                           &fits.host_link, &fits.overlap}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

std::vector<std::string> not_fitted(const std::vector<Measurement>& points,
                                    const std::vector<FitReport>& fitted) {
  struct Count {
    std::size_t points{};
    std::size_t needed{};
  };
  std::map<std::string, Count> counts;
  for (const Measurement& point : points) {
    const Kind kind = std::visit(KindOf{}, point.what);
    if (kind.name.empty()) continue;
    Count& count = counts[kind.name];
    count = {count.points + 1, kind.needed};
  }
  std::vector<std::string> lines;
  for (const auto& [kind, count] : counts) {
    if (count.needed == 0) {
      lines.push_back(
          fmt::format("{}: {} points, for which there is no model", kind, count.points));
    } else if (count.points < count.needed && !has_report(fitted, kind)) {
      lines.push_back(fmt::format("{}: {} of {} points needed; as in the base file", kind,
                                  count.points, count.needed));
    }
  }
  return lines;
}

}  // namespace prequel
