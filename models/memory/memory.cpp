#include "models/memory/memory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/layers/adapter.hpp"
#include "models/layers/kept.hpp"
#include "models/memory/state_bytes.hpp"
#include "models/plan/gathers.hpp"
#include "models/plan/groups.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/lengths.hpp"

namespace prequel {
namespace {

constexpr double kTightShare = 0.88;  // part of the interface (prequel predict's verdict)

/// Returns those of them that ranks share out with others: dense ones over the data group, experts
/// over the expert-data group.
StageParameters shared_parameters(const Plan& plan, StageParameters parameters) {
  if (shard_groups(plan, GroupAxis::data).shards.size == 1) parameters.dense = 0;
  if (shard_groups(plan, GroupAxis::expert_data).shards.size == 1) parameters.experts = 0;
  return parameters;
}

/// Returns the number of them that other ranks hold, too, so that gradients are reduced.
double reduced_parameters(const Plan& plan, const StageParameters& parameters) {
  const auto copied = [&](GroupAxis axis) { return rank_group(plan, axis).size > 1 ? 1.0 : 0.0; };
  return copied(GroupAxis::data) * parameters.dense +
         copied(GroupAxis::expert_data) * parameters.experts;
}

/// Parameters that are whole on every rank for a while when they are gathered layer by layer: two
/// layers (the one that computes and the one ahead of it) and the root, and the gradients of one
/// layer and of the root before they are scattered.
/// Where they are kept from one end of the step to the other, all of them and all gradients.
/// Parameters of a group of one rank are there without any gather: dense ones by the data group,
/// experts' by the expert-data group.
double gathered_bytes(const PartWeights& weights, const Transformer& model, const Plan& plan,
                      const Software& software, const std::vector<StageContent>& chunks_of_stage,
                      const StageParameters& parameters, const StageParameters& learning,
                      double weight_bytes) {
  const Gathers gathers = gathers_of(plan, software);
  if (!layer_by_layer(gathers)) return 0;
  const StageParameters shared_out = shared_parameters(plan, parameters);
  const double gradient_bytes = bytes_per_element(plan.grad_precision);
  const StageParameters shared_learning = shared_parameters(plan, learning);
  if (gathers == Gathers::once) {
    return shared_out.total() * weight_bytes + shared_learning.total() * gradient_bytes;
  }
  std::int64_t blocks = 0;
  for (const StageContent& chunk : chunks_of_stage) blocks += chunk.blocks;
  PartParameters block;  // of the largest layer
  each_part([&](Part part) {
    const PartParameters& one = weights[part].parameters;
    if (is_block(part) && one.all.total() > block.all.total()) block = one;
  });
  const auto of_layer = [&](const ParameterCount& count) {
    StageParameters one;
    one.dense = real(count.dense) / real(plan.tp);
    one.experts = real(count.experts) / real(plan.etp * plan.ep);
    return shared_parameters(plan, one).total();
  };
  const auto of_root = [&](const StageParameters& all, double layer) {
    return std::max(0.0, all.total() - real(blocks) * layer);
  };
  const double layer = of_layer(block.all);
  const double learns = of_layer(block.learning);
  double live = 2 * layer + of_root(shared_out, layer);
  double reduced = learns + of_root(shared_learning, learns);
  if (software.communication.sharding == Sharding::fsdp_tables) {
    const double tables = model.tied_embeddings ? 1 : 2;
    live = layer + std::max(layer, of_root(shared_out, layer) / tables);
    reduced = std::max(learns, of_root(shared_learning, learns) / tables);
  }
  if (software.communication.sharding == Sharding::deepspeed) {
    // It goes by smaller parts than layers, up to its defaults: stage3_max_live_parameters,
    // reduce_bucket_size (deepspeed/runtime/zero/config.py).
    live = std::min(live, 1e9);
    reduced = std::min(reduced, 5e8);
  }
  return live * weight_bytes + reduced * gradient_bytes;
}

/// Returns the number of `parameters` that a rank holds if they are sharded from a ZeRO stage on.
double held(const Plan& plan, const StageParameters& parameters, std::int64_t from_zero_stage) {
  return plan.zero >= from_zero_stage ? sharded_parameters(plan, parameters) : parameters.total();
}

/// Parameters of the largest unit whose gradients are there at once where each is updated as soon
/// as its gradient is: a block or a table.
double largest_unit(const PartWeights& weights, const Transformer& model, const Plan& plan,
                    const std::vector<StageContent>& chunks_of_stage,
                    const StageParameters& learning) {
  double most = 0;
  for (const StageContent& chunk : chunks_of_stage) {
    each_part([&](Part part) {
      if (!is_block(part) || chunk.parts[part] == 0) return;
      const ParameterCount& block = weights[part].parameters.learning;
      const double here =
          real(block.dense) / real(plan.tp) + real(block.experts) / real(plan.etp * plan.ep);
      most = std::max(most, here);
    });
  }
  const double tables = model.tied_embeddings ? 1 : 2;
  return std::max(most, learning.tables / tables);
}

/// Parameters whose gradients a rank holds where adapters share flat ones with frozen matrices.
double flat_gradients(const Plan& plan, const Software& software,
                      const StageParameters& parameters) {
  const bool shared = software.communication.sharding == Sharding::fsdp_flat &&
                      trains_adapters(plan.tuning) && layer_by_layer(gathers_of(plan, software));
  if (!shared) return 0;
  const StageParameters blocks = matrices_of(parameters);
  return plan.micro_batches() > 1 ? blocks.total() : held(plan, blocks, 2);
}

/// Returns how many of `owned` gradients the update widens at once: DeepSpeed's stage 3, which is
/// sharded layer by layer, goes by groups (sub_group_size, deepspeed/runtime/zero/config.py).
double widened_at_once(const Plan& plan, const Software& software, double owned) {
  constexpr double kSubGroup = 1e9;  // parameters
  const Sharding by = software.communication.sharding;
  const bool in_groups = plan.zero == 3 && (by == Sharding::deepspeed || by == Sharding::fsdp);
  return in_groups ? std::min(owned, kSubGroup) : owned;
}

/// Bytes a parameter of copies that the update makes.
double updated_copies(const Plan& plan, const MemoryStack& stack, double moment) {
  return plan.optimizer == Optimizer::adam ? stack.update_copies * moment : 0.0;
}

/// The load of one model chunk of a stage for each micro batch between its passes, and the load
/// beside that while it computes.
struct ChunkLoad {
  double kept{};          ///< activations of its layers
  double waiting{};       ///< of `kept`, what the loss keeps until its backward begins
  double offloaded{};     ///< that wait in host memory instead
  double in_transit{};    ///< most of these that are on their way
  double loss{};          ///< most of the loss, with what it keeps
  double layer{};         ///< most of a layer's backward: what is repeated, and gradients
  double received{};      ///< the input that another stage sent, where the stack keeps it apart
  double gathered{};      ///< inputs that tensor ranks gather
  double placeholders{};  ///< for gradients of weights, of the block that has most
};

/// Tests whether a loss makes its gradients in the forward pass already, as Liger's fused one.
bool gives_gradients_early(const Plan& plan, const Software& software) {
  return plan.loss == LossForm::fused && !software.kernels.transformer_engine;
}

/// Bytes of these gradients, of hidden states and of a table that learns: each micro batch keeps
/// both until its backward pass (`save_for_backward` of LigerFusedLinearCrossEntropyFunction).
double early_gradients(const Transformer& model, const Plan& plan, const Software& software) {
  const double table = learning_of(plan).tables_learn()
                           ? real(head_outputs(model, plan.tp, software.vocab_multiple))
                           : 0.0;
  return bytes_per_element(activation_precision(plan)) * real(model.hidden) *
         (real(layer_setting(plan).tokens()) + table);
}

/// Bytes of the most that a loss holds of the logits of one head.
double loss_bytes(const Transformer& model, const Plan& plan, const Software& software) {
  constexpr double kChunks = 8;  // torchtune's CEWithChunkedOutputLoss
  constexpr double kWide = 4.0;  // fp32
  const MemoryStack& stack = software.memory;
  const double tokens = real(layer_setting(plan).tokens());
  const double element = bytes_per_element(activation_precision(plan));
  const double vocab = real(head_outputs(model, plan.tp, software.vocab_multiple));
  const double logits = tokens * vocab;
  const bool in_place = software.kernels.transformer_engine;
  const double whole = stack.most_of_logit(plan.compile, plan.tp);
  switch (plan.loss) {
    case LossForm::whole: break;
    case LossForm::compiled:
      // Megatron-Core's native fusion makes one copy in fp32 more.
      return (whole + (in_place ? kWide : 0.0)) * logits;
    case LossForm::chunked: {
      // All logits, in whose place their gradients come, and a chunk of them in fp32; eager kernels
      // keep the softmax of all.
      const double kept = software.kernels.fuses(plan.compile) ? element : element + kWide;
      return std::min(whole, kept + kWide / kChunks) * logits;
    }
    case LossForm::fused: {
      if (in_place) return kWide * logits;
      // Liger's: as many tokens at a time as keep their logits near the hidden states in size.
      const double parts = std::ceil(vocab / real(model.hidden));
      const double rows = real(static_cast<std::int64_t>(
          std::bit_ceil(static_cast<std::uint64_t>(std::ceil(tokens / parts)))));
      return whole * std::min(rows, tokens) * vocab + early_gradients(model, plan, software);
    }
  }
  return whole * logits;
}

/// Bytes that a loss keeps from its forward to its backward pass, `most` of which it held.
double waiting_loss_bytes(const Transformer& model, const Plan& plan, const Software& software,
                          double most) {
  if (gives_gradients_early(plan, software)) return early_gradients(model, plan, software);
  const double logits = real(layer_setting(plan).tokens()) *
                        real(head_outputs(model, plan.tp, software.vocab_multiple));
  const double each =
      software.kernels.transformer_engine ? 4.0 : software.memory.logit_bytes.compiled;
  return std::min(most, each * logits);
}

/// Bytes of the head's gradient beside its logits, where it is a sum over their chunks.
double summed_head_bytes(const Transformer& model, const Plan& plan, const Software& software) {
  if (plan.loss != LossForm::chunked || !learning_of(plan).tables_learn()) return 0;
  const bool frees = software.memory.frees_gradients && plan.micro_batches() == 1 &&
                     !layer_by_layer(gathers_of(plan, software));
  const double sums = frees ? 2 : 1;
  return sums * bytes_per_element(activation_precision(plan)) * real(model.hidden) *
         real(head_outputs(model, plan.tp, software.vocab_multiple));
}

std::vector<ChunkLoad> loads_of(const PartWeights& weights, const Transformer& model,
                                const Plan& plan, const Software& software,
                                const std::vector<StageContent>& chunks_of_stage) {
  const MemoryStack& stack = software.memory;
  const bool full = plan.recompute == Recompute::full && repeated_blocks(plan) == 1;
  const double tokens = real(layer_setting(plan).tokens());
  const double backward =
      stack.backward_bytes * tokens * real(model.hidden + model.ffn_hidden) / real(plan.tp);
  std::vector<ChunkLoad> loads;
  for (const StageContent& chunk : chunks_of_stage) {
    ChunkLoad load;
    PartWeight heaviest;
    std::int64_t blocks = 0;
    each_part([&](Part part) {
      const std::int64_t count = chunk.parts[part];
      if (count == 0) return;
      const PartWeight& weight = weights[part];
      if (!is_block(part)) {
        load.kept += real(count) * stack.activation_factor * weight.kept;
        return;
      }
      if (weight.input > 0) blocks += count;  // a detached one keeps nothing
      if (!full) load.offloaded += real(count) * weight.offloaded;
      load.gathered += real(count) * weight.gathered;
      load.placeholders = std::max(load.placeholders, weight.placeholders);
      if (!full) load.kept += real(count) * stack.activation_factor * weight.kept;
      if (weight.whole > heaviest.whole) heaviest = weight;
      load.layer = std::max(load.layer, weight.working);
    });
    // Full recompute keeps the input of every n-th block, and repeats n blocks at a time.
    const double repeated =
        real(std::min(plan.recompute_layers, std::max<std::int64_t>(1, blocks)));
    if (full) {
      const double inputs = std::ceil(real(blocks) / repeated);
      load.kept += stack.activation_factor * inputs * (heaviest.checkpoint - heaviest.offloaded);
      load.offloaded += inputs * heaviest.offloaded;
    }
    load.layer =
        std::max(load.layer, backward) +
        stack.layer_workspace_factor * (full ? repeated * heaviest.whole : heaviest.repeated);
    // One layer's are on their way to the host while the next one's are made.
    load.in_transit = 2 * (heaviest.offloaded + (plan.offload_layers > 0 ? heaviest.kept : 0.0));
    if (const std::int64_t heads = chunk.parts[Part::head]; heads > 0) {
      const double most = loss_bytes(model, plan, software);
      const double kept = waiting_loss_bytes(model, plan, software, most);
      load.waiting = real(heads) * kept;
      load.loss = real(heads - 1) * kept + most + summed_head_bytes(model, plan, software);
      load.kept += load.waiting;
    }
    // One more checkpoint a micro batch: the input that the stage received.
    if (plan.pp > 1 && stack.extra_pipeline_buffers > 0) {
      load.received = stack.activation_factor * heaviest.input;
    }
    loads.push_back(load);
  }
  return loads;
}

/// The moment at which a stage holds the most beside its states.
struct Fullest {
  double activations{};
  double live{};  ///< of the chunk that computes
  double offloaded{};
  double gathered{};  ///< inputs that tensor ranks gathered, whose blocks wait for another stream
};

Fullest fullest_moment(const std::vector<ChunkLoad>& loads, const Plan& plan,
                       const Software& software, const InFlight& in_flight) {
  std::vector<ChunkMoment> moments = in_flight.moments;
  if (moments.empty()) {
    const auto largest = std::ranges::max_element(loads, {}, &ChunkLoad::kept) - loads.begin();
    for (std::size_t chunk = 0; chunk < loads.size(); ++chunk) {
      ChunkMoment moment{chunk, std::vector<std::int64_t>(loads.size())};
      moment.held[static_cast<std::size_t>(largest)] =
          std::min(in_flight.most, plan.micro_batches() * plan.vpp);
      moments.push_back(std::move(moment));
    }
  }
  // Micro batches that wait for the stage count as much as those that it holds.
  const std::int64_t extra = plan.pp > 1 ? software.memory.extra_pipeline_buffers : 0;
  const std::int64_t most = plan.micro_batches() * plan.vpp;
  const double returned = plan.pp > 1 ? software.common.gathers_back : 0;
  Fullest fullest{-1, 0, 0, 0};
  for (const ChunkMoment& moment : moments) {
    const ChunkLoad computing =
        moment.computing == ChunkMoment::kNone ? ChunkLoad{} : loads[moment.computing];
    double kept = 0;
    double offloaded = 0;
    double gathered = 0;
    std::int64_t pairs = 0;
    for (std::size_t chunk = 0; chunk < loads.size(); ++chunk) {
      const auto held = real(moment.held[chunk]);
      kept += held * (loads[chunk].kept + loads[chunk].received);
      offloaded += held * loads[chunk].offloaded;
      gathered += (held - returned) * loads[chunk].gathered;
      pairs += moment.held[chunk];
    }
    const double ahead = real(std::max<std::int64_t>(0, std::min(extra, most - pairs)));
    kept += ahead * (computing.kept - computing.waiting + computing.received);
    // Its own logits are in what the loss takes, and no layer's backward begins before they are
    // gone.
    if (computing.waiting > 0 && moment.held[moment.computing] > 0) kept -= computing.waiting;
    const double in_transit = std::min(offloaded, computing.in_transit);
    kept += in_transit;
    offloaded -= in_transit;
    const double live = std::max(computing.loss, computing.layer);
    if (kept + live > fullest.activations + fullest.live) {
      fullest = {kept, live, offloaded, std::max(0.0, gathered)};
    }
  }
  return fullest;
}

}  // namespace

namespace {

/// Bytes of the inputs that tensor ranks gather for a block's forward pass, whole on each.
double gathered_inputs(const Layer& block) {
  double bytes = 0;
  for (const LayerPiece& piece : block.pieces) {
    const auto* one = std::get_if<LayerCollective>(&piece.what);
    if (one == nullptr || one->axis != GroupAxis::tensor) continue;
    if (one->forward == CollectiveOp::all_gather) bytes += one->bytes.value;
  }
  return bytes;
}

/// Bytes of what autograd is handed in place of gradients of weights, which products have added to
/// their sums: a tensor in 16 bits for each shape, kept for all layers (Transformer Engine's
/// get_dummy_wgrad, from memory).
double placeholders(const Layer& block) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const LayerPiece& piece : block.pieces) {
    const auto* matrix = std::get_if<LinearLayer>(&piece.what);
    if (matrix != nullptr && piece.learns) shapes.emplace_back(matrix->outputs, matrix->inputs);
  }
  std::ranges::sort(shapes);
  double elements = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i > 0 && shapes[i] == shapes[i - 1]) continue;
    elements += real(shapes[i].first * shapes[i].second);
  }
  return bytes_per_element(Precision::bf16) * elements;
}

}  // namespace

PartWeights part_weights(const Transformer& model, const LayerContent& layers,
                         const Software& software) {
  const LayerSetting& setting = layers.setting;
  const PerPart<PartParameters> parameters =
      part_parameters(model, setting.seq_len, setting.learning);
  const PartCounts held = parts_of(model);
  const double repeated = layers.repeated_blocks;
  PartWeights weights;
  each_part([&](Part part) {
    weights[part].parameters = parameters[part];
    if (held[part] == 0) return;
    const Layer block = tell_part(part, model, setting, software);
    if (!is_block(part)) {
      weights[part].kept = kept_bytes(block, {});
      return;
    }
    weights[part].working = working_bytes(block, bytes_per_element(setting.precision));
    weights[part].whole = kept_bytes(block, {});
    weights[part].repeated = weights[part].whole - kept_bytes(block, layers.repeated);
    weights[part].kept = weights[part].whole - repeated * weights[part].repeated;
    weights[part].input = block.input;
    weights[part].gathered = gathered_inputs(block);
    if (software.kernels.transformer_engine) weights[part].placeholders = placeholders(block);
    weights[part].checkpoint = block.saved_input;
    weights[part].kept -= repeated * (block.input - block.saved_input);
    const auto offloaded = [&](WordSet<Module> modules) {
      return offloaded_bytes(block, modules, layers.offloaded);
    };
    weights[part].offloaded =
        repeated * offloaded(layers.repeated) + (1.0 - repeated) * offloaded({});
    // Whole layers leave, as many of each kind as there are.
    weights[part].offloaded += real(layers.offloaded_layers) / real(model.layers) *
                               (weights[part].kept - weights[part].offloaded);
    weights[part].kept -= weights[part].offloaded;
  });
  return weights;
}

namespace {

/// Returns a stage's parameters: those of `counts` of each part, and tables of `table` parameters.
StageParameters counted(const PartWeights& weights, const Transformer& model, const Plan& plan,
                        const std::vector<StageContent>& chunks_of_stage,
                        ParameterCount PartParameters::*counts, double table) {
  StageParameters parameters;
  bool has_table = false;
  for (const StageContent& chunk : chunks_of_stage) {
    each_part([&](Part part) {
      if (!is_block(part) || chunk.parts[part] == 0) return;
      const ParameterCount& block = weights[part].parameters.*counts;
      parameters.dense += real(chunk.parts[part]) * real(block.dense) / real(plan.tp);
      parameters.experts +=
          real(chunk.parts[part]) * real(block.experts) / real(plan.etp * plan.ep);
    });
    if (chunk.embedding) {
      parameters.tables += table + real((weights[Part::embedding].parameters.*counts).dense);
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
          real(more) * real((weights[Part::next_token].parameters.*counts).dense) / real(plan.tp);
    }
    if (chunk.head) {
      parameters.tables += real((weights[Part::head].parameters.*counts).dense);
      // A tied head on the embedding's own stage shares its table; layers of multi-token
      // prediction share the embedding's, which another stage has to hold a copy of.
      if (!model.scores && (!model.tied_embeddings || !has_table)) parameters.tables += table;
      if (model.next_token_layers > 0 && !has_table) parameters.tables += table;
    }
  }
  parameters.dense += parameters.tables;
  return parameters;
}

double table_parameters(const Transformer& model, const Plan& plan, const Software& software) {
  const std::int64_t vocab = padded_vocab(model.vocab, plan.tp, software.vocab_multiple);
  return real(embedding_parameters(model, vocab)) / real(plan.tp);
}

}  // namespace

StageParameters stage_parameters(const PartWeights& weights, const Transformer& model,
                                 const Plan& plan, const Software& software,
                                 const std::vector<StageContent>& chunks_of_stage) {
  return counted(weights, model, plan, chunks_of_stage, &PartParameters::all,
                 table_parameters(model, plan, software));
}

StageParameters learning_parameters(const PartWeights& weights, const Transformer& model,
                                    const Plan& plan, const Software& software,
                                    const std::vector<StageContent>& chunks_of_stage) {
  const bool tables = learning_of(plan).tables_learn();
  return counted(weights, model, plan, chunks_of_stage, &PartParameters::learning,
                 tables ? table_parameters(model, plan, software) : 0);
}

double mean_weight_bytes(const Plan& plan, const StageParameters& all,
                         const StageParameters& learning, double element) {
  if (learning_of(plan).all_learns() || all.total() == 0) return element;
  const double computed = bytes_per_element(activation_precision(plan));
  const double tables = all.tables - learning.tables;
  const double matrices = all.total() - learning.total() - tables;
  return (learning.total() * element + tables * computed +
          matrices * stored_bytes(plan.base_precision, computed)) /
         all.total();
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
                         const InFlight& in_flight) {
  const MemoryStack& stack = software.memory;
  const StageParameters parameters =
      stage_parameters(weights, model, plan, software, chunks_of_stage);
  const StageParameters learning =
      learning_parameters(weights, model, plan, software, chunks_of_stage);
  const double tables = learning.total() > 0 ? learning.tables / learning.total() : 0.0;
  const StateBytes states = with_tables(state_bytes(plan, software), plan, tables);

  StageMemory memory;
  const auto place = [&memory](double bytes, bool on_host, Bytes& on_device) {
    (on_host ? memory.offloaded : on_device) += Bytes{bytes};
  };
  place(held(plan, parameters, 3) * mean_weight_bytes(plan, parameters, learning, states.weights),
        plan.offload == Offload::optimizer_params, memory.weights);
  // The reference is a model of its own, unless adapters that are turned off make it.
  if (plan.tuning == Tuning::full && traits(plan.objective).reference) {
    place(held(plan, parameters, 3) * bytes_per_element(activation_precision(plan)),
          plan.offload == Offload::optimizer_params, memory.weights);
  }
  const double owned = held(plan, learning, 1);
  double optimizer = owned * states.optimizer;
  if (plan.optimizer == Optimizer::muon) {
    optimizer -= held(plan, matrices_of(learning), 1) * states.moment;
  }
  const double on_host = owned * plan.optimizer_offload * 2 * states.moment;
  place(optimizer - on_host, plan.offload != Offload::none, memory.optimizer);
  memory.offloaded += Bytes{on_host};
  if (pages_moments(plan.optimizer)) {
    memory.paged = {plan.offload == Offload::none ? owned * 2 * states.moment : 0.0};
  }
  // Sharded gradients follow the optimizer to the host as they are reduced (DeepSpeed's
  // ZeRO-Offload, FSDP2's CPUOffloadPolicy).
  const bool leave = plan.offload != Offload::none && plan.zero >= 2;
  const double flat = flat_gradients(plan, software, parameters);
  place(std::max(held(plan, learning, 2), flat) * states.gradients, leave, memory.gradients);
  if (updates_in_backward(plan.optimizer)) {
    memory.gradients = {
        std::min(memory.gradients.value,
                 largest_unit(weights, model, plan, chunks_of_stage, learning) * states.gradients)};
  }

  const std::vector<ChunkLoad> loads = loads_of(weights, model, plan, software, chunks_of_stage);
  const Fullest fullest = fullest_moment(loads, plan, software, in_flight);
  memory.activations = {fullest.activations};
  memory.offloaded += Bytes{fullest.offloaded};

  double always = stack.workspaces.value;
  // The input that tensor ranks gather once more for a layer's backward pass, and its gradient
  // before it is scattered, are whole on every rank.
  if (plan.tp > 1 && plan.sequence_parallel && !stack.keeps_gathers) {
    always += 2 * bytes_per_element(activation_precision(plan)) *
              real(layer_setting(plan).tokens()) * real(model.hidden);
  }
  always += std::ranges::max(loads, {}, &ChunkLoad::placeholders).placeholders;
  const double gathered =
      gathered_bytes(weights, model, plan, software, chunks_of_stage, parameters, learning,
                     mean_weight_bytes(plan, parameters, learning, states.gathered));
  always += gathered;
  always += states.reduced * reduced_parameters(plan, learning);
  // Without ZeRO, DeepSpeed's FP16_Optimizer flattens gradients into 16 bits, casts them to fp32,
  // and casts the new weights into flat ones: 2 + 4 + 2 bytes a parameter beside its states.
  const bool flattens = software.communication.sharding == Sharding::deepspeed && plan.zero == 0 &&
                        plan.precision == Precision::fp16;
  if (flattens) always += 8.0 * learning.total();
  // The update begins when no activations are left, and makes copies of gradients and of moments.
  const double update = plan.offload == Offload::none
                            ? widened_at_once(plan, software, owned) *
                                      (1.0 - plan.optimizer_offload) * states.updating +
                                  owned * updated_copies(plan, stack, states.moment)
                            : 0.0;
  const double at_update = update + stack.workspaces.value;
  const double passes = fullest.activations + fullest.live + always;
  const double last_layer = std::ranges::max(loads, {}, &ChunkLoad::layer).layer;
  double after_passes = at_update;  // what the rest of the step takes
  if (stack.frees_gradients && plan.micro_batches() == 1 && plan.pp == 1) {
    after_passes += memory.gradients.value;
    const double later = memory.gradients.value + std::max(last_layer + always, at_update);
    if (later >= passes) {
      memory.activations = {0.0};
      memory.buffers = {std::max(last_layer + always, at_update)};
    } else {
      memory.gradients = {0.0};
      memory.buffers = {fullest.live + always};
    }
  } else {
    memory.buffers = {std::max(fullest.live + always, at_update - fullest.activations)};
  }
  const double share = gathered > 0 ? stack.gathered_cache_share : stack.cache_share;
  // The loss frees its blocks before layers take theirs, and the passes before the update does.
  const double loss = std::ranges::max(loads, {}, &ChunkLoad::loss).loss;
  // Longer micro batches cannot take the blocks of shorter ones before them.
  const bool varies = plan.lengths != kFixedLengths && plan.packing == Packing::none;
  const double shorter = varies ? fullest.activations + fullest.live : 0.0;
  const double freed =
      std::max({std::min(loss, last_layer), std::min(passes, after_passes), shorter});
  // Inputs that are gathered again are not kept, but their blocks wait for the stream that read
  // them, while the host runs ahead.
  const double late = stack.keeps_gathers ? 0.0 : stack.gathered_cache_share * fullest.gathered;
  memory.allocator_cache = stack.allocator_cache + Bytes{share * freed + late};
  memory.framework = stack.framework + memory.allocator_cache;
  if (plan.tp > 1 || plan.pp > 1) memory.framework += stack.parallel_framework;
  return memory;
}

Bytes printed_peak(const StageMemory& memory, Bytes most) {
  return {std::min(memory.total().value, std::max(most.value, memory.needed().value))};
}

StageMemory printed(StageMemory memory, Bytes most) {
  const Bytes given_back = memory.total() - printed_peak(memory, most);
  const Bytes of_cache = std::min(given_back, memory.allocator_cache);
  memory.framework = memory.framework - of_cache;
  memory.allocator_cache = memory.allocator_cache - of_cache;
  memory.optimizer = memory.optimizer - (given_back - of_cache);
  memory.paged = memory.paged - (given_back - of_cache);
  return memory;
}

MemoryVerdict memory_verdict(const StageMemory& memory, const Device& device) {
  if (memory.needed() > device.memory) return MemoryVerdict::oom;
  return memory.total() > kTightShare * device.memory ? MemoryVerdict::tight : MemoryVerdict::fits;
}

}  // namespace prequel
