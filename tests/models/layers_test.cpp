#include <doctest/doctest.h>

#include <algorithm>

#include "models/layers/kept.hpp"
#include "models/layers/operators.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/parts.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

LayerSetting setting(std::int64_t tp = 1) {
  LayerSetting setting;
  setting.mbs = 2;
  setting.seq_len = 1024;
  setting.tp = tp;
  setting.sequence_parallel = tp > 1;
  setting.precision = setting.products = Precision::bf16;
  setting.attention = AttentionKind::flash;
  return setting;
}

/// A dense gated model and the same with its MLP as the only expert.
Transformer gated() {
  Transformer model;
  model.layers = 4;
  model.hidden = 512;
  model.heads = model.kv_heads = 8;
  model.head_dim = 64;
  model.ffn_hidden = 1024;
  model.vocab = 1000;
  model.max_positions = 1024;
  model.mlp = Mlp::swiglu;
  model.position = PositionEmbedding::rope;
  model.norm = Norm::rms_norm;
  model.linear_bias = model.qkv_bias = false;
  return model;
}
Transformer with_experts(std::int64_t count, std::int64_t top_k) {
  Transformer model = gated();
  model.experts.count = count;
  model.experts.top_k = top_k;
  model.experts.ffn_hidden = model.ffn_hidden;
  return model;
}

double product_flops(const Operators& operators) {
  double flops = 0;
  for (const Operator& op : operators) {
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) {
      flops += 2.0 * static_cast<double>(gemm->m * gemm->n) * static_cast<double>(gemm->k);
    } else if (const auto* grouped = std::get_if<GroupedGemm>(&op.what)) {
      flops += 2.0 * static_cast<double>(grouped->rows * grouped->outputs) *
               static_cast<double>(grouped->inputs);
    }
  }
  return flops;
}

TEST_CASE("one expert that every token passes is the MLP and a router of one output") {
  const Transformer dense = gated();
  const Transformer one = with_experts(1, 1);
  const std::int64_t router = dense.hidden;
  CHECK(block_parameters(one, one.kind_of(0)).total() ==
        block_parameters(dense, dense.kind_of(0)).total() + router);
  const Software stack{};
  const auto forward = [&](const Transformer& model) {
    return product_flops(
        forward_operators(tell_block(model, model.kind_of(0), setting(), stack), stack));
  };
  CHECK(forward(one) == forward(dense) + 2.0 * 2 * 1024 * static_cast<double>(router));
  // Kept are scores and probabilities of the router and the tokens in their expert's order, too.
  const auto kept = [&](const Transformer& model) {
    return kept_bytes(tell_block(model, model.kind_of(0), setting(), stack), {});
  };
  CHECK(kept(one) == kept(dense) + 2 * 1024 * (9.0 + 8.0 + 2.0 * 512));
}

TEST_CASE("the backward pass has twice the products of the forward pass, with experts too") {
  const Software stack{};
  for (const Transformer& model : {gated(), with_experts(8, 2)}) {
    for (const std::int64_t tp : {1, 2, 4}) {
      const Layer layer = tell_block(model, model.kind_of(0), setting(tp), stack);
      CHECK(product_flops(backward_operators(layer, stack)) ==
            2 * product_flops(forward_operators(layer, stack)));
    }
  }
}

TEST_CASE("what shared experts read is cast for them alone, as the router reads it in 16 bits") {
  const Software stack = shipped_software("megatron-core-2026");
  const auto cast_forward = [&](const Transformer& model) {
    LayerSetting narrow = setting();
    narrow.products = Precision::fp8;
    double elements = 0;
    for (const LayerPiece& piece : tell_block(model, model.kind_of(0), narrow, stack).pieces) {
      if (const auto* cast = std::get_if<Casts>(&piece.what)) elements += cast->forward;
    }
    return elements / 2048;
  };
  Transformer model = with_experts(8, 2);
  const double routed = cast_forward(model);
  model.experts.shared_hidden = 256;
  CHECK(cast_forward(model) == routed + 512 + 256);
  model.experts.latent = 128;  // exchanged in place of 512; brought to that width, and back
  CHECK(cast_forward(model) == routed + 512 + 256 + 512 + 128 - 2 * (512 - 128));
}

TEST_CASE("graphs of modules copy their inputs, and backward the gradients of their results") {
  const Software stack = shipped_software("megatron-core-2026");
  const auto copies = [&](const Transformer& model, WordSet<GraphedModule> graphs) {
    LayerSetting graphed = setting();
    graphed.graphs = graphs;
    PointwiseKernels all;
    for (const LayerPiece& piece : tell_block(model, model.kind_of(0), graphed, stack).pieces) {
      if (piece.name == "graph copies") all = std::get<PointwiseKernels>(piece.what);
    }
    return std::pair{all.forward / (2.0 * 2 * 2048 * 512), all.backward / (2.0 * 2 * 2048 * 512)};
  };
  using enum GraphedModule;
  using Copies = std::pair<double, double>;
  CHECK(copies(gated(), {}) == Copies{0, 0});
  CHECK(copies(gated(), {full}) == Copies{0, 0});
  CHECK(copies(gated(), {attn}) == Copies{1, 1});
  CHECK(copies(gated(), {attn, mlp}) == Copies{1, 1});
  // A router's graph gives what experts read, and the sum that passes them by.
  CHECK(copies(with_experts(8, 2), {moe_router}) == Copies{1, 2});
  CHECK(copies(with_experts(8, 2), {mlp}) == Copies{0, 0});
}

TEST_CASE("expert ranks share the experts' products, and their parameters") {
  const Transformer model = with_experts(8, 2);
  const Software stack{};
  LayerSetting shared = setting();
  shared.ep = 4;
  const auto grouped = [&](const LayerSetting& of) {
    for (const Operator& op :
         forward_operators(tell_block(model, {Feed::experts}, of, stack), stack)) {
      if (const auto* found = std::get_if<GroupedGemm>(&op.what)) return *found;
    }
    return GroupedGemm{};
  };
  CHECK(grouped(setting()).groups == 8);
  CHECK(grouped(shared).groups == 2);
  // Each rank sends its own tokens and receives as many from the others.
  CHECK(grouped(shared).rows == grouped(setting()).rows);
  CHECK(grouped(shared).rows == 2 * 2 * 1024);
}

TEST_CASE("what goes to the experts comes back, in the backward pass the other way round") {
  const Transformer model = with_experts(8, 2);
  const Software stack{};
  LayerSetting shared = setting();
  shared.ep = 8;
  const Layer layer = tell_block(model, {Feed::experts}, shared, stack);
  const auto transfers = [](const Operators& operators) {
    std::vector<bool> combines;
    for (const Operator& op : operators) {
      if (const auto* found = std::get_if<Dispatch>(&op.what)) combines.push_back(found->combine);
    }
    return combines;
  };
  CHECK(transfers(forward_operators(layer, stack)) == std::vector{false, true});
  CHECK(transfers(backward_operators(layer, stack)) == std::vector{false, true});
  CHECK(transfers(forward_operators(tell_block(model, {Feed::experts}, setting(), stack), stack))
            .empty());
}

TEST_CASE("what NCCL brings by rank is sorted by expert once more") {
  const Transformer model = with_experts(8, 2);
  const Software stack{};
  LayerSetting shared = setting();
  const auto permuted = [&] {
    double bytes = 0;
    for (const Operator& op :
         forward_operators(tell_block(model, {Feed::experts}, shared, stack), stack)) {
      const auto* found = std::get_if<Stream>(&op.what);
      if (found && found->kind == StreamKind::permute) bytes += found->bytes.value;
    }
    return bytes;
  };
  // A token is read once and written for each of its two experts, and the other way round.
  const double row = static_cast<double>(model.hidden) * bytes_per_element(shared.precision);
  const double tokens = static_cast<double>(shared.tokens());
  const double once = 2 * (1 + 2) * tokens * row;
  CHECK(permuted() == once);
  shared.ep = 4;  // two experts a rank
  shared.dispatcher = Dispatcher::deepep;
  CHECK(permuted() == once);
  shared.dispatcher = Dispatcher::alltoall;
  CHECK(permuted() == once + 2 * (2 * 2 * tokens * row));
  shared.ep = 8;  // one
  CHECK(permuted() == once);
}

TEST_CASE("a GPT block keeps 34 bytes a token and channel, split over tensor ranks") {
  const Transformer model = shipped_model("gpt3-175b");
  const double channels = 2.0 * 1024 * 12288;
  const auto kept = [&](std::int64_t tp, WordSet<Module> repeated) {
    return kept_bytes(tell_block(model, model.kind_of(0), setting(tp), {}), repeated);
  };
  CHECK(kept(1, {}) == 34 * channels);
  CHECK(kept(8, {}) == 34 * channels / 8);
  CHECK(kept(1, WordSet<Module>::all()) == 2 * channels);
}

TEST_CASE("a gated block without dropout keeps its norms' results, heads and three inner widths") {
  const Transformer model = gated();
  // Two inputs, two norms; queries, keys, values and context; gate, up and their product.
  const double per_token = 2.0 * (4 * 512 + 4 * 512 + 3 * 1024);
  CHECK(kept_bytes(tell_block(model, {}, setting(), {}), {}) == 2 * 1024 * per_token);
  WordSet<Module> norms;
  norms.add(Module::norm);
  CHECK(kept_bytes(tell_block(model, {}, setting(), {}), norms) ==
        2 * 1024 * (per_token - 2.0 * 2 * 512));
}

TEST_CASE("recompute by operator repeats keys, the projection and what a gate multiplies") {
  const Transformer model = gated();
  const Software stack;
  const Layer layer = tell_block(model, {}, setting(), stack);
  const WordSet<Module> operators =
      repeated_modules(Recompute::selective, {RecomputeModule::operators});
  const Operators repeated = repeated_operators(layer, stack, operators);
  const double tokens = 2.0 * 1024;
  // The second, fourth and sixth of seven products are repeated.
  CHECK(product_flops(repeated) == 2 * tokens * (512 * 512 + 512 * 512 + 512 * 1024));
  for (const Operator& op : repeated) CHECK_FALSE(std::get_if<FusedAttention>(&op.what));
  // The input, queries, values, context and the gate.
  CHECK(kept_bytes(layer, operators) == doctest::Approx(2 * tokens * (4 * 512 + 1024)));
  CHECK(product_flops(repeated_operators(layer, stack, WordSet<Module>::all())) ==
        product_flops(forward_operators(layer, stack)));
}

TEST_CASE("a repetition that stops early leaves out what no backward of the layer needs") {
  Software stack;
  stack.kernels.recompute_stops_early = true;
  const auto all = WordSet<Module>::all();
  const Layer layer = tell_block(gated(), {}, setting(4), stack);
  const double out = 2 * 2.0 * 1024 * 512 * 1024 / 4;  // of the MLP's last product
  CHECK(product_flops(repeated_operators(layer, stack, all)) ==
        product_flops(forward_operators(layer, stack)) - out);
  const auto collectives = [&](const Operators& operators) {
    return std::count_if(operators.begin(), operators.end(), [](const Operator& op) {
      return std::holds_alternative<GroupCollective>(op.what);
    });
  };
  // Two scatters and two gathers, of which the last scatter follows that product.
  CHECK(collectives(forward_operators(layer, stack)) == 4);
  CHECK(collectives(repeated_operators(layer, stack, all)) == 3);
  // By operator every second product is repeated: of a gated MLP not the last, of a plain one it.
  const auto operators = repeated_modules(Recompute::selective, {RecomputeModule::operators});
  CHECK(product_flops(repeated_operators(layer, stack, operators)) ==
        product_flops(repeated_operators(layer, Software{}, operators)));
  Transformer plain = gated();
  plain.mlp = Mlp::gelu;
  const Layer ungated = tell_block(plain, {}, setting(4), stack);
  const double kept = product_flops(repeated_operators(ungated, Software{}, operators)) -
                      product_flops(repeated_operators(ungated, stack, operators));
  CHECK(kept == out);
  // A norm of the result, or a dropout, needs it.
  for (const bool normed : {false, true}) {
    Transformer model = gated();
    (normed ? model.post_norms : model.dropout) = true;
    const Layer read = tell_block(model, {}, setting(4), stack);
    CHECK(product_flops(repeated_operators(read, stack, all)) ==
          product_flops(forward_operators(read, stack)));
  }
}

TEST_CASE("weights held in fp32 are cast once forward and once backward") {
  Software stack;
  stack.memory.weight_bytes = 4;
  LayerSetting narrow = setting(1);
  narrow.products = Precision::fp8;
  narrow.casts = CastRecipe::current;
  const auto cast = [&](const LayerSetting& setting, const Software& software) {
    double elements = 0;
    const Layer layer = tell_block(gated(), {}, setting, software);
    for (const Operator& op : forward_operators(layer, software)) {
      const auto* found = std::get_if<Cast>(&op.what);
      if (found && !found->both_orders) elements += found->elements;
    }
    double again = 0;
    for (const Operator& op : backward_operators(layer, software)) {
      const auto* found = std::get_if<Cast>(&op.what);
      if (found && !found->both_orders) again += found->elements;
    }
    CHECK(again == elements);
    return elements;
  };
  // Queries, keys, values and projection; the gate, what it gates and the second product.
  CHECK(cast(narrow, stack) == 4.0 * 512 * 512 + 3.0 * 512 * 1024);
  CHECK(cast(narrow, Software{}) == 0);
  CHECK(cast(setting(1), stack) == 0);
  narrow.gathers_cast = true;
  CHECK(cast(narrow, stack) == 0);
}

TEST_CASE("recompute by operator gathers again and keeps what was scattered") {
  const Software stack;
  const Layer layer = tell_block(gated(), {}, setting(4), stack);
  const auto collectives = [&](Recompute mode, WordSet<RecomputeModule> named) {
    std::vector<CollectiveOp> ops;
    for (const Operator& op : repeated_operators(layer, stack, repeated_modules(mode, named))) {
      if (const auto* found = std::get_if<GroupCollective>(&op.what)) ops.push_back(found->op);
    }
    return ops;
  };
  using enum CollectiveOp;
  CHECK(collectives(Recompute::selective, {RecomputeModule::operators}) ==
        std::vector{all_gather, all_gather});
  CHECK(collectives(Recompute::full, {}).size() == 4);
  CHECK(collectives(Recompute::selective, {RecomputeModule::blocks}).size() == 4);
  CHECK(repeated_blocks(Recompute::selective, {RecomputeModule::blocks}) == 0.5);
  CHECK(repeated_blocks(Recompute::full, {RecomputeModule::blocks}) == 1.0);
}

TEST_CASE("eager kernels keep copies, gathered inputs are kept whole or gathered again") {
  const Transformer model = gated();
  Software stack;
  const auto kept = [&](std::int64_t tp) {
    return kept_bytes(tell_block(model, {}, setting(tp), stack), {});
  };
  const auto gathers = [&] {
    const Layer layer = tell_block(model, {}, setting(4), stack);
    return std::ranges::count_if(backward_operators(layer, stack), [](const Operator& op) {
      const auto* found = std::get_if<GroupCollective>(&op.what);
      return found && found->op == CollectiveOp::all_gather;
    });
  };
  const double tokens = 2.0 * 1024;
  const double fused = kept(1);
  stack.memory.keeps_copies = WordSet<KeptCopy>{KeptCopy::rotated};
  CHECK(kept(1) - fused == 2 * tokens * (2 * 512 + 1024));
  stack.memory.keeps_copies = {};
  CHECK(gathers() == 4);
  stack.memory.keeps_gathers = true;
  CHECK(kept(1) == fused);
  CHECK(kept(4) == doctest::Approx(fused / 4 + 2 * tokens * 2 * 512 * 3 / 4));
  CHECK(gathers() == 2);
}

TEST_CASE("what products gather goes in their format where the stack casts it beforehand") {
  const Transformer model = gated();
  LayerSetting narrow = setting(4);
  Software stack;
  const auto bytes = [&](bool backward, CollectiveOp op) {
    const Layer layer = tell_block(model, {}, narrow, stack);
    double sum = 0;
    for (const Operator& each :
         backward ? backward_operators(layer, stack) : forward_operators(layer, stack)) {
      const auto* found = std::get_if<GroupCollective>(&each.what);
      if (found && found->op == op) sum += found->bytes.value;
    }
    return sum;
  };
  using enum CollectiveOp;
  const double hidden = 2.0 * 2 * 1024 * 512;  // states of a micro batch in 16 bits
  const auto check = [&](double forward, double backward) {
    CHECK(bytes(false, all_gather) == doctest::Approx(forward * hidden));
    CHECK(bytes(true, all_gather) == doctest::Approx(backward * hidden));
    CHECK(bytes(false, reduce_scatter) == 2 * hidden);
    CHECK(bytes(true, reduce_scatter) == 2 * hidden);
  };
  stack.communication.narrow_gathers = true;
  check(2, 4);
  narrow.products = Precision::fp8;
  narrow.casts = CastRecipe::current;
  check(1, 2);
  // Gradients have a copy for each of the two products that read them.
  narrow.products = Precision::fp4;
  narrow.casts = CastRecipe::nvfp4;
  check(2 * 0.28125, 2 * 0.28125 + 2 * 2 * 0.28125);
  narrow.products = Precision::mxfp8;
  narrow.casts = CastRecipe::mxfp8;
  check(1.03125, 1.03125 + 2);
  stack.communication.narrow_gathers = false;
  check(2, 4);
}

TEST_CASE("inputs of SwiGLU are kept in fp8, but for those of a repeated one") {
  LayerSetting eight = setting();
  Software stack;
  stack.kernels.pointwise_traffic_factor = {1, {}};
  const auto kept = [&](const Transformer& model, WordSet<Module> repeated) {
    return kept_bytes(tell_block(model, model.kind_of(0), eight, stack), repeated);
  };
  const auto traffic = [&](const Transformer& model) {
    double sum = 0;
    for (const Operator& each :
         forward_operators(tell_block(model, model.kind_of(0), eight, stack), stack)) {
      const auto* found = std::get_if<Stream>(&each.what);
      if (found && found->kind == StreamKind::fused_pointwise) sum += found->bytes.value;
    }
    return sum;
  };
  const double inputs = 2.0 * 1024 * 2 * 1024;  // gate and what it gates, of one expert
  const Transformer experts = with_experts(8, 2);
  const WordSet<Module> activation{Module::expert_activation};
  const double dense = kept(gated(), {});
  const double sparse = kept(experts, {});
  const double repeated = kept(experts, activation);
  const double moved = traffic(gated());
  eight.fp8_activation_store = true;
  CHECK(kept(gated(), {}) == dense - inputs);
  CHECK(traffic(gated()) == moved + 3 * inputs);
  CHECK(kept(experts, {}) == sparse - 2 * inputs);
  // DeepSeek's repeats start from what is stored, Megatron-Core's from the whole.
  eight.repeats_expert_activation = true;
  CHECK(kept(experts, activation) == repeated);
  stack.defaults.fp8_activation_store = true;
  CHECK(kept(experts, activation) == repeated - 2 * inputs);
}

TEST_CASE("the parts of a model are its layers by kind") {
  Transformer model = with_experts(8, 2);
  model.layers = 10;
  model.experts.first_dense = 3;
  model.window = 128;
  model.full_every = 2;
  const PartCounts counts = parts_of(model);
  const auto held = [&](Feed feed, AttentionSpan span) {
    return counts[LayerKinds(model).part_of({feed, Mixer::attention, span})];
  };
  CHECK(held(Feed::mlp, AttentionSpan::window) == 2);
  CHECK(held(Feed::mlp, AttentionSpan::full) == 1);
  CHECK(held(Feed::experts, AttentionSpan::window) == 3);
  CHECK(held(Feed::experts, AttentionSpan::full) == 4);
  CHECK(counts[Part::head] == 1);
  std::int64_t blocks = 0;
  for (const std::int64_t first : {0, 4, 7}) {
    const PartCounts some = blocks_of(model, first, first == 0 ? 4 : 3);
    each_part([&](Part part) { blocks += is_block(part) ? some[part] : 0; });
  }
  CHECK(blocks == 10);
}

TEST_CASE("chunked layers are a kind of their own, and attend within their chunks") {
  Transformer model = with_experts(8, 2);
  model.layers = 12;
  model.experts.every = 2;
  model.chunk = 1024;
  model.full_every = 4;
  const PartCounts counts = parts_of(model);
  const LayerKinds kinds(model);
  const auto held = [&](Feed feed, AttentionSpan span) {
    return counts[kinds.part_of({feed, Mixer::attention, span})];
  };
  CHECK(kinds.all().size() == 3);
  CHECK(held(Feed::mlp, AttentionSpan::chunk) == 6);
  CHECK(held(Feed::experts, AttentionSpan::chunk) == 3);
  CHECK(held(Feed::experts, AttentionSpan::full) == 3);
  each_kind(kinds, [&](Part part, LayerKind kind) {
    CHECK(kinds.part_of(kind) == part);
    CHECK(kinds.kind_of(part) == kind);
  });

  LayerSetting long_one = setting(1);
  long_one.seq_len = 4096;
  const auto core = [&](AttentionSpan span, std::int64_t cp) {
    LayerSetting shared = long_one;
    shared.cp = cp;
    for (const LayerPiece& piece :
         tell_block(model, {Feed::mlp, Mixer::attention, span}, shared, Software{}).pieces) {
      if (const auto* found = std::get_if<AttentionCore>(&piece.what)) return found->shape;
    }
    return FusedAttention{};
  };
  CHECK(core(AttentionSpan::chunk, 1).chunk == 1024);
  CHECK(core(AttentionSpan::full, 1).chunk == 0);
  CHECK(4 * core(AttentionSpan::chunk, 4).seq == core(AttentionSpan::chunk, 1).seq);
  CHECK(core(AttentionSpan::chunk, 4).mean_chunk() == core(AttentionSpan::chunk, 1).mean_chunk());
}

TEST_CASE("latent attention has the parameters that DeepSeek-V2's paper counts") {
  Transformer model = gated();
  model.hidden = 5120;
  model.heads = model.kv_heads = 128;
  model.latent = {512, 1536, 128, 64, 128};
  model.head_dim = 192;
  const std::int64_t attention =
      5120 * 1536 + 1536 * 128 * 192 + 5120 * (512 + 64) + 512 * 128 * 256 + 128 * 128 * 5120;
  const std::int64_t norms = 1536 + 512 + 2 * 5120;
  const std::int64_t mlp = 3 * 5120 * 1024;
  CHECK(block_parameters(model, {}).total() == attention + norms + mlp);
}

}  // namespace
}  // namespace prequel
