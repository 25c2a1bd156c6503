#include "models/plan/ruling.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/dispatch.hpp"
#include "models/plan/expert_groups.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/router_balance.hpp"
#include "models/plan/rules.hpp"

namespace prequel {

bool offers_sequence_parallel(const Ruling& its) {
  const auto& offered = its.software.choices.sequence_parallel;
  // Megatron-Core's rule, whose layers are Transformer Engine's.
  return its.software.kernels.transformer_engine &&
         std::find(offered.begin(), offered.end(), true) != offered.end();
}

bool has_replicas(const Plan& plan, const Transformer& model) {
  const auto copied = [&](GroupAxis axis) { return rank_group(plan, axis).size > 1; };
  return copied(GroupAxis::data) || (model.has_experts() && copied(GroupAxis::expert_data));
}

std::int64_t usual_expert_tensor(std::int64_t ep, std::int64_t tp, const Transformer& model,
                                 const Software& software) {
  const bool splits = software.framework == "pytorch-fsdp" && ep == 1;
  return splits && model.has_experts() && model.experts.ffn_hidden % tp == 0 ? tp : 1;
}

namespace {

/// DeepEP and its like put tokens on the network by themselves, through RDMA verbs.
void check_dispatcher(Ruling& its) {
  const Dispatcher dispatcher = its.plan.dispatcher;
  if (dispatcher == Dispatcher::alltoall || dispatcher == Dispatcher::allgather) return;
  const std::string_view word = name(dispatcher);
  if (!its.cluster.dispatch || !its.cluster.dispatch->of(dispatcher)) {
    its.warn(
        "dispatcher {}: {} tells nothing of it (dispatch.{}); priced as collectives of the same "
        "bytes",
        word, its.cluster.name, word);
  }
  if (!group_shape(its.cluster, its.plan.gpus, its.plan.ep, its.plan.etp).crosses_network()) return;
  if (dispatcher == Dispatcher::hybridep) {
    its.warn("dispatcher hybridep: expert groups of {} ranks reach beyond device links",
             its.plan.ep);
  }
  if (!network_carries(its.cluster, dispatcher)) {
    its.problem([&] {
      return fmt::format(
          "dispatcher {}: expert groups of {} ranks cross the network of {}, which is {} and has "
          "no RDMA verbs for it; alltoall would do, or ep {} inside a node",
          word, its.plan.ep, its.cluster.name, name(*its.cluster.network.transport),
          nearest_divisor(
              its.model.experts.count,
              std::max<std::int64_t>(
                  1, std::min(its.plan.ep, its.cluster.devices_per_node / its.plan.etp))));
    });
  } else if (its.cluster.network.transport == Transport::efa && dispatcher != Dispatcher::uccl) {
    its.warn(
        "dispatcher {}: over EFA as a port alone, through NVSHMEM's transport of libfabric; "
        "uccl and alltoall run there as they are",
        word);
  }
}

/// Domains of device links over several nodes (racks) are filled as far as the job's nodes come out
/// even, so that groups of expert ranks which divide what is used span no two of them.
void warn_of_part_of_domain(Ruling& its) {
  const std::int64_t whole = its.cluster.fabric->domain_nodes();
  const std::int64_t used =
      its.cluster.fabric->description(static_cast<int>(its.plan.gpus)).node.devices /
      its.cluster.devices_per_node;
  if (whole <= 1 || used >= whole || its.plan.nodes <= whole) return;
  its.warn("{} nodes: priced with {} of the {} nodes of each domain of device links in use",
           its.plan.nodes, used, whole);
}

/// Tokens travel as they are, or in fp8 where the products that read them are in 8 bits.
void check_dispatch_precision(Ruling& its) {
  const Precision asked = its.plan.dispatch_precision;
  const Precision usual = activation_precision(its.plan);
  if (asked == usual) return;
  if (asked != Precision::fp8) {
    its.problem([&] {
      return fmt::format("dispatch_precision {}: {} or fp8 would do", name(asked), name(usual));
    });
  } else if (!is_quantized(its.plan.precision)) {
    its.problem([&] {
      return fmt::format(
          "dispatch_precision fp8: products read {}, to which nothing casts it back; precision fp8 "
          "or dispatch_precision {} would do",
          name(its.plan.precision), name(usual));
    });
  }
}

}  // namespace

void check_expert_parallel(Ruling& its) {
  if (!its.model.has_experts()) {
    if (its.plan.ep > 1 || its.plan.etp > 1) {
      its.problem([&] {
        return fmt::format("ep {}: {} has no experts; ep 1 would do", its.plan.ep, its.model.name);
      });
    }
    return;
  }
  const std::int64_t experts = its.model.experts.count;
  if (experts % its.plan.ep != 0) {
    its.problem([&] {
      return fmt::format("ep {}: {} experts are not a multiple of it; ep {} would do", its.plan.ep,
                         experts, nearest_divisor(experts, its.plan.ep));
    });
  }
  if (its.model.experts.ffn_hidden % its.plan.etp != 0) {
    its.problem([&] {
      return fmt::format(
          "etp {}: the experts' inner width {} is not a multiple of it; etp {} would do",
          its.plan.etp, its.model.experts.ffn_hidden,
          nearest_divisor(its.model.experts.ffn_hidden, its.plan.etp));
    });
  }
  const std::int64_t stage = rank_group(its.plan, GroupAxis::pipeline).stride;
  if (stage % (its.plan.ep * its.plan.etp) != 0) {
    its.problem([&] {
      return fmt::format(
          "ep {} x etp {}: the {} ranks of a stage are not a multiple of it; ep {} would do",
          its.plan.ep, its.plan.etp, stage,
          nearest_divisor(stage / std::gcd(stage, its.plan.etp), its.plan.ep));
    });
    return;
  }
  if (its.plan.ep > 1 && its.plan.tp > 1 && !its.plan.sequence_parallel &&
      offers_sequence_parallel(its)) {
    its.problem([&] {
      return fmt::format("ep {}: with tp {} the framework wants sequence_parallel; on would do",
                         its.plan.ep, its.plan.tp);
    });
  }
  if (its.plan.ep > 1) check_dispatcher(its);
  if (its.plan.ep > 1 && its.wording == Wording::all) warn_of_part_of_domain(its);
  check_dispatch_precision(its);
}

namespace {

/// Inputs of all experts are padded to their capacity, whether tokens fill it or not.
void fill_capacity(Ruling& its, double factor) {
  const double most = static_cast<double>(its.model.experts.count) /
                      static_cast<double>(std::max<std::int64_t>(1, its.model.experts.top_k));
  if (!(factor > 0 && factor <= most)) {
    its.problem([&] {
      return fmt::format(
          "router_balance {}: expected \"dropped:\" and how many times the mean an expert takes, "
          "above 0 and at most {:.4g}, which is all tokens",
          its.plan.router_balance, most);
    });
    return;
  }
  its.plan.imbalance = factor;
}

}  // namespace

void fill_imbalance(Ruling& its) {
  const std::string& balance = its.plan.router_balance;
  if (balance == kForcedBalance || !its.model.has_experts()) return;
  if (const auto factor = capacity_factor(balance)) return fill_capacity(its, *factor);
  if (balance == kNaturalBalance) {
    const double tokens = static_cast<double>(its.plan.mbs) *
                          static_cast<double>(its.plan.seq_len) /
                          static_cast<double>(std::max<std::int64_t>(1, its.plan.tp * its.plan.cp));
    its.plan.imbalance =
        natural_imbalance(its.software.common.router_imbalance,
                          {its.model.experts.count, its.model.experts.top_k, its.plan.ep, tokens});
    if (its.request.router_balance && its.plan.ep > 1) {
      its.warn(
          "router_balance natural: the busiest rank's experts are taken to get {:.3g} "
          "times the mean, as early steps of Qwen3-235B show; a file of one number an expert would "
          "tell",
          its.plan.imbalance);
    }
    return;
  }
  if (its.model.experts.count % its.plan.ep != 0) return;  // a problem was noted
  try {
    its.plan.imbalance =
        imbalance_of(read_histogram(balance, its.model.experts.count), its.plan.ep);
  } catch (const InputError& error) {
    for (const std::string& each : error.problems())
      its.problem([&] { return "router_balance: " + each; });
  }
}

}  // namespace prequel
