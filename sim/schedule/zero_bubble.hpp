#pragma once

/// Zero-bubble schedules (Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 2): the
/// backward is split, so that the gradients of weights, for which nobody waits, fill the bubbles.
///
/// With F, B, W the times of forward, input and weight gradient, the bubble per stage is
/// (p − 1)(F + B − W) for ZB-H1 and (p − 1)(F + B − 2W) for ZB-H2, if F, B and W are near one
/// another (1F1B: (p − 1)(F + B + W)). Until their weight gradients, all stages hold p micro
/// batches in ZB-H1, as stage 0 does in 1F1B, and 2p − 1 in ZB-H2.
///
/// ZB-2p has the memory of ZB-H2 and no bubble: its order is searched for the times at hand, and
/// the optimizer's norms and checks of finiteness are validated after the update (section 4), so
/// that no step waits for the one before on another stage.

#include "sim/schedule/pipeline_emitter.hpp"

namespace prequel {

/// ZB-H1: 1F1B with the weight gradients of stage s run s micro batches late.
template <Reader R>
void emit_zb_h1(const PipelineShape& shape, R& reader) {
  using Token = typename R::Token;
  PipelineEmitter emit(shape, reader);
  const std::uint32_t last = shape.stages - 1;
  const std::uint32_t micro_batches = shape.micro_batches;

  // As in 1F1B, a gradient comes from the neighbour's wave before.
  std::vector<Token> gradient(shape.stages + 1);
  reader.begin_repeating();
  for (std::uint32_t wave = 0; wave < micro_batches + last; ++wave) {
    Token activation{};
    for (std::uint32_t stage = 0; stage <= last; ++stage) {
      if (wave < micro_batches) activation = emit.forward(stage, 0, wave, activation);
      const std::uint32_t warm_up = last - stage;
      if (wave >= warm_up && wave - warm_up < micro_batches) {
        gradient[stage] = emit.input_gradient(stage, 0, wave - warm_up, gradient[stage + 1]);
      }
      if (wave >= last) emit.weight_gradient(stage, 0, wave - last);
    }
    const bool steady = wave >= last && wave < micro_batches;
    if (steady) wave += emit.skip(micro_batches - 1 - wave, gradient);
  }
}

/// How the optimizer steps of stages wait for each other.
enum class Steps : std::uint8_t {
  together,  ///< the optimizer synchronises them
  staggered  ///< each stage begins its step as much later than its neighbour as that one's
             ///< activations come: seen from its own beginning all that it needs is there
};

/// ZB-H2: stage s warms up with 2(p − 1 − s) forwards, and runs its weight gradients 2s micro
/// batches late. The stages then end as staggered as they began, so that the next step can follow
/// without a bubble where the optimizer does not synchronise them.
/// Fewer than 2p − 1 micro batches do not fill its warm-up: they run as in ZB-H1, which is then
/// never slower. With staggered steps it stands for ZB-2p, each stage's step on a clock of its own.
template <Steps steps = Steps::together, Reader R>
void emit_zb_h2(const PipelineShape& shape, R& reader) {
  using Token = typename R::Token;
  const std::uint32_t last = shape.stages - 1;
  const std::uint32_t micro_batches = shape.micro_batches;
  if (micro_batches <= 2 * last) return emit_zb_h1(shape, reader);
  PipelineEmitter emit(shape, reader);
  constexpr bool waits = steps == Steps::together;

  // In slot t, stage s runs forward t − s, input gradient t − 2(p − 1) + s and weight gradient t −
  // 2(p − 1) − s. Its input ran at its neighbour in the slot before.
  std::vector<Token> sent(2 * shape.stages);
  const std::span activation(sent.data(), shape.stages);
  const std::span gradient(sent.data() + shape.stages, shape.stages);
  const auto runs = [=](std::uint32_t slot, std::uint32_t from) {
    return slot >= from && slot - from < micro_batches;
  };

  reader.begin_repeating();
  const std::uint32_t slots = micro_batches + 3 * last;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    for (std::uint32_t stage = shape.stages; stage-- > 0;) {
      if (!runs(slot, stage)) continue;
      const Token arrived = waits && stage > 0 ? activation[stage - 1] : Token{};
      activation[stage] = emit.forward(stage, 0, slot - stage, arrived);
    }
    for (std::uint32_t stage = 0; stage <= last; ++stage) {
      const std::uint32_t backward_from = 2 * last - stage;
      if (runs(slot, backward_from)) {
        const Token arrived = waits && stage < last ? gradient[stage + 1] : Token{};
        gradient[stage] = emit.input_gradient(stage, 0, slot - backward_from, arrived);
      }
      const std::uint32_t weights_from = 2 * last + stage;
      if (runs(slot, weights_from)) emit.weight_gradient(stage, 0, slot - weights_from);
    }
    const bool steady = slot >= 3 * last && slot < micro_batches;
    if (steady) slot += emit.skip(micro_batches - 1 - slot, sent);
  }
}

}  // namespace prequel
