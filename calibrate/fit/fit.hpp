#pragma once

/// Measurements to constants: each model by itself.

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/fit/check.hpp"
#include "calibrate/readings/measurement.hpp"
#include "calibrate/statistics/error_statistics.hpp"
#include "calibrate/statistics/least_squares.hpp"
#include "hw/collectives/collective.hpp"
#include "hw/device.hpp"

namespace prequel {

struct FitOptions {
  /// Parts of the shapes; each is predicted by a fit to the others for the held-out error. 1: none.
  int folds{2};
  std::string scale_per{"source"};  ///< column that names the environment; "" for one environment
  /// The device is that of the points: where they are too few for all constants, they move the rate
  /// alone, and the rest stays as the device has it.
  bool same_device{false};
};

/// Points without which a kind of memory-bound kernel, a pass of an attention kernel at one head
/// size, the link to the host, or the loss by overlap keeps the constants it had, or all but its
/// rate (`FitOptions::same_device`).
inline constexpr std::size_t kFewestStreams = 8;
inline constexpr std::size_t kFewestAttentions = 8;
inline constexpr std::size_t kFewestExperts = 12;
inline constexpr std::size_t kFewestCopies = 4;
inline constexpr std::size_t kFewestBeside = 3;

/// Nodes and ranks of the groups that collectives were measured in; empty for kernels.
using CollectiveGroups = std::set<std::pair<int, int>>;
/// "2, 4 and 8 ranks of 1 node, 16 ranks of 2 nodes".
std::string groups_text(const CollectiveGroups& groups);

/// How one model was fitted.
struct FitReport {
  std::string what;     ///< "gemm", "layer_norm", "flash-2 128 forward", …
  std::string sources;  ///< of the measurements, from their `source` column
  CollectiveGroups groups;
  std::vector<FittedConstant> constants;
  ErrorStatistics errors;  ///< over all points, which the constants are fitted to
  ErrorStatistics
      held_out_errors;  ///< each shape predicted by a fit without it; n = 0: none held out
  std::vector<std::string> warnings;
};

/// Tiled GEMM constants of 16-bit products and of each 8- and 4-bit format, from products of at
/// least 1 GFLOP and 64 rows, for forward passes; casts that were timed with them count as the
/// device prices them. The tiles and the start come from the device. Nothing is fitted from fewer
/// than 30 products, but the rate (`FitOptions::same_device`) from 3.
/// Weight shapes (n, k) are held out whole. From 10 weight gradients, or 4 products off the tensor
/// cores, their ratios follow too. A device with a flat model gets its rate and launch from all
/// forward products.
std::vector<FitReport> fit_gemm(const std::vector<Measurement>& points, const FitOptions& options,
                                Device& device);

/// Constants of every kind of memory-bound kernel that has at least `kFewestStreams` points; row
/// widths are held out whole. From 12 points on, rows may cost of their own; where partly
/// filled waves of rows show, how many rows a compute unit holds is chosen among 1 and 2 by the
/// points.
std::vector<FitReport> fit_streams(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device);

/// Constants of every (kernel, head sizes, format, pass) with at least `kFewestAttentions` points,
/// and of each kernel's windows; kernels that the device lacks are added. Head counts are held out
/// whole.
std::vector<FitReport> fit_attention(const std::vector<Measurement>& points,
                                     const FitOptions& options, Device& device);

/// Fits the cost of experts' products beside their tiles and, where whole layers were timed, of the
/// permutation of tokens, from at least `kFewestExperts` points; weight shapes are held out whole.
std::vector<FitReport> fit_experts(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device);

/// The rate of the link between host and device, from pinned copies of 1 MiB or more in both
/// directions, which count alike. Sizes are held out.
std::vector<FitReport> fit_host_link(const std::vector<Measurement>& points,
                                     const FitOptions& options, Device& device);

/// `overlap_loss`: by which share more time products take beside a collective than alone, where
/// they were measured both ways. Weight shapes are held out.
std::vector<FitReport> fit_overlap(const std::vector<Measurement>& points,
                                   const FitOptions& options, Device& device);

/// The fits of a device, by the section of its file.
struct DeviceFits {
  std::vector<FitReport> gemm;
  std::vector<FitReport> streams;
  std::vector<FitReport> attention;
  std::vector<FitReport> experts;
  std::vector<FitReport> host_link;
  std::vector<FitReport> overlap;
};

/// All fits of a device above, one after another.
DeviceFits fit_device(const std::vector<Measurement>& points, const FitOptions& options,
                      Device& device);

/// Every report, in the order of the members.
std::vector<FitReport> all_reports(const DeviceFits& fits);

/// Returns the measured kernels whose constants a fit of a device leaves as they were: "gelu: 4 of
/// 8 points needed; as in the base file".
std::vector<std::string> not_fitted(const std::vector<Measurement>& points,
                                    const std::vector<FitReport>& fitted = {});

/// Constants of collectives inside one node: a ring for all operations, others for all_to_all and
/// what the ring does not fit, and a reduction in the switch where all_reduce outruns the ring.
/// Points whose samples scatter (a median above 1.5 times the tenth percentile) are left out.
/// Message sizes are held out. Where one group was measured alone and several at once, those at
/// once count.
std::vector<FitReport> fit_collectives(const std::vector<Measurement>& points,
                                       const FitOptions& options, CollectiveModel& node);

/// Fits the share of the cluster's network that collectives across nodes get, from points of two
/// nodes or more; the constants inside its nodes stay. Message sizes are held out.
std::vector<FitReport> fit_network(const std::vector<Measurement>& points,
                                   const FitOptions& options, Cluster& cluster);

}  // namespace prequel
