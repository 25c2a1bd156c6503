#include "hw/collectives/collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace prequel {
namespace {

constexpr std::array<std::string_view, 6> kNames{"all_reduce", "all_gather", "reduce_scatter",
                                                 "all_to_all", "broadcast",  "send_recv"};

LinkModel read_link(const Cursor& cursor) {
  const auto optional_time = [&cursor](std::string_view key) {
    const auto found = cursor.find(key);
    return Seconds{found ? found->number(kNonNegative) : 0.0};
  };
  LinkModel link;
  link.latency = {cursor.at("latency_s").number(kNonNegative)};
  link.step = optional_time("step_s");
  link.bandwidth = cursor.at("bandwidth").rate();
  link.fill = optional_time("fill_s");
  if (const auto local = cursor.find("local_bandwidth")) link.local_bandwidth = local->rate();
  return link;
}

}  // namespace

double wire_factor(CollectiveOp op, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (op) {
    case CollectiveOp::all_reduce: return 2.0 * others;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all: return others;
    case CollectiveOp::broadcast:
    case CollectiveOp::send_recv: return 1.0;
  }
  return 1.0;
}

double ring_steps(CollectiveOp op, int ranks) {
  switch (op) {
    case CollectiveOp::all_reduce: return 2.0 * (ranks - 1);
    case CollectiveOp::send_recv: return 1.0;
    default: return ranks - 1.0;
  }
}

double own_factor(CollectiveOp op, int ranks) {
  const bool keeps = op != CollectiveOp::broadcast && op != CollectiveOp::send_recv;
  return keeps ? 1.0 / ranks : 0.0;
}

Seconds transfer_time(const LinkModel& link, CollectiveOp op, int ranks, Bytes bytes) {
  Seconds transfer = bytes * wire_factor(op, ranks) / link.bandwidth;
  if (link.local_bandwidth.value > 0.0) {
    transfer += bytes * own_factor(op, ranks) / link.local_bandwidth;
  }
  return transfer;
}

Seconds waiting_time(const LinkModel& link, double steps, Seconds transfer) {
  return link.latency + link.step * steps + Seconds{std::sqrt(link.fill.value * transfer.value)};
}

const LinkModel& link_of(const CollectiveModel& model, CollectiveOp op, int ranks) {
  const LinkModel* link = &model.ring;
  for (const CollectiveOverride& other : model.overrides) {
    if (other.op != op) continue;
    if (other.ranks == ranks) return other.link;
    if (other.ranks == 0) link = &other.link;
  }
  return *link;
}

CollectiveModel read_collectives(const Cursor& cursor) {
  CollectiveModel model;
  model.ring = read_link(cursor);
  if (const auto overrides = cursor.find("overrides")) {
    for (const Cursor& entry : overrides->items()) {
      CollectiveOverride other;
      other.op = static_cast<CollectiveOp>(entry.at("op").choice(
          {kNames[0], kNames[1], kNames[2], kNames[3], kNames[4], kNames[5]}));
      const auto ranks = entry.find("ranks");
      other.ranks = ranks ? static_cast<int>(ranks->integer(2, 1 << 20)) : 0;
      other.link = read_link(entry);
      model.overrides.push_back(other);
    }
  }
  if (const auto tree = cursor.find("tree")) model.tree = read_link(*tree);
  if (const auto nvls = cursor.find("nvls")) {
    model.nvls = read_link(*nvls);
    if (const auto step = nvls->find("step_s")) {
      step->problem("a reduction in the switch has no steps; leave it out");
    }
    model.nvls_min_ranks = static_cast<int>(nvls->at("min_ranks").integer(2, 1 << 20));
  }
  return model;
}

CollectiveModel scaled(CollectiveModel model, double fraction) {
  const auto scale = [fraction](LinkModel& link) {
    link.bandwidth = link.bandwidth * fraction;
    link.local_bandwidth = link.local_bandwidth * fraction;
  };
  scale(model.ring);
  for (CollectiveOverride& override : model.overrides) scale(override.link);
  if (model.tree) scale(*model.tree);
  if (model.nvls) scale(*model.nvls);
  return model;
}

std::string_view name(CollectiveOp op) {
  return kNames[static_cast<std::size_t>(op)];
}

std::optional<CollectiveOp> collective_op(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<CollectiveOp>(found - kNames.begin());
}

}  // namespace prequel
