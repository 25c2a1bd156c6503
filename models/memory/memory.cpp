#include "models/memory/memory.hpp"

#include <algorithm>
#include <cmath>

#include "models/layers/kept.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"

namespace prequel {
namespace {

constexpr double kTightShare = 0.88;  // part of the interface (prequel predict's verdict)

double split_over_ranks(const Plan& plan, double dense, double experts) {
  return dense / real(plan.tp) + experts / real(plan.etp * plan.ep);
}

/// Parameters that are whole on every rank for a while when they are gathered layer by layer: two
/// layers (the one that computes and the one ahead of it) and the root, and the gradients of one
/// layer and of the root before they are scattered; less where the stack gathers smaller parts.
/// Where they are kept from one end of the step to the other, all of them and all gradients. With
/// one rank to share them there is nothing to gather.
double gathered_bytes(const PartWeights& weights, const Plan& plan, const Software& software,
                      const std::vector<StageContent>& chunks_of_stage,
                      const StageParameters& parameters, double weight_bytes) {
  const Gathers gathers = gathers_of(plan, software);
  if (!layer_by_layer(gathers)) return 0;
  if (shard_groups(plan, GroupAxis::data).shards.size == 1) return 0;
  const double gradient_bytes = bytes_per_element(plan.grad_precision);
  if (gathers == Gathers::once) return parameters.total() * (weight_bytes + gradient_bytes);
  std::int64_t blocks = 0;
  for (const StageContent& chunk : chunks_of_stage) blocks += chunk.blocks;
  ParameterCount block;  // of the largest layer
  each_part([&](Part part) {
    const ParameterCount& one = weights[part].parameters;
    if (is_block(part) && one.total() > block.total()) block = one;
  });
  const double layer = split_over_ranks(plan, real(block.dense), real(block.experts));
  const double root = std::max(0.0, parameters.total() - real(blocks) * layer);
  const auto limited = [](double wanted, double limit) {
    return limit > 0 ? std::min(wanted, limit) : wanted;
  };
  return limited(2 * layer + root, software.memory.live_parameters) * weight_bytes +
         limited(layer + root, software.memory.reduce_bucket) * gradient_bytes;
}

/// What a rank holds of `parameters` that are sharded from a ZeRO stage on.
double held(const Plan& plan, const StageParameters& parameters, std::int64_t from_zero_stage) {
  return plan.zero >= from_zero_stage ? sharded_parameters(plan, parameters) : parameters.total();
}

}  // namespace

PartWeights part_weights(const Transformer& model, const Plan& plan, const Software& software) {
  const PerPart<ParameterCount> parameters = part_parameters(model, plan.seq_len);
  const PartCounts held = parts_of(model);
  const LayerSetting setting = layer_setting(plan);
  PartWeights weights;
  each_part([&](Part part) {
    weights[part].parameters = parameters[part];
    if (!is_block(part) || held[part] == 0) return;
    const Layer block = tell_part(part, model, setting, software);
    weights[part].whole = kept_bytes(block, {});
    weights[part].repeated = weights[part].whole - kept_bytes(block, repeated_modules(plan));
    weights[part].kept = weights[part].whole - repeated_blocks(plan) * weights[part].repeated;
    weights[part].input = block.input;
    weights[part].checkpoint = block.saved_input;
    const double repeated = repeated_blocks(plan);
    weights[part].kept -= repeated * (block.input - block.saved_input);
    const auto offloaded = [&](WordSet<Module> modules) {
      return offloaded_bytes(block, modules, plan.offload_modules);
    };
    weights[part].offloaded =
        repeated * offloaded(repeated_modules(plan)) + (1.0 - repeated) * offloaded({});
    // Of whole layers, as many of each kind as there are.
    weights[part].offloaded += real(plan.offload_layers) / real(model.layers) *
                               (weights[part].kept - weights[part].offloaded);
    weights[part].kept -= weights[part].offloaded;
  });
  return weights;
}

StageParameters stage_parameters(const PartWeights& weights, const Transformer& model,
                                 const Plan& plan, const Software& software,
                                 const std::vector<StageContent>& chunks_of_stage) {
  const std::int64_t vocab = padded_vocab(model.vocab, plan.tp, software.vocab_multiple);
  const double table = real(embedding_parameters(model, vocab)) / real(plan.tp);
  StageParameters parameters;
  bool has_table = false;
  for (const StageContent& chunk : chunks_of_stage) {
    each_part([&](Part part) {
      if (!is_block(part) || chunk.parts[part] == 0) return;
      const ParameterCount& block = weights[part].parameters;
      parameters.dense += real(chunk.parts[part]) * real(block.dense) / real(plan.tp);
      parameters.experts +=
          real(chunk.parts[part]) * real(block.experts) / real(plan.etp * plan.ep);
    });
    if (chunk.embedding) {
      parameters.tables += table + real(weights[Part::embedding].parameters.dense);
      has_table = true;
    }
    if (model.repeats_next_token && chunk.parts[Part::next_token] > 1) {
      // Depths share one's parameters, which were counted for each.
      const double again = real(chunk.parts[Part::next_token] - 1);
      const ParameterCount depth = next_token_parameters(model);
      parameters.dense -= again * real(depth.dense) / real(plan.tp);
      parameters.experts -= again * real(depth.experts) / real(plan.etp * plan.ep);
    }
    if (const std::int64_t more = chunk.parts[Part::next_token]; more > 0) {
      parameters.dense +=
          real(more) * real(weights[Part::next_token].parameters.dense) / real(plan.tp);
    }
    if (chunk.head) {
      parameters.tables += real(weights[Part::head].parameters.dense);
      // A tied head on the embedding's own stage shares its table; layers of multi-token
      // prediction share the embedding's, which another stage has to hold a copy of.
      if (!model.tied_embeddings || !has_table) parameters.tables += table;
      if (model.next_token_layers > 0 && !has_table) parameters.tables += table;
    }
  }
  parameters.dense += parameters.tables;
  return parameters;
}

double sharded_parameters(const Plan& plan, const StageParameters& parameters) {
  return parameters.dense / real(shard_groups(plan, GroupAxis::data).shards.size) +
         parameters.experts / real(shard_groups(plan, GroupAxis::expert_data).shards.size);
}

double owned_parameters(const Plan& plan, const StageParameters& parameters) {
  return held(plan, parameters, 1);
}

StageParameters matrices_of(StageParameters parameters) {
  parameters.dense -= parameters.tables;
  parameters.tables = 0;
  return parameters;
}

StageMemory stage_memory(const PartWeights& weights, const Transformer& model, const Plan& plan,
                         const Software& software, const std::vector<StageContent>& chunks_of_stage,
                         std::int64_t chunks_in_flight) {
  const MemoryStack& stack = software.memory;
  const StateBytes states = state_bytes(plan, software);
  const StageParameters parameters =
      stage_parameters(weights, model, plan, software, chunks_of_stage);
  const double tokens = real(layer_setting(plan).tokens());

  StageMemory memory;
  const auto place = [&memory](double bytes, bool on_host, Bytes& on_device) {
    (on_host ? memory.offloaded : on_device) += Bytes{bytes};
  };
  place(held(plan, parameters, 3) * states.weights, plan.offload == Offload::optimizer_params,
        memory.weights);
  const std::int64_t sharded_from = states.always_sharded ? 0 : 1;
  const double owned = held(plan, parameters, sharded_from);
  double optimizer = owned * states.optimizer;
  if (plan.optimizer == Optimizer::muon) {
    optimizer -= held(plan, matrices_of(parameters), sharded_from) * states.moment;
  }
  const double on_host = owned * plan.optimizer_offload * 2 * states.moment;
  place(optimizer - on_host, plan.offload != Offload::none, memory.optimizer);
  memory.offloaded += Bytes{on_host};
  memory.gradients = {held(plan, parameters, 2) * states.gradients};

  const bool full = plan.recompute == Recompute::full && repeated_blocks(plan) == 1;
  PartWeight heaviest;
  each_part([&](Part part) {
    const bool here = std::ranges::any_of(
        chunks_of_stage, [&](const StageContent& chunk) { return chunk.parts[part] > 0; });
    if (!is_block(part) || !here) return;
    if (weights[part].whole > heaviest.whole) heaviest = weights[part];
  });
  // Full recompute keeps the input of every n-th block, and repeats n blocks at a time.
  double most_kept = 0;
  double most_offloaded = 0;
  std::int64_t most_blocks = 0;
  for (const StageContent& chunk : chunks_of_stage) {
    std::int64_t held_blocks = 0;
    double kept = 0;
    double offloaded = 0;
    each_part([&](Part part) {
      if (!is_block(part)) return;
      held_blocks += chunk.parts[part];
      kept += real(chunk.parts[part]) * weights[part].kept;
      offloaded += real(chunk.parts[part]) * weights[part].offloaded;
    });
    most_blocks = std::max(most_blocks, held_blocks);
    most_kept = std::max(most_kept, kept);
    most_offloaded = std::max(most_offloaded, offloaded);
  }
  const double repeated =
      real(std::min(plan.recompute_layers, std::max<std::int64_t>(1, most_blocks)));
  if (full) most_kept = std::ceil(real(most_blocks) / repeated) * heaviest.checkpoint;
  const double extra = plan.pp > 1 ? real(stack.extra_pipeline_buffers) : 0.0;
  const double in_flight =
      std::min(real(chunks_in_flight) + extra, real(plan.micro_batches() * plan.vpp));
  // One more checkpoint a micro batch: the input that the stage received.
  const double inputs = plan.pp > 1 && extra > 0 ? heaviest.input : 0.0;
  memory.activations = {stack.activation_factor * in_flight * (most_kept + inputs)};
  // One layer's are on their way to the host while the next one's are made.
  const double one_layer = heaviest.offloaded + (plan.offload_layers > 0 ? heaviest.kept : 0.0);
  const double in_transit = std::min(in_flight * most_offloaded, 2 * one_layer);
  memory.activations += Bytes{in_transit};
  memory.offloaded += Bytes{in_flight * most_offloaded - in_transit};

  double live =
      stack.layer_workspace_factor * (full ? repeated * heaviest.whole : heaviest.repeated);
  const double backward =
      stack.backward_bytes * tokens * real(model.hidden + model.ffn_hidden) / real(plan.tp);
  double logits = 0;
  const auto head =
      std::ranges::find_if(chunks_of_stage, [](const StageContent& chunk) { return chunk.head; });
  if (head != chunks_of_stage.end()) {
    const std::int64_t vocab = padded_vocab(model.vocab, plan.tp, software.vocab_multiple);
    const double capped = model.logit_cap ? bytes_per_element(activation_precision(plan)) : 0.0;
    logits = real(head->parts[Part::head]) * (stack.logit_bytes + capped) * tokens * real(vocab) /
             real(plan.tp);
  }
  live += std::max(logits, backward);
  // The input that tensor ranks gather once more for a layer's backward pass, and its gradient
  // before it is scattered, are whole on every rank.
  if (plan.tp > 1 && plan.sequence_parallel && !stack.keeps_gathers) {
    live += 2 * bytes_per_element(activation_precision(plan)) * tokens * real(model.hidden);
  }
  live += gathered_bytes(weights, plan, software, chunks_of_stage, parameters, states.gathered);
  if (plan.replicas() > 1) live += states.reduced * parameters.total();
  if (plan.zero == 0) live += states.unsharded * parameters.total();
  // The update begins when no activations are left, and makes copies of gradients.
  const double update = plan.offload == Offload::none
                            ? owned * (1.0 - plan.optimizer_offload) * states.updating
                            : 0.0;
  live = std::max(live, update - memory.activations.value);
  memory.buffers = {live};
  memory.allocator_cache = stack.allocator_cache;
  memory.framework = stack.framework + stack.allocator_cache;
  if (plan.tp > 1 || plan.pp > 1) memory.framework += stack.parallel_framework;
  return memory;
}

Bytes printed_peak(const StageMemory& memory, const Device& device, const Software& software) {
  const double cap = device.memory.value * software.memory.printed_cap;
  return {std::min(memory.total().value, std::max(cap, memory.allocated().value))};
}

StageMemory printed(StageMemory memory, const Device& device, const Software& software) {
  const Bytes given_back = memory.total() - printed_peak(memory, device, software);
  memory.framework = memory.framework - given_back;
  memory.allocator_cache = memory.allocator_cache - given_back;
  return memory;
}

MemoryVerdict memory_verdict(const StageMemory& memory, const Device& device) {
  if (memory.allocated() > device.memory) return MemoryVerdict::oom;
  return memory.total() > kTightShare * device.memory ? MemoryVerdict::tight : MemoryVerdict::fits;
}

}  // namespace prequel
