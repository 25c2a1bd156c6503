#pragma once

/// Interleaved 1F1B (Narayanan et al. 2021, Megatron-LM): each stage has v chunks of layers, which
/// a micro batch visits in v rounds. Micro batches go round in groups of g, at least p and as a
/// rule p; fewer may be left for the last group, if they still fill the pipeline. Stage s runs 2(p
/// − 1 − s) + (v − 1)g chunk forwards to warm up, then one forward and one backward in turn
/// (Megatron-Core until 2024 ran all forwards first where m = p; peaks of its later tests do not
/// show it). The bubble is that of 1F1B over v.
///
/// Where a forward runs beside a backward it must not be of the same micro batch, so each stage
/// warms up with one more (Megatron-Core: overlap_moe_expert_parallel_comm).

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "sim/schedule/pipeline_emitter.hpp"

namespace prequel {

/// The order in which each chunk's micro batches pass a stage.
class GroupOrder {
 public:
  explicit GroupOrder(const PipelineShape& shape)
      : chunks_(shape.chunks), group_(shape.group_size()), micro_batches_(shape.micro_batches) {}

  struct Pass {
    std::uint32_t chunk{}, micro_batch{};
  };
  /// A stage's k-th forward; its k-th backward is of the chunk as far from the last.
  [[nodiscard]] Pass operator[](std::uint64_t pass) const {
    const auto group = static_cast<std::uint32_t>(pass / passes());
    const auto place = static_cast<std::uint32_t>(pass % passes());
    const std::uint32_t size = std::min(group_, micro_batches_ - group * group_);
    return {place / size, group * group_ + place % size};
  }

  /// Returns the number of passes of a whole group.
  [[nodiscard]] std::uint32_t passes() const { return group_ * chunks_; }
  /// How many whole groups there are.
  [[nodiscard]] std::uint32_t whole() const { return micro_batches_ / group_; }

 private:
  std::uint32_t chunks_;
  std::uint32_t group_;
  std::uint32_t micro_batches_;
};

template <Reader R>
void emit_interleaved(const PipelineShape& shape, R& reader) {
  using Token = typename R::Token;
  PipelineEmitter emit(shape, reader);
  PipelineEmitter<R, Passes::whole> emit_whole(shape, reader);
  const GroupOrder rounds(shape);
  const std::uint32_t last = shape.stages - 1;
  const std::uint64_t passes = std::uint64_t{shape.micro_batches} * shape.chunks;

  // In slot t stage s runs forward t − s and, `first_backward` − s slots later, the backwards. Its
  // input ran in a slot before, at its neighbour or, between rounds, at the other end.
  const std::uint64_t first_backward =
      2 * last + (shape.chunks - 1) * shape.group_size() + (emit.exchanges_beside() ? 1 : 0);

  // The pass that each stage runs, if it is one of all passes; tokens that arrive at stage s
  // (`activations[s]` and `gradients[s + 1]`), handed on in the slot before; tokens that await
  // their next round.
  std::vector<GroupOrder::Pass> forwards(shape.stages), backwards(shape.stages);
  std::vector<Token> activations(shape.stages + 1), gradients(shape.stages + 1);
  std::deque<Token> next_round, next_round_back;
  const auto taken = [](std::deque<Token>& tokens) {
    const Token token = tokens.front();
    tokens.pop_front();
    return token;
  };

  const auto tell = [&](auto& told, std::uint64_t slot) {
    Token arrives_back = gradients.back();
    for (std::uint32_t stage = shape.stages; stage-- > 0;) {
      const bool goes_forward = slot - stage < passes;  // of unsigned numbers: and is not below 0
      const bool goes_back = slot + stage - first_backward < passes;
      const Work<Token> forward{stage, forwards[stage].chunk, forwards[stage].micro_batch,
                                activations[stage]};
      const Work<Token> backward{stage, shape.chunks - 1 - backwards[stage].chunk,
                                 backwards[stage].micro_batch,
                                 std::exchange(arrives_back, gradients[stage])};
      if (goes_forward && goes_back && told.exchanges_beside()) {
        const auto handed_on = told.side_by_side(forward, backward);
        activations[stage + 1] = handed_on.activation;
        gradients[stage] = handed_on.gradient;
      } else {
        if (goes_forward) activations[stage + 1] = told.forward(forward);
        if (goes_back) gradients[stage] = told.backward(backward);
      }
    }
  };

  std::vector<Token> carried;
  const std::uint64_t slots = first_backward + passes;
  std::uint64_t whole_from = 0;  // the slot from which on all passes are whole
  reader.begin_repeating();
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    std::copy_backward(forwards.begin(), forwards.end() - 1, forwards.end());
    std::copy(backwards.begin() + 1, backwards.end(), backwards.begin());
    const auto enter = [&](TaskKind kind, GroupOrder::Pass pass) {
      if (!emit.is_whole(kind, pass.micro_batch)) whole_from = slot + shape.stages;
      return pass;
    };
    activations.front() = gradients.back() = Token{};
    if (slot < passes) {
      forwards.front() = enter(TaskKind::forward, rounds[slot]);
      if (forwards.front().chunk > 0) activations.front() = taken(next_round);
    }
    if (slot + last - first_backward < passes) {
      backwards.back() = enter(TaskKind::backward, rounds[slot + last - first_backward]);
      if (backwards.back().chunk > 0) gradients.back() = taken(next_round_back);
    }
    slot < whole_from ? tell(emit, slot) : tell(emit_whole, slot);
    if (slot - last < passes && forwards.back().chunk + 1 < shape.chunks) {
      next_round.push_back(activations.back());
    }
    if (slot - first_backward < passes && backwards.front().chunk + 1 < shape.chunks) {
      next_round_back.push_back(gradients.front());
    }

    // Whole groups do the same, one after another.
    const std::uint64_t whole = std::uint64_t{rounds.whole()} * rounds.passes();
    const bool group_ends =
        slot >= first_backward && (slot - first_backward + 1) % rounds.passes() == 0;
    if (!group_ends || slot + 1 >= whole) continue;
    carried.clear();
    const auto each = [&](const auto& visit) {
      for (auto* tokens : {&activations, &gradients}) std::ranges::for_each(*tokens, visit);
      for (auto* tokens : {&next_round, &next_round_back}) std::ranges::for_each(*tokens, visit);
    };
    each([&](Token& token) { carried.push_back(token); });
    const auto left = static_cast<std::uint32_t>((whole - 1 - slot) / rounds.passes());
    // No stage of several runs a backward of the last micro batch before slot `passes`.
    const std::uint32_t skipped = emit.skip(left, carried, last > 0);
    slot += std::uint64_t{rounds.passes()} * skipped;
    whole_from += std::uint64_t{rounds.passes()} * skipped;
    for (auto* running : {&forwards, &backwards}) {
      for (GroupOrder::Pass& pass : *running) pass.micro_batch += skipped * shape.group_size();
    }
    auto next = carried.begin();
    each([&](Token& token) { token = *next++; });
  }
}

}  // namespace prequel
