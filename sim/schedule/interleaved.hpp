#pragma once

/// Interleaved 1F1B (Narayanan et al. 2021, Megatron-LM): each stage has v chunks of layers, which
/// a micro batch visits in v rounds. Stage s runs 2(p − 1 − s) + (v − 1)p chunk forwards to warm up
/// (all of them if m = p), then one forward and one backward in turn. Micro batches go round in
/// groups of p, so m must be a multiple of p. The bubble is that of 1F1B over v.

#include "sim/schedule/pipeline_emitter.hpp"

namespace prequel {

template <class Reader>
void emit_interleaved(const PipelineShape& shape, Reader& reader) {
  using Token = typename Reader::Token;
  PipelineEmitter emit(shape, reader);
  const std::uint32_t stages = shape.stages;
  const std::uint32_t round = stages * shape.chunks;  // passes of a group of p micro batches
  const std::uint32_t passes = shape.micro_batches * shape.chunks;

  // A stage's k-th forward or backward is of this round and micro batch.
  const auto round_of = [=](std::uint32_t pass) { return pass % round / stages; };
  const auto micro_batch_of = [=](std::uint32_t pass) {
    return pass / round * stages + pass % stages;
  };

  // In slot t stage s runs forward t − s and, `delay(s)` passes later, the backwards. What it waits
  // for ran in the slot before, at its neighbour or, between rounds, at the other end.
  const std::uint32_t last = stages - 1;
  const std::uint32_t all_forwards_first = shape.micro_batches == stages ? stages : 0;
  const auto delay = [=](std::uint32_t stage) {
    return 2 * (last - stage) + (shape.chunks - 1) * stages + all_forwards_first;
  };
  const auto first_backward = [=](std::uint32_t stage) { return delay(stage) + stage; };

  // What each stage sent last: activations, then gradients.
  std::vector<Token> sent(2 * stages);
  const std::span activation(sent.data(), stages);
  const std::span gradient(sent.data() + stages, stages);

  const std::uint32_t slots = first_backward(0) + passes;
  const std::uint32_t steady_from = first_backward(0);
  reader.begin_repeating();
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const Token round_begins = activation[last];
    for (std::uint32_t stage = stages; stage-- > 0;) {
      const std::uint32_t pass = slot - stage;
      if (slot < stage || pass >= passes) continue;
      const std::uint32_t chunk = round_of(pass);
      const Token arrived = stage > 0 ? activation[stage - 1] : chunk > 0 ? round_begins : Token{};
      activation[stage] = emit.forward(stage, chunk, micro_batch_of(pass), arrived);
    }
    const Token round_returns = gradient[0];
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      const std::uint32_t pass = slot - first_backward(stage);
      if (slot < first_backward(stage) || pass >= passes) continue;
      const std::uint32_t chunk = shape.chunks - 1 - round_of(pass);
      const Token arrived = stage < last               ? gradient[stage + 1]
                            : chunk + 1 < shape.chunks ? round_returns
                                                       : Token{};
      gradient[stage] = emit.backward(stage, chunk, micro_batch_of(pass), arrived);
    }
    const bool round_ends = slot >= steady_from && (slot - steady_from + 1) % round == 0;
    if (round_ends && slot + 1 < passes) {
      slot += round * emit.skip((passes - 1 - slot) / round, sent);
    }
  }
}

}  // namespace prequel
