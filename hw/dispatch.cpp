#include "hw/dispatch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw/base/portable_math.hpp"

namespace prequel {
namespace {

Bytes token_bytes(const Dispatch& dispatch) {
  return {real(dispatch.hidden) * bytes_per_element(dispatch.precision)};
}

/// Of `bins` that hold as many of `balls` each, how many `draws` of different balls hit; 0 balls
/// stand for any number.
double distinct(double bins, double draws, double balls) {
  if (balls <= 0) return bins * (1.0 - portable::pow(1.0 - 1.0 / bins, draws));
  double missed = 1.0;  // the chance that a bin holds none of them
  for (double i = 0.0; i < draws && i < balls; i += 1.0) {
    missed *= std::max(0.0, balls - balls / bins - i) / (balls - i);
  }
  return bins * (1.0 - missed);
}

TransferModel read_transfer(const Cursor& cursor) {
  TransferModel model;
  model.latency = {cursor.at("latency_s").number(kNonNegative)};
  model.link_rate = cursor.at("link_rate").rate();
  if (const auto rate = cursor.find("unit_rate")) model.unit_rate = rate->rate();
  if (const auto row = cursor.find("row_s")) {
    model.row = {row->number(kNonNegative)};
    if (!cursor.find("unit_rate")) {
      row->problem("compute units are no limit without a unit_rate; say both or neither");
    }
  }
  return model;
}

DispatchModel read_model(const Cursor& cursor) {
  DispatchModel model;
  model.dispatch = read_transfer(cursor.at("dispatch"));
  model.combine = read_transfer(cursor.at("combine"));
  model.compute_units = cursor.at("compute_units").number(kPositive);
  if (const auto share = cursor.find("network_share")) {
    model.network_share = share->number({0.0, 1.0, true});
  }
  if (const auto share = cursor.find("forwarding_share")) {
    model.forwarding_share = share->number({0.0, 1.0, true});
  }
  if (const auto limit = cursor.find("network_limit")) model.network_limit = limit->rate();
  if (const auto row = cursor.find("network_row_s"))
    model.network_row = {row->number(kNonNegative)};
  if (const auto share = cursor.find("network_beside")) {
    model.network_beside = share->number({0.0, 1.0});
  }
  return model;
}

/// What NCCL takes: the buffers of the collectives that carry the same.
CollectivePrice by_collectives(const Cluster& cluster, const GroupShape& group,
                               const Dispatch& dispatch, const DispatchBytes& bytes) {
  const double ranks = real(group.ranks);
  if (dispatch.dispatcher == Dispatcher::allgather) {
    const CollectiveOp op =
        dispatch.combine ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather;
    return price(cluster, op, group, (bytes.device + bytes.network) * (ranks / (ranks - 1.0)));
  }
  const Bytes sent = bytes.device + bytes.network;
  return price(cluster, CollectiveOp::all_to_all, group, sent * (ranks / (ranks - 1.0)));
}

/// What a rank sends out of its domain while all do: of an all-to-all only the part to others.
BytesPerSecond outgoing_rate(const Cluster& cluster, const GroupShape& group) {
  const double outside = real(group.ranks - group.ranks_in_domain) / real(group.ranks - 1);
  return network_rate(cluster, group, TrafficPattern::all_to_all) * outside;
}

}  // namespace

DispatchModels read_dispatch(const Cursor& cursor) {
  DispatchModels models;
  for (const Dispatcher each : all_of<Dispatcher>()) {
    const auto found = cursor.find(name(each));
    if (found) models.models[static_cast<std::size_t>(each)] = read_model(*found);
  }
  auto& uccl = models.models[static_cast<std::size_t>(Dispatcher::uccl)];
  if (!uccl) uccl = models.of(Dispatcher::deepep);
  return models;
}

bool network_carries(const Cluster& cluster, Dispatcher dispatcher) {
  if (dispatcher == Dispatcher::allgather || dispatcher == Dispatcher::alltoall) return true;
  const std::optional<Transport>& transport = cluster.network.transport;
  return !transport || *transport == Transport::infiniband || *transport == Transport::roce ||
         *transport == Transport::efa;
}

DispatchModels scaled(DispatchModels models, double fraction) {
  for (auto& model : models.models) {
    if (!model) continue;
    for (TransferModel* way : {&model->dispatch, &model->combine}) {
      way->link_rate = way->link_rate * fraction;
    }
  }
  return models;
}

Seconds transfer_time(const TransferModel& model, double units, double rows, Bytes width,
                      Bytes bytes) {
  const Seconds links = bytes / model.link_rate;
  if (model.unit_rate.value <= 0.0 || units <= 0.0) return links;
  const Seconds kernels = (model.row + width / model.unit_rate) * (rows / units);
  return {portable::four_norm(kernels.value, links.value)};
}

double hits(double blocks, const Dispatch& dispatch) {
  const double k = real(dispatch.top_k);
  const double groups = real(dispatch.expert_groups);
  const double chosen = real(dispatch.groups_chosen);
  const double experts = real(dispatch.experts);
  if (groups <= chosen) return distinct(blocks, k, experts);
  const double candidates = experts * chosen / groups;
  if (blocks >= groups) return distinct(chosen * blocks / groups, k, candidates);
  double missed = 1.0;  // the chance that a block holds no chosen group
  for (double i = 0.0; i < chosen; i += 1.0) {
    missed *= std::max(0.0, groups - groups / blocks - i) / (groups - i);
  }
  return distinct(blocks * (1.0 - missed), k, candidates);
}

DispatchBytes dispatch_bytes(const Dispatch& dispatch, std::int64_t ranks, std::int64_t in_domain) {
  if (ranks <= 1) return {};
  const Bytes tokens = token_bytes(dispatch) * dispatch.tokens;
  const double n = real(ranks);
  const double inside = real(std::min(ranks, in_domain));
  const double domains = n / inside;
  switch (dispatch.dispatcher) {
    case Dispatcher::allgather: return {tokens * (inside - 1.0), tokens * (n - inside)};
    case Dispatcher::alltoall: {
      const Bytes copies = tokens * real(dispatch.top_k);
      return {copies * ((inside - 1.0) / n), copies * ((n - inside) / n)};
    }
    case Dispatcher::deepep:
    case Dispatcher::uccl:
    case Dispatcher::hybridep: break;
  }
  return {tokens * (hits(n, dispatch) * (n - 1.0) / n),
          tokens * (hits(domains, dispatch) * (domains - 1.0) / domains)};
}

CollectivePrice price(const Cluster& cluster, const GroupShape& group, const Dispatch& dispatch,
                      double units) {
  if (group.ranks <= 1) return {};
  const DispatchBytes bytes = dispatch_bytes(dispatch, group.ranks, group.ranks_in_domain);
  CollectivePrice price;
  const bool known = cluster.dispatch && cluster.dispatch->of(dispatch.dispatcher);
  if (!known) {
    price = by_collectives(cluster, group, dispatch, bytes);
    price.algorithm = name(dispatch.dispatcher);
    return price;
  }
  const DispatchModel& model = *cluster.dispatch->of(dispatch.dispatcher);
  TransferModel way = dispatch.combine ? model.combine : model.dispatch;
  if (group.crosses_network()) way.link_rate = way.link_rate * model.forwarding_share;
  const Bytes width = token_bytes(dispatch);
  // A rank's own copies are moved too.
  const double rows = bytes.device / width * real(group.ranks) / real(group.ranks - 1);
  price.algorithm = name(dispatch.dispatcher);
  price.latency = way.latency;
  price.device =
      transfer_time(way, units > 0.0 ? units : model.compute_units, rows, width, bytes.device);
  price.sent = bytes.device;
  if (!group.crosses_network()) return price;
  BytesPerSecond rate = outgoing_rate(cluster, group) * model.network_share;
  if (model.network_limit.value > 0.0) rate = std::min(rate, model.network_limit);
  price.sent = bytes.network;
  const Seconds copies = model.network_row * (bytes.network / width);
  const double after = 1.0 - model.network_beside;
  const Seconds network = std::max(bytes.network / rate, copies);
  if (network >= price.device) {
    price.network = network;
    price.device = price.device * after;
  } else {
    price.network = network * after;
  }
  return price;
}

PriceExplanation explain_dispatch(const Cluster& cluster, const GroupShape& group,
                                  const Dispatch& dispatch) {
  const CollectivePrice cost = price(cluster, group, dispatch);
  const DispatchBytes bytes = dispatch_bytes(dispatch, group.ranks, group.ranks_in_domain);
  const bool known = cluster.dispatch && cluster.dispatch->of(dispatch.dispatcher);
  std::string model = fmt::format(
      "{} of {} ranks: {} tokens of {:.4g} kB, of which a rank sends {:.4g} MB over device links",
      name(dispatch.dispatcher), group.ranks, dispatch.tokens, token_bytes(dispatch).value / 1e3,
      bytes.device.value / 1e6);
  if (group.crosses_network()) {
    model += fmt::format(" and {:.4g} MB over the network", bytes.network.value / 1e6);
  }
  if (!known) model += ", as NCCL's collectives of the same bytes";
  return {model,
          known                     ? fmt::format("cluster.dispatch.{}", name(dispatch.dispatcher))
          : group.crosses_network() ? "cluster.network"
                                    : "cluster.node.collectives",
          {},
          bytes.device + bytes.network,
          {{"links", cost.device}, {"network", cost.network}, {"latency", cost.latency}},
          cost.time()};
}

}  // namespace prequel
