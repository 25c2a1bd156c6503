#pragma once

/// GPipe (Huang et al. 2019): all forwards, then all backwards, the last micro batch first.
/// Bubble (p − 1)/(m + p − 1); every stage holds all m micro batches.

#include "sim/schedule/pipeline_emitter.hpp"

namespace prequel {

template <Reader R>
void emit_gpipe(const PipelineShape& shape, R& reader) {
  using Token = typename R::Token;
  PipelineEmitter emit(shape, reader, 0);

  reader.begin_repeating();
  for (std::uint32_t done = 0; done < shape.micro_batches;) {
    Token activation{};
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      activation = emit.forward(stage, 0, done, activation);
    }
    ++done;
    done += emit.skip(shape.micro_batches - done, {});
  }

  reader.begin_repeating();
  for (std::uint32_t left = shape.micro_batches; left > 0;) {
    --left;
    Token gradient{};
    for (std::uint32_t stage = shape.stages; stage-- > 0;) {
      gradient = emit.backward(stage, 0, left, gradient);
    }
    left -= emit.skip(left, {});
  }
}

}  // namespace prequel
