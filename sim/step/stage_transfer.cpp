#include "sim/step/stage_transfer.hpp"

#include <algorithm>
#include <utility>

#include "models/layers/parameters.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/overlap.hpp"

namespace prequel {
namespace {

/// A rank of stage `from` and its counterpart on `to`: of those that no device link joins, if any
/// is.
std::pair<std::int64_t, std::int64_t> farthest_pair(const Scenario& scenario, std::int64_t from,
                                                    std::int64_t to) {
  const std::int64_t ranks = rank_group(scenario.plan, GroupAxis::pipeline).stride;
  const std::int64_t domain =
      scenario.cluster.fabric->description(static_cast<int>(scenario.plan.gpus)).node.devices;
  // The pairs of a whole domain's ranks are alike.
  for (std::int64_t rank = 0; rank < std::min(ranks, domain); ++rank) {
    const std::int64_t sender = from * ranks + rank;
    const std::int64_t receiver = to * ranks + rank;
    if (sender / domain != receiver / domain) return {sender, receiver};
  }
  return {from * ranks, to * ranks};
}

}  // namespace

bool stages_are_joined(const Scenario& scenario, std::int64_t from, std::int64_t to) {
  const auto [sender, receiver] = farthest_pair(scenario, from, to);
  const std::int64_t domain =
      scenario.cluster.fabric->description(static_cast<int>(scenario.plan.gpus)).node.devices;
  return sender / domain == receiver / domain;
}

CommTime stage_transfer_time(const Scenario& scenario, std::int64_t from, std::int64_t to) {
  const Plan& plan = scenario.plan;
  const Cluster& cluster = scenario.cluster;
  const bool scattered =
      scenario.software.communication.scatter_gather_p2p || plan.sequence_parallel;
  // Between stages goes every residual stream, or with the hidden states the sums of blocks so far,
  // half of all in the mean.
  const Transformer& model = scenario.model;
  const double sums =
      model.block_residuals > 0 ? real(model.layers) / real(model.block_residuals) : 0.0;
  const double copies = real(model.streams) + sums;
  const Bytes hidden{copies * real(plan.mbs * plan.seq_len / plan.cp * model.hidden) *
                     bytes_per_element(activation_precision(plan))};
  const Bytes sent = scattered ? hidden / real(plan.tp) : hidden;
  const auto [sender, receiver] = farthest_pair(scenario, from, to);
  CommTime time = comm_time(
      price_hop(cluster, shape_of_group(scenario, GroupAxis::pipeline), sender, receiver, sent));
  if (scattered && !plan.sequence_parallel && plan.tp > 1) {
    time += comm_time(price(cluster, CollectiveOp::all_gather,
                            shape_of_group(scenario, GroupAxis::tensor), hidden));
  }
  if (!sends_beside(plan, scenario.software)) {
    time.all += scenario.software.communication.p2p_wait.value_or(Seconds{});
  }
  return time;
}

CommTime tied_embedding_time(const Scenario& scenario) {
  if (!learning_of(scenario.plan).tables_learn()) return {};
  const Plan& plan = scenario.plan;
  if (plan.pp == 1 || !scenario.model.tied_embeddings || scenario.model.scores) return {};
  const std::int64_t vocab =
      padded_vocab(scenario.model.vocab, plan.tp, scenario.software.vocab_multiple);
  const Bytes table{real(embedding_parameters(scenario.model, vocab) / plan.tp) *
                    bytes_per_element(plan.grad_precision)};
  // The end stages lie as far apart as neighbours do on a fabric without distance.
  const std::int64_t stage_ranks = rank_group(plan, GroupAxis::pipeline).stride;
  return comm_time(price(scenario.cluster, CollectiveOp::all_reduce,
                         group_shape(scenario.cluster, 2 * stage_ranks, 2, stage_ranks), table));
}

}  // namespace prequel
