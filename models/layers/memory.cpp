#include "models/layers/memory.hpp"

#include <algorithm>
#include <cmath>

#include "models/layers/state_bytes.hpp"

namespace prequel {
namespace {

constexpr double kTightShare = 0.88;  // part of the interface (prequel predict's verdict)

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Bytes of activations that one block keeps of one micro batch, and what is live while it is
/// computed. arXiv 2205.05198 eq. 1 to 4: s·b·h·(10 + 24/t), with sequence parallelism 34/t, and
/// the attention scores where no flash kernel avoids them.
struct BlockActivations {
  double whole;  ///< everything that the backward pass reads
  double without_scores;
  double checkpoint;  ///< the input of the block alone
};

BlockActivations block_activations(const Transformer& model, const Plan& plan,
                                   const Software& software) {
  const double tokens = real(plan.mbs) * real(plan.seq_len);
  const double t = real(plan.tp);
  const double element = bytes_per_element(plan.precision) / 2.0;  // the formulas count fp16 bytes
  const double hidden_bytes = tokens * real(model.hidden) * element;
  const double inner = real(model.ffn_hidden) / (4.0 * real(model.hidden));
  const double gates = model.mlp == Mlp::swiglu ? 1.5 : 1.0;
  const double split = 8.0 + 16.0 * inner * gates;
  const double replicated = plan.sequence_parallel ? 10.0 / t : 10.0;
  const double scores = plan.attention == AttentionKind::flash
                            ? 0.0
                            : software.memory.score_bytes * real(plan.mbs) * real(model.heads) / t *
                                  real(plan.seq_len) * real(plan.seq_len);
  const double without_scores = hidden_bytes * (replicated + split / t);
  return {without_scores + scores, without_scores,
          2.0 * hidden_bytes / (plan.sequence_parallel ? t : 1.0)};
}

/// Parameters that are whole on every rank for a while when they are gathered layer by layer: two
/// layers (the one that computes and the one ahead of it) and the root, and the gradients of one
/// layer and of the root before they are scattered; less where the stack gathers smaller parts.
double gathered_bytes(const Transformer& model, const Plan& plan, const Software& software,
                      double parameters, double weight_bytes) {
  if (plan.zero < software.communication.fully_sharded_from_zero) return 0;
  const double layer = real(layer_parameters(model)) / real(plan.tp);
  const double root = parameters - real(model.layers) * layer;
  const auto limited = [](double wanted, double limit) {
    return limit > 0 ? std::min(wanted, limit) : wanted;
  };
  return limited(2 * layer + root, software.memory.live_parameters) * weight_bytes +
         limited(layer + root, software.memory.reduce_bucket) *
             bytes_per_element(plan.grad_precision);
}

double share(const Plan& plan, std::int64_t from_zero_stage) {
  return plan.zero >= from_zero_stage ? 1.0 / real(plan.replicas()) : 1.0;
}

}  // namespace

double stage_parameters(const Transformer& model, const Plan& plan, const Software& software,
                        const std::vector<StageContent>& chunks_of_stage) {
  const std::int64_t vocab = padded_vocab(model.vocab, plan.tp, software.vocab_multiple);
  const double table = real(embedding_parameters(model, vocab)) / real(plan.tp);
  double parameters = 0;
  bool has_table = false;
  for (const StageContent& chunk : chunks_of_stage) {
    parameters += real(chunk.blocks) * real(layer_parameters(model)) / real(plan.tp);
    if (chunk.embedding) {
      parameters += table + real(position_parameters(model, plan.seq_len));
      has_table = true;
    }
    if (chunk.head) {
      parameters += real(final_norm_parameters(model));
      // A tied head on the embedding's own stage shares its table.
      if (!model.tied_embeddings || !has_table) parameters += table;
    }
  }
  return parameters;
}

StageMemory stage_memory(const Transformer& model, const Plan& plan, const Software& software,
                         const std::vector<StageContent>& chunks_of_stage,
                         std::int64_t chunks_in_flight) {
  const MemoryStack& stack = software.memory;
  const StateBytes states = state_bytes(plan, software);
  const double parameters = stage_parameters(model, plan, software, chunks_of_stage);
  const BlockActivations block = block_activations(model, plan, software);
  const double tokens = real(plan.mbs) * real(plan.seq_len);

  StageMemory memory;
  const auto place = [&memory](double bytes, bool on_host, Bytes& on_device) {
    (on_host ? memory.offloaded : on_device) += Bytes{bytes};
  };
  place(parameters * states.weights * share(plan, 3), plan.offload == Offload::optimizer_params,
        memory.weights);
  place(parameters * states.optimizer * share(plan, 1), plan.offload != Offload::none,
        memory.optimizer);
  memory.gradients = {parameters * states.gradients * share(plan, 2)};

  std::int64_t most_blocks = 0;
  for (const StageContent& chunk : chunks_of_stage) {
    most_blocks = std::max(most_blocks, chunk.blocks);
  }
  const bool full = plan.recompute == Recompute::full;
  // Full recompute keeps the input of every n-th block, and repeats n blocks at a time.
  const double repeated =
      real(std::min(plan.recompute_layers, std::max<std::int64_t>(1, most_blocks)));
  const double kept_blocks = full ? std::ceil(real(most_blocks) / repeated) : real(most_blocks);
  const double kept =
      full ? block.checkpoint
           : (plan.recompute == Recompute::selective ? block.without_scores : block.whole);
  const double extra = plan.pp > 1 ? real(stack.extra_pipeline_buffers) : 0.0;
  const double in_flight =
      std::min(real(chunks_in_flight) + extra, real(plan.micro_batches() * plan.vpp));
  // One more checkpoint a micro batch: the input that the stage received.
  const double inputs = plan.pp > 1 && extra > 0 ? block.checkpoint : 0.0;
  memory.activations = {in_flight * (kept_blocks * kept + inputs)};

  double live =
      stack.layer_workspace_factor *
      (full ? repeated * block.whole
            : (plan.recompute == Recompute::selective ? block.whole - block.without_scores : 0.0));
  const bool head = std::any_of(chunks_of_stage.begin(), chunks_of_stage.end(),
                                [](const StageContent& chunk) { return chunk.head; });
  if (head) {
    const std::int64_t vocab = padded_vocab(model.vocab, plan.tp, software.vocab_multiple);
    live += stack.logit_bytes * tokens * real(vocab) / real(plan.tp);
  }
  live += gathered_bytes(model, plan, software, parameters, states.gathered);
  if (plan.replicas() > 1) live += stack.reduce_bytes * parameters;
  if (plan.zero == 0) live += states.unsharded * parameters;
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
