#pragma once

/// The algorithms of collectives over the levels of a cluster, as one table, and what they cost.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "hw/collectives/collective.hpp"

namespace prequel {

/// The time of a collective or a dispatch, and its parts.
struct CollectivePrice {
  std::string_view algorithm;  ///< "ring", "tree", …, or the dispatcher
  Seconds latency{};           ///< starts, steps, and filling of pipelines
  Seconds device{};            ///< transfers on device links, as far as no other hides them
  Seconds network{};           ///< transfers on the network, likewise
  Bytes sent{};  ///< by each rank over the network, or over device links where it does not cross it

  [[nodiscard]] Seconds time() const { return latency + device + network; }
};

/// A group as its collectives see it: blocks of members joined by device links, and the network
/// between them.
struct Levels {
  int ranks{1};
  int members{1};                   ///< in one block; the last may have fewer
  const CollectiveModel* device{};  ///< inside a block
  /// Between blocks. Its bandwidth is what each member sends when all do; a step is one to another
  /// block.
  LinkModel network;
  bool pat{};  ///< the library has parallel aggregated trees (NCCL 2.23 and later)

  [[nodiscard]] int blocks() const { return (ranks + members - 1) / members; }
  [[nodiscard]] bool crosses() const { return members < ranks; }
  /// Tests whether every block holds the same number of members, which hierarchies want.
  [[nodiscard]] bool even() const { return ranks % members == 0; }
};

/// The cheapest algorithm that the levels have, of `bytes` in the convention of nccl-tests (the
/// buffer of an all-reduce, the whole of an all-gather, reduce-scatter or all-to-all); nothing
/// for one rank. With m members in each of N blocks, n ranks:
///
///     inside a block
///       ring                 n-1 steps, twice for an all-reduce
///       direct               all-to-all, all peers at once
///       tree                 all-reduce: 2·log2(n) steps
///       in-switch            all-reduce in the switch: no steps
///     across blocks
///       ring                 over all ranks: N-1 steps on the network, n-N on device links
///       hierarchical         all-gather, reduce-scatter: along rails and inside blocks at once
///       PAT                  the same where m is 1, in log2(N) steps
///       tree over blocks     all-reduce: scattered inside, a double binary tree, gathered inside;
///                            twice the message leaves a block (Sanders, Speck and Träff 2009)
///       in-switch tree       the same, reduced in the switch while the tree goes on: 2(N-1)/N
///       direct               all-to-all: one message a peer
///       hierarchical         all-to-all: inside blocks, then one message a block
CollectivePrice cheapest(CollectiveOp op, const Levels& levels, Bytes bytes);

}  // namespace prequel
