#include "models/plan/ruling.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "models/plan/expert_groups.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"

namespace prequel {
namespace {

void check_sharded_stages(Ruling& its) {
  if (its.plan.zero < 2 || its.plan.pp == 1) return;
  if (!stages_shard_gradients(its.plan.zero, its.software)) {
    its.problem([&] {
      return fmt::format(
          "zero {}: gradients that are sharded do not go with pipeline stages; zero "
          "1 does, or pp 1",
          its.plan.zero);
    });
    return;
  }
  const ScheduleTraits schedule = traits(its.plan.schedule);
  if (in_every_micro_batch(gathers_of(its.plan, its.software)) &&
      (schedule.splits_backward || schedule.pairs)) {
    its.problem([&] {
      return fmt::format(
          "schedule {}: splits backward passes, for which {} gathers layers one by one; 1f1b "
          "would do",
          name(its.plan.schedule), its.software.name);
    });
  }
}

void check_sharding_group(Ruling& its) {
  if (its.plan.sharding_group == ShardingGroup::all) return;
  const bool alone = shard_groups(its.plan, GroupAxis::data).shards.size == 1;
  if (!its.request.sharding_group && (its.plan.zero == 0 || alone)) {
    its.plan.sharding_group = ShardingGroup::all;
  } else if (its.plan.zero == 0) {
    its.warn("sharding_group node: no effect with zero 0");
  } else if (alone) {
    its.problem([&] {
      return fmt::format(
          "sharding_group node: the data-parallel ranks lie on a node each, so nothing is "
          "sharded; "
          "sharding_group all would do, or tp {}",
          nearest_divisor(its.plan.tp,
                          std::max<std::int64_t>(1, its.cluster.devices_per_node / 2)));
    });
  }
}

}  // namespace

void check_zero(Ruling& its) {
  check_sharded_stages(its);
  check_sharding_group(its);
  if (its.plan.offload != Offload::none && its.plan.zero == 0) {
    its.problem("offload: needs ZeRO; zero 1 would do");
  } else if (its.plan.offload == Offload::optimizer_params &&
             (its.plan.zero < 3 ||
              its.plan.zero < its.software.communication.fully_sharded_from_zero)) {
    its.problem([] {
      return std::string(
          "offload: only weights that are sharded leave the device; zero 3 would do");
    });
  }
  if (its.request.zero && *its.request.zero > 0 && !has_replicas(its.plan, its.model)) {
    its.warn("zero {}: no effect with dp 1", its.plan.zero);
  }
}

namespace {

/// Without a copy in fp32 all states have the format of the weights, unless moments are said.
void check_master_weights(Ruling& its) {
  if (its.plan.master_weights == MasterWeights::fp32) return;
  const Precision weights = activation_precision(its.plan);
  // Gradients have the format of the weights, so that wider ones are of wider weights.
  if (!its.request.master_weights && its.request.grad_precision &&
      bytes_per_element(*its.request.grad_precision) > bytes_per_element(weights)) {
    its.plan.master_weights = MasterWeights::fp32;
    return;
  }
  if (its.request.grad_precision && *its.request.grad_precision != weights) {
    its.warn("grad_precision {}: weights without a copy in fp32 have gradients in {}",
             name(its.plan.grad_precision), name(weights));
  }
  its.plan.grad_precision = weights;
  if (its.request.moments_precision) return;
  const bool wide = its.plan.tuning != Tuning::full &&
                    bytes_per_element(its.plan.adapter_precision) > bytes_per_element(weights);
  its.plan.moments_precision = wide ? its.plan.adapter_precision : weights;
}

}  // namespace

namespace {

/// Forms of the loss that a stack does not tell apart.
void check_loss(Ruling& its) {
  if (!its.request.loss) return;
  const MemoryStack& stack = its.software.memory;
  const double narrow = bytes_per_element(activation_precision(its.plan));
  const double whole = stack.most_of_logit(its.plan.compile, its.plan.tp);
  const bool alike =
      (its.plan.loss == LossForm::compiled && !its.software.kernels.transformer_engine) ||
      (its.plan.loss == LossForm::chunked && whole <= narrow);
  if (alike) {
    its.warn("loss {}: {} holds as much of its logits as with loss whole", name(its.plan.loss),
             its.software.name);
  }
}

}  // namespace

void check_optimizer(Ruling& its) {
  check_master_weights(its);
  check_loss(its);
  if (keeps_8_bits(its.plan.optimizer) && its.request.moments_precision) {
    its.warn("moments_precision {}: {} keeps moments in 8 bits", name(its.plan.moments_precision),
             name(its.plan.optimizer));
  }
  if (updates_in_backward(its.plan.optimizer) &&
      (its.plan.micro_batches() > 1 || its.plan.pp > 1)) {
    its.problem([&] {
      return fmt::format(
          "optimizer adam-in-backward: updates after each backward pass, of which a step has {}; "
          "one micro batch without stages would do, or optimizer adam",
          its.plan.micro_batches() * its.plan.vpp);
    });
  }
  if (its.plan.optimizer_offload > 0 && its.plan.offload != Offload::none) {
    its.problem([&] {
      return fmt::format("optimizer_offload {}: offload {} moves all states; 0 would do",
                         its.plan.optimizer_offload, name(its.plan.offload));
    });
  }
  const bool offloads = its.plan.offload != Offload::none || its.plan.optimizer_offload > 0;
  if (its.plan.optimizer == Optimizer::muon && offloads) {
    its.problem("optimizer muon: orthogonalises on the device; offload none would do");
  }
  if (is_quantized(its.plan.moments_precision) && its.plan.optimizer == Optimizer::muon) {
    its.problem([&] {
      return fmt::format("moments_precision {}: no Muon keeps its momentum so; bf16 would do",
                         name(its.plan.moments_precision));
    });
  }
}

namespace {

/// Megatron-Core lets whole layers leave the device where nothing else moves their activations.
void check_offloaded_layers(Ruling& its) {
  if (its.plan.offload_layers == 0) return;
  constexpr std::int64_t kInTransit = 2;
  if (its.plan.offload_layers <= kInTransit) {
    its.warn("offload_layers {}: no effect, as {} layers are in transit at a time",
             its.plan.offload_layers, kInTransit);
  }
  const auto layers = [&] { return fmt::format("offload_layers {}", its.plan.offload_layers); };
  if (its.plan.offload_layers >= its.model.layers) {
    its.problem([&] {
      return fmt::format("{}: the model has {} layers, one of which stays; {} would do", layers(),
                         its.model.layers, its.model.layers - 1);
    });
  }
  const std::string_view other =
      its.plan.pp > 1                         ? "pipeline stages; pp 1 would do"
      : its.plan.recompute != Recompute::none ? "recomputation; recompute none would do"
      : !its.plan.offload_modules.empty()     ? "offload_modules; none of them would do"
      : !its.plan.cuda_graphs.empty()         ? "cuda_graphs; none would do"
                                              : "";
  if (!other.empty()) its.problem([&] { return fmt::format("{}: not with {}", layers(), other); });
}

}  // namespace

void check_host_memory(Ruling& its) {
  // Stacks move by themselves inputs of layers that are repeated, and nothing else.
  if (!its.request.offload_modules && !its.plan.offload_modules.empty()) {
    const bool repeats = its.plan.recompute == Recompute::full;
    if (repeats && !its.cluster.host.known()) {
      its.warn(
          "cluster {} says nothing of its hosts (host.memory and host.memory_bandwidth): the "
          "inputs "
          "of repeated layers, which {} keeps in host memory, are counted as the device's",
          its.cluster.name, its.software.name);
    }
    if (!repeats || !its.cluster.host.known()) its.plan.offload_modules = {};
  }
  const std::string_view axis = its.plan.offload != Offload::none   ? "offload"
                                : its.plan.optimizer_offload > 0    ? "optimizer_offload"
                                : !its.plan.offload_modules.empty() ? "offload_modules"
                                : its.plan.offload_layers > 0       ? "offload_layers"
                                                                    : "";
  if (axis.empty()) return;
  check_offloaded_layers(its);
  if (!its.cluster.host.known()) {
    its.problem([&] {
      return fmt::format(
          "{}: cluster {} says nothing of its hosts (host.memory and "
          "host.memory_bandwidth); {} would do, or both keys, such as "
          "cluster.host.memory=\"1 TB\" and cluster.host.memory_bandwidth=\"200 GB/s\"",
          axis, its.cluster.name, axis == "offload" ? "offload none" : fmt::format("no {}", axis));
    });
  }
  if (!its.request.offload_modules || its.plan.offload_modules.empty()) return;
  if (its.plan.recompute == Recompute::full &&
      !its.plan.offload_modules.has(OffloadModule::attn_norm)) {
    its.warn("offload_modules: no effect with recompute full; attn_norm would move what it keeps");
  } else if (!its.model.has_experts() && (its.plan.offload_modules.has(OffloadModule::expert_fc1) ||
                                          its.plan.offload_modules.has(OffloadModule::moe_act))) {
    its.warn("offload_modules expert_fc1, moe_act: no effect without experts");
  }
}

namespace {

/// As Megatron asserts: of full recompute, whose inputs sequence parallelism splits anyway.
void check_saved_activations(Ruling& its) {
  if (!its.plan.distribute_saved_activations) return;
  constexpr const char* kField = "distribute_saved_activations";
  if (its.plan.recompute != Recompute::full) {
    its.warn("{}: no effect without full recompute", kField);
  } else if (its.plan.tp == 1) {
    its.warn("{}: no effect with tp 1", kField);
  } else if (its.plan.sequence_parallel) {
    its.problem([&] {
      return fmt::format("{}: sequence_parallel splits them already; off would do", kField);
    });
  }
}

/// Megatron's method `block`: the first layers of each chunk are repeated, the others keep all.
void check_recomputed_layers(Ruling& its) {
  if (its.plan.recompute_first == 0) return;
  if (its.plan.recompute != Recompute::full) {
    its.warn("recompute_first {}: no effect without full recompute", its.plan.recompute_first);
    return;
  }
  if (its.plan.recompute_layers > 1) {
    its.problem([&] {
      return fmt::format(
          "recompute_first {}: of single layers, not of {} at a time; "
          "recompute_layers 1 would do",
          its.plan.recompute_first, its.plan.recompute_layers);
    });
  }
  const std::int64_t chunks = its.plan.pp * its.plan.vpp;
  if (const std::int64_t most = (its.model.layers + chunks - 1) / chunks;
      its.plan.recompute_first >= most) {
    its.warn("recompute_first {}: a chunk has {} layers, all of which are recomputed, as with 0",
             its.plan.recompute_first, most);
  }
  const double repeated =
      static_cast<double>(its.plan.recompute_first * its.plan.pp * its.plan.vpp);
  its.plan.recomputed = std::min(1.0, repeated / static_cast<double>(its.model.layers));
}

}  // namespace

void check_recompute(Ruling& its) {
  check_recomputed_layers(its);
  check_saved_activations(its);
  if (its.plan.recompute_layers == 1) return;
  if (its.plan.recompute != Recompute::full) {
    its.warn("recompute_layers {}: no effect without full recompute", its.plan.recompute_layers);
    return;
  }
  const std::int64_t chunk =
      std::max<std::int64_t>(1, its.model.layers / (its.plan.pp * its.plan.vpp));
  if (its.plan.recompute_layers > chunk) {
    its.problem([&] {
      return fmt::format("recompute_layers {}: a stage holds {} layers at a time; {} would do",
                         its.plan.recompute_layers, chunk, chunk);
    });
  }
}

}  // namespace prequel
