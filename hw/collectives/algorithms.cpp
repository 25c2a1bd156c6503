#include "hw/collectives/algorithms.hpp"

#include <array>
#include <cmath>
#include <optional>

#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

using Op = CollectiveOp;

double log2_up(int count) {
  return std::ceil(portable::log2(count));
}

bool gathers_or_scatters(Op op) {
  return op == Op::all_gather || op == Op::reduce_scatter;
}

CollectivePrice inside(const LinkModel& link, Op op, int ranks, Bytes bytes, double steps) {
  const Seconds transfer = transfer_time(link, op, ranks, bytes);
  return {{}, waiting_time(link, steps, transfer), transfer, {}, bytes * wire_factor(op, ranks)};
}

/// Transfers that go on at the same time: the longer one shows.
CollectivePrice beside(Seconds latency, Seconds device, Seconds network, Bytes sent) {
  if (network >= device) return {{}, latency, {}, network, sent};
  return {{}, latency, device, {}, sent};
}

/// Returns the time on a network that carries `sent` bytes of each rank.
Seconds network_time(const Levels& levels, Bytes sent) {
  return sent / levels.network.bandwidth;
}

// Inside one block.

bool is_inside(Op op, const Levels& levels) {
  return !levels.crosses() && op != Op::all_to_all;
}

CollectivePrice ring_inside(Op op, const Levels& levels, Bytes bytes) {
  const int n = levels.ranks;
  return inside(link_of(*levels.device, op, n), op, n, bytes, ring_steps(op, n));
}

bool is_exchange_inside(Op op, const Levels& levels) {
  return !levels.crosses() && op == Op::all_to_all;
}

bool has_tree(Op op, const Levels& levels) {
  return !levels.crosses() && op == Op::all_reduce && levels.device->tree;
}

CollectivePrice tree_inside(Op op, const Levels& levels, Bytes bytes) {
  return inside(*levels.device->tree, op, levels.ranks, bytes, 2.0 * portable::log2(levels.ranks));
}

bool reduces_in_switch(const Levels& levels) {
  return levels.device->nvls && levels.members >= levels.device->nvls_min_ranks;
}

bool has_switch(Op op, const Levels& levels) {
  return !levels.crosses() && op == Op::all_reduce && reduces_in_switch(levels);
}

CollectivePrice in_switch(Op op, const Levels& levels, Bytes bytes) {
  return inside(*levels.device->nvls, op, levels.ranks, bytes, 0.0);
}

// Across blocks.

bool rings_across(Op op, const Levels& levels) {
  return levels.crosses() && op != Op::all_to_all;
}

CollectivePrice ring_across(Op op, const Levels& levels, Bytes bytes) {
  const int n = levels.ranks;
  const LinkModel& device = link_of(*levels.device, op, levels.members);
  const Bytes sent = bytes * wire_factor(op, n);
  // The ring passes device links between the blocks' borders, at no more than their rate.
  const Seconds hidden = levels.members > 1 ? sent / device.bandwidth : Seconds{};
  const Seconds transfer = std::max(network_time(levels, sent), hidden);
  const double crossings = ring_steps(op, levels.blocks());
  const Seconds inner_steps = device.step * (ring_steps(op, n) - crossings);
  return {{}, waiting_time(levels.network, crossings, transfer) + inner_steps, {}, transfer, sent};
}

bool has_rails(Op op, const Levels& levels) {
  return levels.crosses() && levels.members > 1 && levels.even() && gathers_or_scatters(op);
}

CollectivePrice along_rails(Op op, const Levels& levels, Bytes bytes) {
  const LinkModel& device = link_of(*levels.device, op, levels.members);
  const CollectivePrice block =
      inside(device, op, levels.members, bytes, ring_steps(op, levels.members));
  const Bytes sent = bytes * wire_factor(op, levels.ranks);
  const Seconds transfer = network_time(levels, sent);
  const double steps = levels.pat ? log2_up(levels.blocks()) : ring_steps(op, levels.blocks());
  return beside(waiting_time(levels.network, steps, transfer) + block.latency, block.device,
                transfer, sent);
}

bool has_pat(Op op, const Levels& levels) {
  return levels.crosses() && levels.members == 1 && levels.pat && gathers_or_scatters(op);
}

CollectivePrice pat(Op op, const Levels& levels, Bytes bytes) {
  const Bytes sent = bytes * wire_factor(op, levels.ranks);
  const Seconds transfer = network_time(levels, sent);
  return {{}, waiting_time(levels.network, log2_up(levels.ranks), transfer), {}, transfer, sent};
}

bool has_block_tree(Op op, const Levels& levels) {
  return levels.crosses() && levels.even() && op == Op::all_reduce;
}

CollectivePrice tree_over_blocks(Op, const Levels& levels, Bytes bytes) {
  Levels block{levels.members, levels.members, levels.device, {}, false};
  const CollectivePrice scatter = cheapest(Op::reduce_scatter, block, bytes);
  const CollectivePrice gather = cheapest(Op::all_gather, block, bytes);
  const Bytes sent = bytes * 2.0;
  const Seconds transfer = network_time(levels, sent);
  const Seconds latency = waiting_time(levels.network, 2.0 * log2_up(levels.blocks()), transfer) +
                          scatter.latency + gather.latency;
  return {{}, latency, scatter.device + gather.device, transfer, sent};
}

bool has_switch_tree(Op op, const Levels& levels) {
  return has_block_tree(op, levels) && reduces_in_switch(levels);
}

CollectivePrice switch_tree(Op op, const Levels& levels, Bytes bytes) {
  const CollectivePrice block = inside(*levels.device->nvls, op, levels.members, bytes, 0.0);
  const Bytes sent = bytes * wire_factor(op, levels.blocks());
  const Seconds transfer = network_time(levels, sent);
  const double steps = 2.0 * log2_up(levels.blocks());
  // The same kernels feed switch and NICs, so that neither hides the other wholly: the 4-norm
  // meets 16 ranks on two nodes of H100 and of B200 (coreweave/nccl-tests pull 92) within 10 %.
  const Seconds longer = std::max(block.device, transfer);
  const Seconds both{portable::four_norm(block.device.value, transfer.value)};
  CollectivePrice price = beside(waiting_time(levels.network, steps, transfer) + block.latency,
                                 block.device, transfer, sent);
  (transfer >= block.device ? price.device : price.network) = both - longer;
  return price;
}

bool exchanges_across(Op op, const Levels& levels) {
  return levels.crosses() && op == Op::all_to_all;
}

/// A message to each of `peers` on the network costs its sender as much as one on device links.
Seconds message_time(const Levels& levels, int peers) {
  return link_of(*levels.device, Op::all_to_all, levels.members).step * peers;
}

CollectivePrice exchange_across(Op op, const Levels& levels, Bytes bytes) {
  const Bytes sent = bytes * wire_factor(op, levels.ranks);
  const Seconds transfer = network_time(levels, sent);
  return {{},
          waiting_time(levels.network, 0.0, transfer) + message_time(levels, levels.ranks - 1),
          {},
          transfer,
          sent};
}

bool exchanges_by_blocks(Op op, const Levels& levels) {
  return exchanges_across(op, levels) && levels.members > 1 && levels.even();
}

CollectivePrice exchange_by_blocks(Op op, const Levels& levels, Bytes bytes) {
  const int m = levels.members;
  const CollectivePrice block = inside(link_of(*levels.device, op, m), op, m, bytes, m - 1.0);
  const Bytes sent = bytes * wire_factor(op, levels.ranks);
  const Seconds transfer = network_time(levels, sent);
  return {{},
          waiting_time(levels.network, 0.0, transfer) + block.latency +
              message_time(levels, levels.blocks() - 1),
          block.device,
          transfer,
          sent};
}

struct Algorithm {
  std::string_view name;
  bool (*can)(Op, const Levels&);
  CollectivePrice (*cost)(Op, const Levels&, Bytes);
};

constexpr std::array kAlgorithms{
    Algorithm{"ring", is_inside, ring_inside},
    Algorithm{"direct", is_exchange_inside, ring_inside},
    Algorithm{"tree", has_tree, tree_inside},
    Algorithm{"in-switch", has_switch, in_switch},
    Algorithm{"ring", rings_across, ring_across},
    Algorithm{"hierarchical", has_rails, along_rails},
    Algorithm{"PAT", has_pat, pat},
    Algorithm{"tree over blocks", has_block_tree, tree_over_blocks},
    Algorithm{"in-switch tree", has_switch_tree, switch_tree},
    Algorithm{"direct", exchanges_across, exchange_across},
    Algorithm{"hierarchical", exchanges_by_blocks, exchange_by_blocks},
};

}  // namespace

CollectivePrice cheapest(CollectiveOp op, const Levels& levels, Bytes bytes) {
  if (levels.ranks <= 1) return {};
  std::optional<CollectivePrice> best;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (!algorithm.can(op, levels)) continue;
    CollectivePrice price = algorithm.cost(op, levels, bytes);
    if (best && price.time() >= best->time()) continue;
    price.algorithm = algorithm.name;
    best = price;
  }
  return *best;
}

}  // namespace prequel
