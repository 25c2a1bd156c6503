#pragma once

/// Expert parallelism: what tokens put on links on their way to the experts and back, and what
/// that takes.

#include "hw/cluster.hpp"
#include "hw/dispatch_model.hpp"

namespace prequel {

/// In how many of `blocks` equal parts of the experts (ranks, or nodes) a token's experts lie on
/// average, when the router chooses evenly and none of E experts twice. Without groups, k of them
/// hit
///
///     n (1 - C(E - E/n, k) / C(E, k)),    E many: n (1 - (1 - 1/n)^k)
///
/// With group-limited routing (t of g groups of experts, DeepSeek-V2 and V3) the candidates are
/// the t·E/g experts on the t·n/g blocks of the chosen groups where n >= g; else on the blocks that
/// hold a chosen group, n (1 - prod_{i<t} (g - g/n - i) / (g - i)).
double hits(double blocks, const Dispatch& dispatch);

/// What one rank sends, in bytes.
struct DispatchBytes {
  Bytes device{};   ///< over device links
  Bytes network{};  ///< over the network

  bool operator==(const DispatchBytes&) const = default;
};

/// What each rank of a group of `ranks`, `in_domain` of them joined by device links, sends in one
/// transfer, its own part left out:
///
///     allgather          every token to every rank
///     alltoall           a copy a chosen expert
///     deepep, hybridep   a copy a rank that holds a chosen expert, over the network one a domain
DispatchBytes dispatch_bytes(const Dispatch& dispatch, std::int64_t ranks, std::int64_t in_domain);

/// Whether the network has the RDMA verbs that dispatchers ask for which do without NCCL, as far as
/// the cluster's file tells.
bool network_carries(const Cluster& cluster, Dispatcher dispatcher);

/// One transfer to the experts, or back, over an expert-parallel group; nothing for one rank.
/// allgather, and dispatchers of which the cluster knows no constants, cost what the collectives
/// of the same bytes do. Throws as `network_rate`.
/// `units`, unless 0, are the compute units that the kernels take.
CollectivePrice price(const Cluster& cluster, const GroupShape& group, const Dispatch& dispatch,
                      double units = 0.0);

/// The same, taken apart.
PriceExplanation explain_dispatch(const Cluster& cluster, const GroupShape& group,
                                  const Dispatch& dispatch);

}  // namespace prequel
