#pragma once

/// Cost of collectives on one kind of link: device links inside a node or a domain, or the network
/// between them.

#include <optional>
#include <string_view>
#include <vector>

#include "hw/base/json_cursor.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// Constants of one algorithm on one kind of link:
///
///     transfer = wire / bandwidth + own / local_bandwidth
///     t        = latency + step·steps + sqrt(fill·transfer) + transfer
///
/// with `wire` the bytes that each rank sends and `own` the 1/n of the message that a rank keeps
/// and only copies, which is why two ranks reach less bus bandwidth than eight. The root is the
/// filling of the pipeline where the library bounds its chunks. Source: form fitted to public
/// nccl-tests tables (A100, H100, H200, B200, B300, GB200, GB300).
struct LinkModel {
  Seconds latency{};
  Seconds step{};
  BytesPerSecond bandwidth{};  ///< of one rank, one direction
  Seconds fill{};
  BytesPerSecond local_bandwidth{};  ///< of a rank's copy of its own part; 0: free
};

/// A link model for one operation, or one operation on one number of ranks, where the algorithm
/// or the wiring differs from the rest.
struct CollectiveOverride {
  CollectiveOp op{};
  int ranks{};  ///< 0: any number
  LinkModel link;
};

/// The collectives over device links: rings, and what the hardware has besides.
struct CollectiveModel {
  LinkModel ring;
  std::vector<CollectiveOverride> overrides;
  std::optional<LinkModel> tree;  ///< double binary tree, for all_reduce: 2·log2(n) steps
  std::optional<LinkModel> nvls;  ///< reduction in the switch, for all_reduce: no steps
  int nvls_min_ranks{};
};

/// The constants for an operation of so many ranks: the narrowest override that holds, or the
/// ring's.
const LinkModel& link_of(const CollectiveModel& model, CollectiveOp op, int ranks);

/// Bytes that each rank sends for every byte of the message (nccl-tests convention: the whole
/// buffer): all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all (n-1)/n; else 1.
double wire_factor(CollectiveOp op, int ranks);

/// Steps of a ring, one after another: all_reduce 2(n-1); send_recv 1; else n-1.
double ring_steps(CollectiveOp op, int ranks);

/// The part of the message that a rank keeps: 1/n, or nothing in broadcast and send_recv.
double own_factor(CollectiveOp op, int ranks);

/// The transfer in the equation of LinkModel.
Seconds transfer_time(const LinkModel& link, CollectiveOp op, int ranks, Bytes bytes);

/// Returns the time that the equation of LinkModel adds to a transfer.
Seconds waiting_time(const LinkModel& link, double steps, Seconds transfer);

/// Reads `{"latency_s", "step_s", "bandwidth", "fill_s"?, "local_bandwidth"?,
/// "overrides"?: [{"op", "ranks"?, …}],
/// "tree"?: {…}, "nvls"?: {"min_ranks", …}}`; problems go to the cursor's document.
CollectiveModel read_collectives(const Cursor& cursor);

/// The model with every rate at `fraction` of what it is.
CollectiveModel scaled(CollectiveModel model, double fraction);

/// The name that nccl-tests and tables use ("all_reduce"), and back.
std::string_view name(CollectiveOp op);
std::optional<CollectiveOp> collective_op(std::string_view text);

}  // namespace prequel
