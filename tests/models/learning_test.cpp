#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "models/layers/adapter.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/kept.hpp"
#include "models/layers/operators.hpp"
#include "models/layers/parameters.hpp"
#include "models/plan/layer_setting.hpp"
#include "models/plan/trained_model.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

using enum AdapterTarget;

Learning adapters(std::int64_t rank, WordSet<AdapterTarget> targets, Tuning tuning = Tuning::lora) {
  Plan plan;
  plan.tuning = tuning;
  plan.lora_rank = rank;
  plan.lora_targets = targets;
  return learning_of(plan);
}

LayerSetting learning_setting(const Learning& learning) {
  LayerSetting setting;
  setting.seq_len = 4096;
  setting.precision = setting.products = Precision::bf16;
  setting.attention = AttentionKind::flash;
  setting.learning = learning;
  return setting;
}

double product_flops_of(const Operators& operators) {
  double flops = 0;
  for (const Operator& op : operators) {
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) {
      flops += 2.0 * static_cast<double>(gemm->m * gemm->n) * static_cast<double>(gemm->k);
    }
  }
  return flops;
}

Layer learning_block(const Transformer& model, const Learning& learning) {
  return tell_block(model, model.kind_of(0), learning_setting(learning), Software{});
}

TEST_CASE("adapters have as many parameters as PEFT counts") {
  const auto count = [](const char* model, std::int64_t rank, WordSet<AdapterTarget> targets) {
    return learning_parameters(shipped_model(model), adapters(rank, targets));
  };
  CHECK(count("llama-3-8b", 16, {all}) == 41'943'040);
  CHECK(count("llama-3.2-3b", 32, {q, v}) == 9'175'040);
  CHECK(count("llama-3.2-3b", 10, {gate, up, down}) == 9'461'760 / 10 * 10);
  // One adapter of a fused matrix shares A.
  CHECK(count("llama-2-7b", 8, {qkv}) == 8 * (4096 + 3 * 4096) * 32);
  CHECK(count("llama-2-7b", 8, {q, k, v}) == 8 * 3 * (4096 + 4096) * 32);
  CHECK(count("llama-2-7b", 8, {attention, mlp}) == count("llama-2-7b", 8, {all}));
}

TEST_CASE("freezing all leaves forward and input gradients") {
  const Transformer model = shipped_model("llama-3-8b");
  const Layer full = learning_block(model, {});
  const Layer frozen = learning_block(model, adapters(0, {}, Tuning::none));
  const double forward = product_flops_of(forward_operators(full, Software{}));
  CHECK(product_flops_of(forward_operators(frozen, Software{})) == forward);
  CHECK(product_flops_of(backward_operators(full, Software{})) == 2 * forward);
  CHECK(product_flops_of(backward_operators(frozen, Software{})) == forward);
  CHECK(learning_parameters_of(frozen).total() == 0);
  CHECK(parameters_of(frozen).total() == parameters_of(full).total());
}

TEST_CASE("adapters of rank 0 are none, and of a small rank nearly none") {
  const Transformer model = shipped_model("llama-3-8b");
  const Layer none = learning_block(model, adapters(0, {}, Tuning::none));
  const Layer zero = learning_block(model, adapters(0, {all}));
  CHECK(zero.pieces.size() == none.pieces.size());
  CHECK(kept_bytes(zero, {}) == kept_bytes(none, {}));
  const double frozen = product_flops_of(backward_operators(none, Software{}));
  const double adapted =
      product_flops_of(backward_operators(learning_block(model, adapters(8, {all})), Software{}));
  CHECK(adapted > frozen);
  CHECK(adapted < 1.02 * frozen);
}

TEST_CASE("frozen blocks keep what no weight gradient alone reads") {
  // Llama 2 70B, 8 kv heads of 64, ffn 3.5 h: norms' inputs 4 h, queries to attention's result 4.5
  // h, the gate's input 14 h.
  const Transformer model = shipped_model("llama-2-70b");
  const double h = 4096.0 * static_cast<double>(model.hidden);
  const double frozen = kept_bytes(learning_block(model, adapters(0, {}, Tuning::none)), {});
  CHECK(frozen / h == doctest::Approx(22.5));
  // Dropped copies of adapters' inputs, and their masks.
  Learning dropped = adapters(1, {qkv, o});
  dropped.dropout = true;
  CHECK(kept_bytes(learning_block(model, dropped), {}) / h == doctest::Approx(28.5).epsilon(1e-3));
  // Where nothing is dropped, an adapter reads what its matrix does.
  CHECK(kept_bytes(learning_block(model, adapters(1, {qkv, o})), {}) / h ==
        doctest::Approx(24.5).epsilon(1e-3));
  CHECK(kept_bytes(learning_block(model, {}), {}) / h == doctest::Approx(22.5 + 2 + 2 + 7));
  // Attention in fp8 keeps queries, keys and values in 8 bits.
  LayerSetting narrow = learning_setting(adapters(0, {}, Tuning::none));
  narrow.fp8_attention = true;
  const Layer layer = tell_block(model, model.kind_of(0), narrow, Software{});
  CHECK(kept_bytes(layer, {}) / h == doctest::Approx(22.5 - 1.25));
}

TEST_CASE("frozen norms keep their fp32 copy alone") {
  const Transformer model = shipped_model("llama-2-70b");
  Software eager;
  const auto copies = [&](const Learning& learning) {
    eager.memory.norm_copy_bytes = 0;
    const double fused =
        kept_bytes(tell_block(model, model.kind_of(0), learning_setting(learning), eager), {});
    eager.memory.norm_copy_bytes = 6;  // in fp32, and what is scaled
    const Layer layer = tell_block(model, model.kind_of(0), learning_setting(learning), eager);
    return (kept_bytes(layer, {}) - fused) / (4096.0 * static_cast<double>(model.hidden));
  };
  const double gate = 2 * 28672.0 / 8192;  // eager kernels keep its activation, too
  CHECK(copies({}) == doctest::Approx(2 * 6 + gate));
  CHECK(copies(adapters(0, {}, Tuning::none)) == doctest::Approx(2 * 4 + gate));
}

TEST_CASE("adapters in fp32 copy their input but beside quantised matrices") {
  const Transformer model = shipped_model("llama-2-7b");
  const auto moved = [&](BaseFormat base, bool wide) {
    Learning learning = adapters(8, {q});
    learning.wide_adapters = wide;
    learning.base = base;
    double bytes = 0;
    for (const LayerPiece& piece : learning_block(model, learning).pieces) {
      if (piece.name == "adapter sum") bytes += std::get<PointwiseKernels>(piece.what).forward;
    }
    return bytes;
  };
  CHECK(moved(BaseFormat::bf16, true) - moved(BaseFormat::bf16, false) == 12 * 4096.0 * 4096);
  CHECK(moved(BaseFormat::nf4, true) == moved(BaseFormat::nf4, false));
  // Each adapter keeps its own copy; in 16 bits they share what their matrices read.
  Learning wide = adapters(8, {q, v});
  const double shared = kept_bytes(learning_block(model, wide), {});
  wide.wide_adapters = true;
  const double input = 4096.0 * 4096;
  CHECK(kept_bytes(learning_block(model, wide), {}) - shared == (2 * 4 - 2) * input);
}

TEST_CASE("widening a frozen matrix costs its bytes at each use") {
  const Transformer model = shipped_model("llama-2-7b");
  Learning learning = adapters(0, {}, Tuning::none);
  learning.base = BaseFormat::nf4;
  Software stack;
  stack.kernels.dequantise_rates.fill(0.5);
  const Layer layer = tell_block(model, model.kind_of(0), learning_setting(learning), stack);
  double forward = 0;
  double backward = 0;
  for (const LayerPiece& piece : layer.pieces) {
    if (piece.name != "dequantise") continue;
    forward += std::get<PointwiseKernels>(piece.what).forward;
    backward += std::get<PointwiseKernels>(piece.what).backward;
  }
  const double matrices = 4.0 * 4096 * 4096 + 3.0 * 4096 * 11008;
  CHECK(forward == doctest::Approx(matrices * (0.5625 + 2) / 0.5));
  CHECK(backward == forward);
  CHECK(stored_bytes(BaseFormat::nf4_double, 2) == doctest::Approx(0.516).epsilon(1e-3));
}

TEST_CASE("norms in fp32 beside matrices of bitsandbytes widen hidden states") {
  const Transformer model = shipped_model("llama-2-7b");
  Software stack;
  stack.memory.keeps_copies = WordSet<KeptCopy>{KeptCopy::wide_norms};
  const auto input = [&](BaseFormat base, bool one_format) {
    Learning learning = adapters(16, {q, k, v, o});
    learning.base = base;
    learning.one_format = one_format;
    const LayerSetting its = learning_setting(learning);
    CHECK(tell_head(model, its, stack).input ==
          tell_block(model, model.kind_of(0), its, stack).input);
    return tell_block(model, model.kind_of(0), its, stack).input;
  };
  const double elements = 4096.0 * 4096;
  CHECK(input(BaseFormat::bf16, false) == 2 * elements);
  CHECK(input(BaseFormat::nf4, false) == 4 * elements);
  CHECK(input(BaseFormat::int8, false) == 4 * elements);
  // GPTQ's models stay as they are, and so do those whose norms ranks gather with their matrices.
  CHECK(input(BaseFormat::gptq_int4, false) == 2 * elements);
  CHECK(input(BaseFormat::nf4, true) == 2 * elements);
  Plan sharded;
  sharded.tuning = Tuning::lora;
  sharded.zero = 3;
  CHECK(learning_of(sharded).one_format);
  sharded.zero = 2;
  CHECK_FALSE(learning_of(sharded).one_format);
}

TEST_CASE("tables may have adapters, too") {
  const Transformer model = shipped_model("llama-3-8b");
  const std::int64_t one = 16 * (model.vocab + model.hidden);
  CHECK(learning_parameters(model, adapters(16, {embedding})) == one);
  CHECK(learning_parameters(model, adapters(16, {embedding, head})) == 2 * one);
  CHECK(learning_parameters(model, adapters(16, {all, head})) == 41'943'040 + one);
  // A table that learns itself has none.
  Learning both = adapters(16, {q, head});
  both.embeddings = true;
  CHECK(learning_parameters(model, both) ==
        learning_parameters(model, adapters(16, {q})) + 2 * model.vocab * model.hidden);
  const LayerSetting its = learning_setting(adapters(16, {embedding, head}));
  CHECK(learning_parameters_of(tell_embedding(model, its, Software{})).total() == one);
  CHECK(learning_parameters_of(tell_head(model, its, Software{})).total() == one);
}

/// The model and what of it learns, where the last layers do.
std::pair<Transformer, Learning> last_layers(std::int64_t layers, Plan plan) {
  PlanRequest request;
  request.learning_layers = plan.learning_layers = layers;
  return {trained_model(shipped_model("llama-3-8b"), request), learning_of(plan)};
}

TEST_CASE("where the last layers learn, those before have a forward pass alone") {
  const auto [model, learning] = last_layers(2, {});
  const LayerKind first = model.kind_of(0);
  const LayerKind last = model.kind_of(31);
  CHECK(model.frozen_layers() == 30);
  CHECK(first.frozen);
  CHECK_FALSE(last.frozen);
  const Layer frozen = tell_block(model, first, learning_setting(learning), Software{});
  const Layer learns = tell_block(model, last, learning_setting(learning), Software{});
  const Layer usual = learning_block(shipped_model("llama-3-8b"), {});
  CHECK(backward_operators(frozen, Software{}).empty());
  CHECK(repeated_operators(frozen, Software{}, WordSet<Module>::all()).empty());
  CHECK(kept_bytes(frozen, {}) == 0);
  CHECK(product_flops_of(forward_operators(frozen, Software{})) ==
        product_flops_of(forward_operators(usual, Software{})));
  CHECK(product_flops_of(backward_operators(learns, Software{})) ==
        product_flops_of(backward_operators(usual, Software{})));
  CHECK(learning_parameters(model, learning) == 2 * parameters_of(usual).total());
  CHECK(total_parameters(model) == total_parameters(shipped_model("llama-3-8b")));
}

TEST_CASE("gradients pass frozen layers on their way to a table that learns") {
  Plan plan;
  plan.train_embeddings = true;
  const auto [model, learning] = last_layers(2, plan);
  const Layer frozen = tell_block(model, model.kind_of(0), learning_setting(learning), Software{});
  CHECK(product_flops_of(backward_operators(frozen, Software{})) ==
        product_flops_of(forward_operators(frozen, Software{})));
  CHECK(kept_bytes(frozen, {}) > 0);
  const std::int64_t block_size = parameters_of(learning_block(model, {})).total();
  CHECK(learning_parameters(model, learning) == 2 * block_size + 2 * model.vocab * model.hidden);
}

TEST_CASE("adapters of the last layers alone are as many as these have") {
  Plan plan;
  plan.tuning = Tuning::lora;
  plan.lora_rank = 16;
  plan.lora_targets = {all};
  const auto [model, learning] = last_layers(4, plan);
  CHECK(learning_parameters(model, learning) == 41'943'040 / 32 * 4);
  const auto [whole, all_of_them] = last_layers(32, plan);
  CHECK(whole.is_uniform());
  CHECK(learning_parameters(whole, all_of_them) == 41'943'040);
}

TEST_CASE("tensor ranks that share tokens split both factors of a row-parallel matrix") {
  const Transformer model = shipped_model("llama-3-8b");
  const auto told = [&](bool sequence_parallel) {
    LayerSetting split = learning_setting(adapters(16, {o}));
    split.tp = 4;
    split.sequence_parallel = sequence_parallel;
    return tell_block(model, model.kind_of(0), split, Software{});
  };
  const auto second = [](const Layer& layer) {
    for (const LayerPiece& piece : layer.pieces) {
      if (piece.name == "adapter out") return std::get<LinearLayer>(piece.what).outputs;
    }
    return std::int64_t{};
  };
  const auto pieces = [](const Layer& layer, std::string_view name) {
    return std::ranges::count(layer.pieces, name, &LayerPiece::name);
  };
  CHECK(second(told(true)) == model.hidden / 4);
  CHECK(pieces(told(true), "adapter all-to-all") == 1);
  CHECK(second(told(false)) == model.hidden);
  CHECK(pieces(told(false), "adapter all-to-all") == 0);
  // No weight gradient reads the gathered input again.
  CHECK(pieces(told(true), "input all-gather") == 0);
}

TEST_CASE("objectives say how many sequences and passes a sample takes") {
  const auto of = [](Objective objective) {
    const ObjectiveTraits its = traits(objective);
    return std::array{its.sequences, its.forward_only};
  };
  using enum Objective;
  CHECK(of(sft) == std::array<std::int64_t, 2>{1, 0});
  CHECK(of(dpo) == std::array<std::int64_t, 2>{2, 1});
  // Those without a reference run what a reward's pairs do.
  for (const Objective pairs : {reward, dpo_precomputed, orpo, simpo}) {
    CAPTURE(name(pairs));
    CHECK(of(pairs) == std::array<std::int64_t, 2>{2, 0});
  }
  CHECK(of(kto) == std::array<std::int64_t, 2>{1, 3});
}

TEST_CASE("a reward model has a score in place of words") {
  PlanRequest request;
  request.objective = Objective::reward;
  const Transformer plain = shipped_model("llama-3-8b");
  const Transformer model = trained_model(plain, request);
  CHECK(total_parameters(plain) - total_parameters(model) == (plain.vocab - 1) * plain.hidden);
  CHECK(head_outputs(model, 1, 128) == 1);
  CHECK(head_outputs(plain, 2, 128) == plain.vocab / 2);
  const auto logits = [&](const Transformer& of) {
    return product_flops_of(
        forward_operators(tell_head(of, learning_setting({}), Software{}), Software{}));
  };
  CHECK(logits(plain) / logits(model) == doctest::Approx(static_cast<double>(plain.vocab)));
}

TEST_CASE("a token of LoRA costs two thirds of the FLOPs of full training") {
  // Megatron-Bridge counts 6,206 tokens/s at 1,731 TFLOP/s with LoRA, 3,864 at 1,671 without:
  // 0.645 of 70B at 4,096 tokens, by the causal convention.
  const Transformer model = shipped_model("llama-3-70b");
  const auto flops = [&](const Learning& learning) {
    StepShape step{1, 4096, model.vocab, 1, Recompute::none, AttentionKind::flash};
    step.learning = learning;
    return step_flops(model, step, FlopsConvention::causal).model.value;
  };
  CHECK(flops(adapters(16, {all})) / flops({}) == doctest::Approx(0.645).epsilon(0.05));
}

}  // namespace
}  // namespace prequel
