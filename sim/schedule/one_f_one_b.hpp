#pragma once

/// 1F1B (PipeDream-flush; Narayanan et al. 2021): stage s runs p − 1 − s forwards to warm up, then
/// one forward and one backward in turn. Bubble as GPipe, (p − 1)/(m + p − 1), but stage s holds
/// only min(m, p − s) micro batches.

#include <algorithm>
#include <vector>

#include "sim/schedule/pipeline_emitter.hpp"

namespace prequel {

template <Reader R>
void emit_one_f_one_b(const PipelineShape& shape, R& reader) {
  using Token = typename R::Token;
  PipelineEmitter emit(shape, reader);
  PipelineEmitter<R, Passes::whole> emit_whole(shape, reader);
  const std::uint32_t last = shape.stages - 1;
  const std::uint32_t micro_batches = shape.micro_batches;

  // gradient[s] is what stage s sent back last; stage s uses its neighbour's of the wave before.
  std::vector<Token> gradient(shape.stages + 1);
  const auto tell = [&](auto& passes, std::uint32_t wave) {
    Token activation{};
    for (std::uint32_t stage = 0; stage <= last; ++stage) {
      if (wave < micro_batches) activation = passes.forward(stage, 0, wave, activation);
      const std::uint32_t warm_up = last - stage;
      if (wave >= warm_up && wave - warm_up < micro_batches) {
        gradient[stage] = passes.backward(stage, 0, wave - warm_up, gradient[stage + 1]);
      }
    }
  };
  reader.begin_repeating();
  for (std::uint32_t wave = 0; wave < micro_batches + last; ++wave) {
    const std::uint32_t newest = std::min(wave, micro_batches - 1);
    const bool whole =
        emit.is_whole(TaskKind::forward, newest) && emit.is_whole(TaskKind::backward, newest);
    whole ? tell(emit_whole, wave) : tell(emit, wave);
    const bool steady = wave >= last && wave < micro_batches;
    if (steady) wave += emit.skip(micro_batches - 1 - wave, gradient);
  }
}

}  // namespace prequel
