#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_sample.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

constexpr std::size_t kFewestCollectives = 8;
/// An all_reduce that beats its own ring by more than this at large messages is reduced in the
/// switch.
constexpr double kInSwitch = 1.08;
constexpr double kLargeMessage = 6.4e7;

/// A median above so many times the tenth percentile is that of waiting for a processor, not of
/// the link: processes that share cores with others lose whole time slices.
constexpr double kUnsteady = 1.5;
constexpr double kFewestSamples = 2;
/// An operation off the common ring by more than this has constants of its own: a library's gather
/// need not go round the ring that its reduction goes.
constexpr double kOwnConstants = 1.15;

const MeasuredCollective& collective(const Measurement& point) {
  return std::get<MeasuredCollective>(point.what);
}

Points where(const Points& points, const std::function<bool(const MeasuredCollective&)>& keep) {
  Points kept;
  for (const Measurement* point : points) {
    if (keep(collective(*point))) kept.push_back(point);
  }
  return kept;
}

/// Steps and the part that a rank keeps show only between groups of different size.
std::vector<FreeConstant<LinkModel>> link_constants(bool many_sizes) {
  std::vector<FreeConstant<LinkModel>> constants{
      {{"latency_s", 8e-6, 1e-7, 1.0, 0.02}, &LinkModel::latency},
      {{"bandwidth", 1e11, 1e6, 2e12}, &LinkModel::bandwidth},
      {{"fill_s", 1e-5, 1e-8, 1.0, 0.02}, &LinkModel::fill},
  };
  if (!many_sizes) return constants;
  constants.push_back({{"step_s", 1e-6, 1e-9, 1e-3, 0.02}, &LinkModel::step});
  constants.push_back({{"local_bandwidth", 6e11, 1e9, 2e13, 0.05}, &LinkModel::local_bandwidth});
  return constants;
}

/// Steps show only between groups of different size.
std::vector<FreeConstant<NetworkModel>> network_constants(bool many_sizes) {
  const auto of_link = [](Seconds LinkModel::*member) {
    return [member](NetworkModel& network, double value) { network.link.*member = {value}; };
  };
  std::vector<FreeConstant<NetworkModel>> constants{
      {{"efficiency", 0.8, 0.005, 1.0}, &NetworkModel::efficiency},
      {{"latency_s", 2e-5, 1e-7, 1.0, 0.02}, of_link(&LinkModel::latency)},
      {{"fill_s", 1e-5, 1e-9, 1.0, 0.02}, of_link(&LinkModel::fill)},
  };
  if (many_sizes) {
    constants.push_back({{"step_latency_s", 4e-6, 1e-9, 1e-2, 0.02}, of_link(&LinkModel::step)});
  }
  return constants;
}

bool has_many_sizes(const Points& points) {
  return std::ranges::any_of(points, [&](const Measurement* point) {
    return collective(*point).ranks != collective(*points.front()).ranks;
  });
}

/// Returns the time of a ring, or of an algorithm without steps.
Seconds link_time(const LinkModel& link, const MeasuredCollective& what) {
  const Seconds transfer = transfer_time(link, what.op, what.ranks, what.bytes);
  return transfer + waiting_time(link, ring_steps(what.op, what.ranks), transfer);
}

std::pair<FitReport, LinkModel> fit_link(const std::string& what, const Points& points,
                                         const FitOptions& options) {
  const auto prices = [](const LinkModel& link) {
    return [link](const Measurement& point) { return link_time(link, collective(point)); };
  };
  LinkModel link;
  FitReport report = fit_model(what, split_sample(points, message_size, options),
                               link_constants(has_many_sizes(points)), prices, options, link);
  return {std::move(report), link};
}

/// Median of predicted / measured.
double median_ratio(const LinkModel& link, const Points& points) {
  std::vector<double> ratios;
  for (const Measurement* point : points) {
    ratios.push_back(link_time(link, collective(*point)) / point->time);
  }
  return quantile(std::move(ratios), 0.5);
}

/// Median of predicted / measured over the large messages.
double too_slow(const LinkModel& ring, const Points& points) {
  return median_ratio(ring, where(points, [](const MeasuredCollective& what) {
                        return what.bytes.value >= kLargeMessage;
                      }));
}

/// Where the same was measured with one group and with several at once, only what the most groups
/// took: in training, every group of a kind communicates at the same time.
void keep_most_groups(Points& points) {
  std::map<int, int> most;
  for (const Measurement* point : points) {
    int& groups = most[collective(*point).ranks];
    groups = std::max(groups, collective(*point).groups);
  }
  std::erase_if(points, [&most](const Measurement* point) {
    return collective(*point).groups < most.at(collective(*point).ranks);
  });
}

std::optional<double> cell(const Measurement& point, const char* key) {
  const auto found = point.fields.find(key);
  return found == point.fields.end() ? std::nullopt : parse_number(found->second);
}

/// By what the point says of its samples; one that says nothing of them is steady.
bool is_steady(const Measurement& point) {
  const auto samples = cell(point, "samples");
  const auto fast = cell(point, "p10_s");
  if (samples && *samples < kFewestSamples) return false;
  return !fast || point.time.value <= kUnsteady * *fast;
}

/// Leaves steady points only, where these are enough for a fit; returns how many it left out.
std::size_t drop_unsteady(Points& points) {
  Points steady;
  for (const Measurement* point : points) {
    if (is_steady(*point)) steady.push_back(point);
  }
  if (steady.size() < kFewestCollectives) return 0;
  std::swap(points, steady);
  return steady.size() - points.size();
}

bool is_ring(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
         op == CollectiveOp::reduce_scatter;
}

/// Gives operations that are off the common ring constants of their own, and the ring to the rest.
void add_own_constants(const Points& rings, const FitOptions& options, CollectiveModel& node,
                       std::vector<FitReport>& reports) {
  Points rest = rings;
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    const auto is_own = [op](const MeasuredCollective& what) { return what.op == op; };
    const Points own = where(rings, is_own);
    const bool in_switches = node.nvls && op == CollectiveOp::all_reduce;
    if (own.size() < kFewestCollectives || own.size() == rest.size() || in_switches) continue;
    if (std::abs(std::log(median_ratio(node.ring, own))) < std::log(kOwnConstants)) continue;
    auto [report, link] = fit_link(std::string(name(op)), own, options);
    node.overrides.push_back({op, 0, link});
    reports.push_back(std::move(report));
    std::erase_if(rest, [&](const Measurement* point) { return is_own(collective(*point)); });
  }
  const bool enough = !node.nvls && rest.size() >= kFewestCollectives;
  if (enough && rest.size() < rings.size()) {
    std::tie(reports.front(), node.ring) = fit_link("ring", rest, options);
  }
}

}  // namespace

std::vector<FitReport> fit_collectives(const std::vector<Measurement>& points,
                                       const FitOptions& options, CollectiveModel& node) {
  Points all = points_of<MeasuredCollective>(
      points, [](const MeasuredCollective& what) { return what.nodes == 1 && what.ranks > 1; });
  int most = 0;
  for (const Measurement* point : all) most = std::max(most, collective(*point).ranks);
  keep_most_groups(all);
  const std::size_t unsteady = drop_unsteady(all);
  const auto in_switch = [most](const MeasuredCollective& what) {
    return what.op == CollectiveOp::all_reduce && what.ranks == most;
  };
  std::vector<FitReport> reports;
  const Points rings = where(all, [](const MeasuredCollective& what) { return is_ring(what.op); });
  const Points certain_rings =
      where(rings, [&](const MeasuredCollective& what) { return !in_switch(what); });
  const Points candidates = where(rings, in_switch);
  if (rings.size() >= kFewestCollectives) {
    const bool enough = certain_rings.size() >= kFewestCollectives;
    auto [report, ring] = fit_link("ring", enough ? certain_rings : rings, options);
    const bool switches =
        enough && candidates.size() >= kFewestCollectives && too_slow(ring, candidates) > kInSwitch;
    if (enough && !switches) std::tie(report, ring) = fit_link("ring", rings, options);
    node = CollectiveModel{};
    node.ring = ring;
    reports.push_back(std::move(report));
    if (switches) {
      auto [nvls_report, nvls] = fit_link("all_reduce in the switch", candidates, options);
      node.nvls = nvls;
      node.nvls_min_ranks = most;
      reports.push_back(std::move(nvls_report));
    }
  }
  if (!reports.empty()) add_own_constants(rings, options, node, reports);
  for (const CollectiveOp op :
       {CollectiveOp::all_to_all, CollectiveOp::broadcast, CollectiveOp::send_recv}) {
    const Points own = where(all, [op](const MeasuredCollective& what) { return what.op == op; });
    if (own.size() < kFewestCollectives) continue;
    auto [report, link] = fit_link(std::string(name(op)), own, options);
    std::erase_if(node.overrides, [op](const CollectiveOverride& other) { return other.op == op; });
    node.overrides.push_back({op, 0, link});
    reports.push_back(std::move(report));
  }
  if (unsteady > 0 && !reports.empty()) {
    reports.front().warnings.push_back(
        fmt::format("{} points left out: their samples scatter, or there is one alone", unsteady));
  }
  return reports;
}

std::vector<FitReport> fit_network(const std::vector<Measurement>& points,
                                   const FitOptions& options, Cluster& cluster) {
  const Points across = points_of<MeasuredCollective>(
      points, [](const MeasuredCollective& what) { return what.nodes > 1; });
  if (across.size() < kFewestCollectives) return {};
  const auto prices = [&cluster](const NetworkModel& network) {
    Cluster trial = cluster;
    trial.network = network;
    return [trial](const Measurement& point) { return predict(trial, point); };
  };
  return {fit_model("network", split_sample(across, message_size, options),
                    network_constants(has_many_sizes(across)), prices, options, cluster.network)};
}

}  // namespace prequel
