#include "models/memory/memory.hpp"
#include "models/layers/parameters.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

/// One stage of a model whose memory can be told by hand.
struct Case {
  Case() {
    plan.tp = 1;
    plan.mbs = 2;
    plan.gbs = 1024;
    plan.seq_len = 1024;
    plan.recompute = Recompute::full;
    plan.precision = Precision::bf16;
    plan.attention = AttentionKind::flash;
  }
  [[nodiscard]] StageMemory memory(std::int64_t in_flight = 1) const {
    return stage_memory(part_weights(model, layer_content(plan), software), model, plan, software,
                        with_parts(chunks, model), in_flight);
  }
  [[nodiscard]] double parameters() const {
    return stage_parameters(part_weights(model, layer_content(plan), software), model, plan,
                            software, with_parts(chunks, model))
        .total();
  }

  Transformer model = shipped_model("gpt2-345m");
  Plan plan;
  Software software = shipped_software("megatron-deepspeed-2022");
  std::vector<StageContent> chunks{{24, true, true}};
};

TEST_CASE("one stage holds the whole model, with its vocabulary padded") {
  Case one;
  one.model.vocab = 51200;
  one.model.max_positions = 1024;
  CHECK(one.parameters() == static_cast<double>(total_parameters(one.model)));
}

TEST_CASE("tensor ranks share blocks and tables, and stages the blocks") {
  Case split;
  split.plan.tp = 4;
  split.plan.pp = 2;
  split.chunks = {{12, false, false}};
  CHECK(split.parameters() == 12.0 * static_cast<double>(layer_parameters(split.model)) / 4);
}

TEST_CASE("a tied head on another stage has a table of its own") {
  Case first;
  first.chunks = {{12, true, false}};
  Case last;
  last.chunks = {{12, false, true}};
  Case whole;
  const auto table = static_cast<double>(embedding_parameters(
      whole.model, padded_vocab(whole.model.vocab, 1, whole.software.vocab_multiple)));
  CHECK(first.parameters() + last.parameters() == whole.parameters() + table);
}

TEST_CASE("weights, gradients and optimizer take 2, 2 and 16 bytes a parameter without ZeRO") {
  Case one;
  const StageMemory memory = one.memory();
  CHECK(memory.weights.value == 2 * one.parameters());
  CHECK(memory.gradients.value == 2 * one.parameters());
  CHECK(memory.optimizer.value == 16 * one.parameters());
}

TEST_CASE("an input that is gathered again is whole in the backward pass, and so is its gradient") {
  Case again;
  again.software = shipped_software("nanotron-2025");
  again.plan.recompute = Recompute::none;
  again.plan.tp = 4;
  again.plan.sequence_parallel = true;
  Case kept = again;
  kept.software.memory.keeps_gathers = true;
  const double input = 2.0 * 2 * 1024 * static_cast<double>(again.model.hidden);  // bf16
  CHECK(again.memory().buffers.value - kept.memory().buffers.value == doctest::Approx(2 * input));
  CHECK(again.memory().activations.value < kept.memory().activations.value);
}

TEST_CASE(
    "blocks of gathered inputs are given back late: of a pass, and of all but two in a pipeline") {
  Case late;
  late.software = shipped_software("nanotron-2025");
  late.plan.recompute = Recompute::none;
  late.plan.tp = 4;
  late.plan.sequence_parallel = true;
  const double inputs = 24 * 2 * 2.0 * 2 * 1024 * static_cast<double>(late.model.hidden);
  CHECK(late.memory().allocator_cache.value == doctest::Approx(inputs));
  late.plan.pp = 8;
  CHECK(late.memory(8).allocator_cache.value == doctest::Approx(6 * inputs));
  CHECK(late.memory(1).allocator_cache.value == 0);
  late.software.memory.keeps_gathers = true;
  CHECK(late.memory(8).allocator_cache.value == 0);
}

TEST_CASE("tensor ranks that share an eager loss hold one sum in fp32 more") {
  Case whole;
  whole.software = shipped_software("torchtitan-2025");
  whole.plan.recompute = Recompute::none;
  const auto bytes = [&](std::int64_t tp) {
    whole.plan.tp = tp;
    return whole.memory().buffers.value * static_cast<double>(tp);
  };
  CHECK(bytes(2) - bytes(1) == doctest::Approx(4.0 * 2 * 1024 * 50304).epsilon(0.05));
}

TEST_CASE("copies of gradients for the update show only where activations take less") {
  Case wide;
  wide.software = shipped_software("megatron-core-2026");
  wide.plan.recompute = Recompute::none;
  wide.plan.grad_precision = Precision::fp32;
  Case narrow = wide;
  narrow.plan.grad_precision = Precision::bf16;
  const StageMemory before = wide.memory();
  const StageMemory after = narrow.memory();
  CHECK(after.buffers.value == before.buffers.value);
  CHECK((before.total() - after.total()).value == doctest::Approx(2 * wide.parameters()));
  // A micro batch of so few tokens that the update's copies are more.
  wide.plan.mbs = narrow.plan.mbs = 1;
  wide.plan.seq_len = narrow.plan.seq_len = 64;
  const StageMemory update = narrow.memory();
  CHECK((update.activations + update.buffers - narrow.software.memory.workspaces).value ==
        doctest::Approx(4 * narrow.parameters()));
  narrow.plan.offload = Offload::optimizer;
  CHECK(narrow.memory().buffers.value < update.buffers.value);
}

TEST_CASE("stage 3 widens gradients of a billion parameters at a time") {
  Case two;
  two.model = shipped_model("llama-2-7b");
  two.software = shipped_software("hf-peft-deepspeed-2023");
  two.chunks = {{two.model.layers, true, true}};
  two.plan.dp = 2;
  two.plan.zero = 3;
  two.plan.mbs = 1;
  two.plan.seq_len = 64;
  two.plan.master_weights = MasterWeights::fp32;
  two.plan.grad_precision = Precision::bf16;
  const auto update = [&] {
    const StageMemory memory = two.memory();
    return (memory.activations + memory.buffers - two.software.memory.workspaces).value;
  };
  CHECK(update() == doctest::Approx(4e9));
  two.plan.zero = 2;
  CHECK(update() > 3 * 4e9);
}

TEST_CASE("each ZeRO stage shards one more kind of state, and only that") {
  Case sharded;
  sharded.plan.dp = 8;
  const StageMemory none = sharded.memory();
  sharded.plan.zero = 1;
  const StageMemory one = sharded.memory();
  CHECK(one.optimizer.value == none.optimizer.value / 8);
  CHECK(one.gradients.value == none.gradients.value);
  sharded.plan.zero = 2;
  const StageMemory two = sharded.memory();
  CHECK(two.gradients.value == none.gradients.value / 8);
  CHECK(two.weights.value == none.weights.value);
  sharded.plan.zero = 3;
  const StageMemory three = sharded.memory();
  CHECK(three.weights.value == none.weights.value / 8);
  CHECK(three.activations.value == none.activations.value);
}

TEST_CASE("with ZeRO, more data-parallel ranks never need more memory") {
  for (const std::int64_t zero : {0, 1, 2}) {
    double before = 1e300;
    for (const std::int64_t dp : {1, 2, 4, 8, 64, 512}) {
      Case sharded;
      sharded.plan.zero = zero;
      sharded.plan.dp = dp;
      const double total = sharded.memory().total().value;
      CHECK(total <= before);
      CHECK((zero == 0 || total < before));
      before = total;
    }
  }
}

TEST_CASE("full recompute keeps the input of every block, for every micro batch in flight") {
  Case full;
  full.plan.pp = 4;
  full.chunks = {{6, false, false}};
  const double checkpoint = 2.0 * 2 * 1024 * 1024;  // bytes of s·b·h in bf16
  const auto buffers = static_cast<double>(full.software.memory.extra_pipeline_buffers);
  CHECK(full.memory(4).activations.value == (4 + buffers) * (6 + 1) * checkpoint);
}

TEST_CASE(
    "tensor ranks share the inputs that full recompute keeps, not those that stages receive") {
  Case whole;
  whole.plan.tp = 4;
  whole.plan.pp = 4;
  whole.chunks = {{6, false, false}};
  Case shared = whole;
  shared.plan.distribute_saved_activations = true;
  const double checkpoint = 2.0 * 2 * 1024 * 1024;
  const auto buffers = static_cast<double>(whole.software.memory.extra_pipeline_buffers);
  CHECK(whole.memory(4).activations.value == (4 + buffers) * (6 + 1) * checkpoint);
  CHECK(shared.memory(4).activations.value == (4 + buffers) * (6.0 / 4 + 1) * checkpoint);
  // Layers that are not repeated split nothing.
  whole.plan.recomputed = shared.plan.recomputed = 0.5;
  CHECK(whole.memory(4).activations.value - shared.memory(4).activations.value ==
        doctest::Approx((4 + buffers) * 3 * checkpoint * 3 / 4));
}

TEST_CASE("no more micro batches are held than there are") {
  Case few;
  few.plan.pp = 4;
  few.plan.gbs = 4;
  CHECK(few.plan.micro_batches() == 2);
  CHECK(few.memory(4).activations.value == few.memory(2).activations.value);
}

TEST_CASE("activations grow from full over selective to no recompute") {
  Case kept;
  kept.plan.attention = AttentionKind::fused_softmax;
  const double full = kept.memory().activations.value;
  kept.plan.recompute = Recompute::selective;
  const double selective = kept.memory().activations.value;
  kept.plan.recompute = Recompute::none;
  const double none = kept.memory().activations.value;
  CHECK(full < selective);
  CHECK(selective < none);
  // arXiv 2205.05198: 34·s·b·h without scores, 5·a·s²·b for them.
  // Beside that the mask of the embedding's dropout, and the final norm's input and result.
  CHECK(selective == (24 * 34.0 + 1 + 4) * 2 * 1024 * 1024);
  CHECK(none - selective == 24 * 5.0 * 16 * 1024 * 1024 * 2);
}

TEST_CASE("a stack can keep more than its layers' shapes say, of activations alone") {
  Case kept;
  kept.plan.recompute = Recompute::none;
  const StageMemory as_told = kept.memory();
  kept.software.memory.activation_factor = 1.25;
  const StageMemory more = kept.memory();
  CHECK(more.activations.value == doctest::Approx(1.25 * as_told.activations.value));
  CHECK((more.total() - more.activations).value ==
        doctest::Approx((as_told.total() - as_told.activations).value));
}

TEST_CASE("sequence parallelism shares all activations of a block") {
  Case split;
  split.plan.tp = 4;
  split.plan.recompute = Recompute::none;
  split.plan.sequence_parallel = true;
  CHECK(split.memory().activations.value == (24 * 34.0 + 1 + 4) * 2 * 1024 * 1024 / 4);
}

TEST_CASE("checkpoints of every third block: a third of them, three blocks live") {
  Case full;
  full.plan.pp = 4;
  full.chunks = {{6, false, false}};
  const StageMemory every = full.memory(4);
  full.plan.recompute_layers = 3;
  const StageMemory third = full.memory(4);
  const double checkpoint = 2.0 * 2 * 1024 * 1024;
  const auto buffers = static_cast<double>(full.software.memory.extra_pipeline_buffers);
  CHECK(third.activations.value == (4 + buffers) * (2 + 1) * checkpoint);
  CHECK(third.buffers.value > every.buffers.value);
  CHECK(third.buffers.value < 3.001 * every.buffers.value);
  full.plan.recompute_layers = 4;  // 4 blocks, then 2
  CHECK(full.memory(4).activations.value == third.activations.value);
}

TEST_CASE("full recompute of some layers keeps those layers' inputs, and all of the others") {
  Case whole;
  whole.plan.recompute = Recompute::none;
  const double kept = whole.memory(4).activations.value;
  Case full;
  const double inputs = full.memory(4).activations.value;
  for (const double share : {0.25, 0.5, 0.75}) {
    CAPTURE(share);
    Case some;
    some.plan.recomputed = share;
    CHECK(some.memory(4).activations.value ==
          doctest::Approx(share * inputs + (1 - share) * kept).epsilon(1e-9));
  }
}

TEST_CASE("offload of the parameters empties the device of states but for gathered layers") {
  Case offloaded;
  offloaded.plan.dp = 8;
  offloaded.plan.zero = 3;
  const double before = offloaded.memory().buffers.value;
  offloaded.plan.offload = Offload::optimizer_params;
  CHECK(offloaded.memory().weights.value == 0);
  CHECK(offloaded.memory().optimizer.value == 0);
  CHECK(offloaded.memory().gradients.value == 0);
  CHECK(offloaded.memory().buffers.value == before);
}

TEST_CASE("offload moves the optimizer to the host") {
  Case offloaded;
  offloaded.plan.zero = 1;
  offloaded.plan.offload = Offload::optimizer;
  CHECK(offloaded.memory().optimizer.value == 0);
}

TEST_CASE("scores are kept once in 16 bits, and with dropout a mask and what it leaves, too") {
  Case kept;
  kept.plan.attention = AttentionKind::fused_softmax;
  kept.plan.recompute = Recompute::none;
  const double scores = 24 * 16.0 * 1024 * 1024 * 2;
  const double dropped = kept.memory().activations.value;
  kept.model.score_dropout = false;
  CHECK(dropped - kept.memory().activations.value == 3 * scores);
}

TEST_CASE("a loss and a layer's backward are moments of their own: the larger one counts") {
  Case one;
  one.software = shipped_software("megatron-core-2024");
  one.plan.recompute = Recompute::none;
  // Beside cuBLAS's, a placeholder in 16 bits for each shape of a block's weights.
  const double spaces = one.software.memory.workspaces.value + 2.0 * 12 * 1024 * 1024;
  const double logits = 2.0 * 1024 * 50304;
  CHECK((one.memory().buffers.value - spaces) == 6 * logits);
  one.plan.loss = LossForm::compiled;
  CHECK((one.memory().buffers.value - spaces) == 10 * logits);
  one.plan.loss = LossForm::fused;
  CHECK((one.memory().buffers.value - spaces) == 4 * logits);
  // Without logits, gradients of an MLP's result and input.
  one.chunks = {{24, true, false}};
  CHECK((one.memory().buffers.value - spaces) == 2.0 * 2 * 1024 * 2 * 4096);
}

TEST_CASE("a loss that makes its gradients early keeps them with each waiting micro batch") {
  Case last;
  last.chunks = {{1, false, true}};
  const double tokens = 2.0 * 1024;
  const double hidden = 1024;
  const double vocab = 50304;
  const auto kept = [&](LossForm loss) {
    last.plan.loss = loss;
    return last.memory(3).activations.value - last.memory(2).activations.value;
  };
  const double logits = last.software.memory.logit_bytes.compiled * tokens * vocab;
  CHECK(kept(LossForm::fused) - kept(LossForm::whole) + logits == 2 * hidden * (tokens + vocab));
  // A table that does not learn has no gradient.
  last.plan.tuning = Tuning::lora;
  CHECK(kept(LossForm::fused) - kept(LossForm::whole) + logits == 2 * hidden * tokens);
}

TEST_CASE("of chunks that weigh differently, each counts as often as its schedule holds it") {
  Case two;
  two.software = shipped_software("megatron-core-2024");
  two.plan.recompute = Recompute::none;
  two.plan.pp = 4;
  two.plan.vpp = 2;
  two.chunks = {{1, false, false}, {0, false, true}};
  const auto memory = [&](InFlight in_flight) {
    return stage_memory(part_weights(two.model, layer_content(two.plan), two.software), two.model,
                        two.plan, two.software, with_parts(two.chunks, two.model), in_flight);
  };
  InFlight one_of_each;
  one_of_each.moments = {{1, {1, 1}}};
  InFlight four_and_one;
  four_and_one.moments = {{1, {4, 1}}};
  const double layer = 34.0 * 2 * 1024 * 1024;
  CHECK(memory(four_and_one).activations.value - memory(one_of_each).activations.value ==
        3 * layer);
}

TEST_CASE("weights without a copy in fp32 take 8 bytes a parameter, and 10 in PyTorch's update") {
  Case pure;
  pure.plan.master_weights = MasterWeights::none;
  pure.plan.moments_precision = Precision::bf16;
  const StageMemory memory = pure.memory();
  CHECK((memory.weights + memory.gradients + memory.optimizer).value == 8 * pure.parameters());
  pure.software.memory.frees_gradients = true;
  pure.software.memory.update_copies = 1;
  pure.plan.mbs = 1;
  pure.plan.gbs = 1;
  pure.plan.seq_len = 8;
  const StageMemory update = pure.memory();
  CHECK((update.allocated() - pure.software.memory.workspaces).value ==
        doctest::Approx(10 * pure.parameters()));
  pure.plan.optimizer = Optimizer::adam_8bit;
  CHECK(pure.memory().optimizer.value == doctest::Approx(2 * (1 + 4.0 / 256) * pure.parameters()));
}

TEST_CASE("full recompute keeps inputs of layers, which can wait in host memory but for two") {
  Case one;
  const StageMemory here = one.memory(4);
  one.plan.offload_modules = WordSet<OffloadModule>{OffloadModule::attn_norm};
  const StageMemory moved = one.memory(4);
  const double input = 2.0 * 2 * 1024 * 1024;
  CHECK(moved.offloaded.value == doctest::Approx((4 * 24 - 2) * input));
  CHECK((moved.activations + moved.offloaded).value == doctest::Approx(here.activations.value));
  one.plan.offload_modules = WordSet<OffloadModule>{OffloadModule::core_attn};
  CHECK(one.memory(4).activations == here.activations);
}

TEST_CASE("adapters in flat parameters give frozen blocks gradients, whole over micro batches") {
  Case two;
  two.software = shipped_software("litgpt-2023");
  two.plan.tuning = Tuning::lora;
  two.plan.lora_rank = 8;
  two.plan.lora_targets = WordSet<AdapterTarget>{AdapterTarget::qkv};
  two.plan.adapter_precision = Precision::bf16;
  two.plan.master_weights = MasterWeights::none;
  two.plan.moments_precision = Precision::bf16;
  two.plan.dp = 2;
  two.plan.zero = 3;
  const PartWeights weights = part_weights(two.model, layer_content(two.plan), two.software);
  const StageParameters all = stage_parameters(weights, two.model, two.plan, two.software,
                                               with_parts(two.chunks, two.model));
  const double blocks = matrices_of(all).total();
  CHECK(two.memory().gradients.value == doctest::Approx(2 * blocks));
  two.plan.gbs = 4;
  two.software.memory.frees_gradients = false;
  CHECK(two.memory().gradients.value == doctest::Approx(blocks));
  two.software.communication.sharding = Sharding::fsdp;
  CHECK(two.memory().gradients.value < 0.01 * blocks);
}

TEST_CASE("an optimizer in 8 bits or paged may update in the backward pass, too") {
  Case pure;
  pure.plan.master_weights = MasterWeights::none;
  pure.plan.gbs = pure.plan.mbs;
  const auto memory = [&](Optimizer optimizer) {
    pure.plan.optimizer = optimizer;
    return pure.memory();
  };
  const StageMemory narrow = memory(Optimizer::adam_8bit);
  const StageMemory both = memory(Optimizer::adam_8bit_in_backward);
  CHECK(both.optimizer == narrow.optimizer);
  CHECK(both.gradients == memory(Optimizer::adam_in_backward).gradients);
  CHECK(both.gradients.value < 0.2 * narrow.gradients.value);
  CHECK(memory(Optimizer::adam_paged_in_backward).paged == both.optimizer);
}

TEST_CASE(
    "a chunked loss holds logits in 16 bits, an eighth of them in fp32, and sums of a table") {
  Case one;
  one.software = shipped_software("torchtune-2025");
  one.plan.recompute = Recompute::full;
  one.plan.compile = true;
  const double logits = 2.0 * 1024 * 50257;
  const double table = 2.0 * 1024 * 50257;
  const auto loss = [&](LossForm form) {
    one.plan.loss = form;
    return one.memory().buffers.value - one.software.memory.workspaces.value;
  };
  CHECK(loss(LossForm::chunked) == doctest::Approx(2.5 * logits + table));
  CHECK(loss(LossForm::whole) == doctest::Approx(12 * logits));
  one.plan.compile = false;
  CHECK(loss(LossForm::chunked) == doctest::Approx(6.5 * logits + table));
}

TEST_CASE("a plan is tight from 88 % of the card, and out of memory beyond its allocation") {
  Device device;
  device.memory = Bytes{100};
  StageMemory memory;
  memory.weights = Bytes{87};
  CHECK(memory_verdict(memory, device) == MemoryVerdict::fits);
  memory.weights = Bytes{89};
  CHECK(memory_verdict(memory, device) == MemoryVerdict::tight);
  memory.framework = memory.allocator_cache = Bytes{20};
  CHECK(memory_verdict(memory, device) == MemoryVerdict::tight);
  memory.weights = Bytes{101};
  CHECK(memory_verdict(memory, device) == MemoryVerdict::oom);
}

TEST_CASE("the printed peak saturates below the card, unless the plan does not fit") {
  const Bytes most{98};
  StageMemory memory;
  memory.weights = Bytes{90};
  memory.framework = memory.allocator_cache = Bytes{20};
  CHECK(printed_peak(memory, most).value == 98);
  memory.weights = Bytes{120};
  CHECK(printed_peak(memory, most).value == 120);
}

TEST_CASE("the printed kinds add up to the printed peak: what is given back is cache") {
  const Bytes most{98};
  StageMemory memory;
  memory.framework = Bytes{25};
  memory.allocator_cache = Bytes{20};
  for (const auto& [weights, cache] : {std::pair{40, 20}, {80, 13}, {93, 0}, {120, 0}}) {
    CAPTURE(weights);
    memory.weights = Bytes{static_cast<double>(weights)};
    const StageMemory shown = printed(memory, most);
    CHECK(shown.total() == printed_peak(memory, most));
    CHECK(shown.allocator_cache.value == cache);
    CHECK(shown.allocated() == memory.allocated());
    CHECK(shown.framework.value == 5 + cache);
  }
}

}  // namespace
}  // namespace prequel
