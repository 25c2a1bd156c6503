#include "hw/collectives/collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

namespace prequel {
namespace {

constexpr std::array<std::string_view, 6> kNames{"all_reduce", "all_gather", "reduce_scatter",
                                                 "all_to_all", "broadcast",  "send_recv"};

/// The ring's constants for this operation: the narrowest override that holds.
const LinkModel& ring_link(const CollectiveModel& model, CollectiveOp op, int ranks) {
  const LinkModel* link = &model.ring;
  for (const CollectiveOverride& other : model.overrides) {
    if (other.op != op) continue;
    if (other.ranks == ranks) return other.link;
    if (other.ranks == 0) link = &other.link;
  }
  return *link;
}

LinkModel read_link(const Cursor& cursor) {
  const auto optional_time = [&cursor](std::string_view key) {
    const auto found = cursor.find(key);
    return found ? found->number(kNonNegative) : 0.0;
  };
  LinkModel link;
  link.latency_s = cursor.at("latency_s").number(kNonNegative);
  link.step_s = optional_time("step_s");
  link.bandwidth = cursor.at("bandwidth").rate();
  link.fill_s = optional_time("fill_s");
  if (const auto local = cursor.find("local_bandwidth")) link.local_bandwidth = local->rate();
  return link;
}

/// One of the algorithms that a level has for an operation.
struct Algorithm {
  std::string_view name;
  const LinkModel* link;
  double steps;
};

/// The cheapest for this message. `ranks` is above 1.
Algorithm cheapest(const CollectiveModel& model, CollectiveOp op, int ranks, Bytes bytes) {
  Algorithm best{"ring", &ring_link(model, op, ranks), ring_steps(op, ranks)};
  if (op != CollectiveOp::all_reduce) return best;
  Seconds least = link_time(*best.link, op, ranks, bytes, best.steps);
  const auto consider = [&](const Algorithm& other) {
    const Seconds time = link_time(*other.link, op, ranks, bytes, other.steps);
    if (time < least) {
      least = time;
      best = other;
    }
  };
  if (model.tree) consider({"tree", &*model.tree, 2.0 * std::log2(ranks)});
  if (model.nvls && ranks >= model.nvls_min_ranks) {
    consider({"reduction in the switch", &*model.nvls, 0.0});
  }
  return best;
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

Seconds link_time(const LinkModel& link, CollectiveOp op, int ranks, Bytes bytes, double steps) {
  Seconds transfer = bytes * wire_factor(op, ranks) / link.bandwidth;
  if (link.local_bandwidth.value > 0.0) {
    transfer += bytes * own_factor(op, ranks) / link.local_bandwidth;
  }
  return transfer +
         Seconds{link.latency_s + link.step_s * steps + std::sqrt(link.fill_s * transfer.value)};
}

Seconds collective_time(const CollectiveModel& model, CollectiveOp op, int ranks, Bytes bytes) {
  if (ranks <= 1) return {};
  const Algorithm best = cheapest(model, op, ranks, bytes);
  return link_time(*best.link, op, ranks, bytes, best.steps);
}

PriceExplanation explain_collective(const CollectiveModel& model, CollectiveOp op, int ranks,
                                    Bytes bytes) {
  const Algorithm best = cheapest(model, op, ranks, bytes);
  const LinkModel& link = *best.link;
  const Bytes wire = bytes * wire_factor(op, ranks);
  const Seconds time = link_time(link, op, ranks, bytes, best.steps);
  const Seconds links = wire / link.bandwidth;
  const Bytes own = bytes * own_factor(op, ranks);
  const bool copies = link.local_bandwidth.value > 0.0;
  const Seconds copy = copies ? own / link.local_bandwidth : Seconds{};
  const Seconds latency{link.latency_s + link.step_s * best.steps};
  return {fmt::format("{} of {} ranks inside a node", best.name, ranks),
          "cluster.node.collectives",
          {},
          wire,
          {{"links", links},
           {"copy of its own part", copy},
           {"filling the pipeline", time - links - copy - latency},
           {"latency", latency}},
          time};
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
    model.nvls_min_ranks = static_cast<int>(nvls->at("min_ranks").integer(2, 1 << 20));
  }
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
