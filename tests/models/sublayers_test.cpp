/// Models of sublayers: state-space layers, linear and sparse attention, latent experts.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <variant>

#include "hw/base/errors.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/kept.hpp"
#include "models/layers/operators.hpp"
#include "models/layers/parameters.hpp"
#include "models/shape/layer_pattern.hpp"
#include "tests/error_text.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

LayerSetting setting_of(std::int64_t seq_len) {
  LayerSetting setting;
  setting.seq_len = seq_len;
  setting.precision = setting.products = Precision::bf16;
  setting.attention = AttentionKind::flash;
  return setting;
}

/// Bytes a token that the block keeps, without what comes in.
double kept_a_token(const Transformer& model, LayerKind kind) {
  const LayerSetting setting = setting_of(4096);
  const Layer layer = tell_block(model, kind, setting, Software{});
  return (kept_bytes(layer, {}) - layer.input) / 4096;
}

std::string problem_of(const std::string& letters) {
  const auto parsed = parse_layer_pattern(letters);
  const auto* problem = std::get_if<std::string>(&parsed);
  return problem ? *problem : std::string();
}

TEST_CASE("parameters of hybrids agree with published counts to the last digit") {
  const auto total = [](const char* name) { return total_parameters(shipped_model(name)); };
  CHECK(total("nemotron-3-nano-4b") == 3'973'556'832);
  CHECK(total("nemotron-3.5-lightning") == 32'913'266'240);
  CHECK(total("nemotron-3-super-120b-a12b") == 123'611'033'088);
  CHECK(total("jamba-v0.1") == 51'570'323'328);
  // Beside a depth of multi-token prediction and a vision tower.
  const auto with_depth = [](const char* name) {
    const Transformer model = shipped_model(name);
    return total_parameters(model) + next_token_parameters(model).total();
  };
  CHECK(with_depth("qwen3.5-35b-a3b") == 35'951'822'704 - 446'571'248);
  CHECK(with_depth("qwen3.5-27b") == 27'781'427'952 - 460'730'096);
  // The biases of 75 routers are left out of these.
  CHECK(total("glm-5") == 743'911'199'232 + 75 * 256);
  CHECK(total("glm-5.2") == 743'377'000'704 + 75 * 256);
  // The routers of three layers, whose experts a table chooses, have no biases.
  CHECK(total("deepseek-v4-flash") == 284'332'240'471);
  CHECK(total("deepseek-v4-pro") == 1'572'997'201'763);
  CHECK(total("minimax-m3") == 426'174'572'928);
}

TEST_CASE("parameters of other models of 2025 and 2026 are within half a percent") {
  const std::pair<const char*, double> kPublished[] = {{"nemotron-3-nano-30b-a3b", 31.578e9},
                                                       {"nemotron-3-ultra-550b-a55b", 560.52e9},
                                                       {"nemotron-h-8b", 8.1009e9},
                                                       {"nemotron-h-56b", 56.324e9},
                                                       {"nemotron-nano-9b-v2", 8.8882e9},
                                                       {"nemotron-nano-12b-v2", 12.310e9},
                                                       {"qwen3-next-80b-a3b", 79.674e9},
                                                       {"qwen3.5-122b-a10b", 122.11e9},
                                                       {"qwen3.5-397b-a17b", 396.35e9},
                                                       {"deepseek-v3.2", 671.88e9},
                                                       {"step-3.5-flash", 196.94e9},
                                                       {"longcat-flash", 560e9},
                                                       {"kimi-linear-48b-a3b", 49.123e9},
                                                       {"kimi-k3", 2779.5e9},
                                                       {"minimax-m2.5", 228.69e9},
                                                       {"minimax-text-01", 456.09e9},
                                                       {"granite-4.0-h-small", 32.207e9},
                                                       {"granite-4.0-h-tiny", 6.939e9},
                                                       {"falcon-h1-34b", 33.642e9},
                                                       {"jamba-1.5-large", 398.56e9},
                                                       {"mamba2-2.7b", 2.7026e9},
                                                       {"gemma-4-26b-a4b", 25.233e9},
                                                       {"gemma-4-31b", 30.697e9},
                                                       {"mimo-v2-flash", 308.78e9},
                                                       {"apertus-70b", 70.600e9},
                                                       {"apertus-8b", 8.0533e9},
                                                       {"olmo-3-32b", 32.234e9},
                                                       {"olmo-3-7b", 7.2980e9},
                                                       {"seed-oss-36b", 36.150e9},
                                                       {"bamba-9b", 9.78e9},
                                                       {"falcon-h1-7b", 7.586e9},
                                                       {"glm-4.7-flash", 29.94e9},
                                                       {"granite-4.0-h-micro", 3.1914e9},
                                                       {"lfm2-1.2b", 1.17034e9},
                                                       {"lfm2-8b-a1b", 8.33993e9},
                                                       {"ling-1t", 999.7e9},
                                                       {"ling-flash-2.0", 102.89e9},
                                                       {"trinity-mini", 26.124e9}};
  for (const auto& [name, published] : kPublished) {
    CAPTURE(name);
    CHECK(static_cast<double>(total_parameters(shipped_model(name))) ==
          doctest::Approx(published).epsilon(0.005));
  }
}

TEST_CASE("parameters that a token passes agree with published counts") {
  const std::pair<const char*, double> kPublished[] = {{"nemotron-3-nano-30b-a3b", 3.58007e9},
                                                       {"nemotron-3.5-lightning", 3.58007e9},
                                                       {"nemotron-3-super-120b-a12b", 12.7702e9},
                                                       {"qwen3.5-35b-a3b", 3.45499e9},
                                                       {"glm-5.2", 41.2505e9},
                                                       {"deepseek-v4-flash", 13.7996e9},
                                                       {"deepseek-v4-pro", 49.7791e9},
                                                       {"minimax-m3", 25.9625e9},
                                                       {"kimi-linear-48b-a3b", 3.48446e9}};
  for (const auto& [name, published] : kPublished) {
    CAPTURE(name);
    CHECK(static_cast<double>(active_parameters(shipped_model(name))) ==
          doctest::Approx(published).epsilon(0.005));
  }
}

TEST_CASE("Megatron-Bridge's counts of FLOPs follow from the shapes") {
  struct Printed {
    const char* model;
    FlopsConvention convention;
    std::int64_t seq_len;
    double gigaflops;
    std::int64_t depths;
  };
  using enum FlopsConvention;
  const Printed kPublished[] = {{"nemotron-3-nano-30b-a3b", bridge_hybrid, 8192, 22.278, 0},
                                {"nemotron-3.5-lightning", bridge_hybrid, 8192, 28.147, 2},
                                {"nemotron-3-nano-4b", bridge_hybrid, 4096, 20.5555, 0},
                                {"nemotron-3-super-120b-a12b", bridge_hybrid, 8192, 84.727, 2},
                                {"nemotron-3-ultra-550b-a55b", bridge_hybrid, 8192, 358.915, 2},
                                {"glm-5.2", bridge_dsa, 2048, 285.949, 1},
                                {"glm-5.2", bridge_dsa, 4096, 304.042, 1},
                                {"qwen3.5-35b-a3b", bridge_gdn, 4096, 22.471, 1},
                                {"deepseek-v4-flash", bridge_dsv4, 4096, 90.78, 1},
                                {"qwen3.5-27b", bridge_gdn, 4096, 167.393, 1}};
  for (const Printed& printed : kPublished) {
    CAPTURE(printed.model);
    const Transformer model = shipped_model(printed.model);
    CHECK(model.next_token_layers == printed.depths);
    StepShape step;
    step.gbs = 1;
    step.seq_len = printed.seq_len;
    step.vocab = model.vocab;
    const double token =
        step_flops(model, step, printed.convention).model.value / static_cast<double>(step.seq_len);
    CHECK(token / 1e9 == doctest::Approx(printed.gigaflops).epsilon(1e-4));
  }
}

TEST_CASE("what recurrent layers keep a token is their projections, their scan and their norm") {
  CHECK(kept_a_token(shipped_model("nemotron-3-nano-30b-a3b"), {Feed::none, Mixer::state_space}) ==
        doctest::Approx(50'560));
  CHECK(kept_a_token(shipped_model("qwen3.5-35b-a3b"), {Feed::none, Mixer::delta_net}) ==
        doctest::Approx(90'432));
}

TEST_CASE("patterns are letters of sublayers, with bars between chunks and slashes before depths") {
  const auto parsed = parse_layer_pattern("M*M*|M-M*/*E/*E");
  const auto& pattern = std::get<LayerPattern>(parsed);
  CHECK(pattern.layers.size() == 8);
  CHECK(pattern.chunks == std::vector<std::int64_t>{4, 4});
  CHECK(pattern.depths == 2);
  CHECK(pattern.next_token.size() == 2);
  CHECK(pattern_letters(pattern.layers) == "M*M*M-M*");
  CHECK(problem_of("M*/*E/*-").find("equal") != std::string::npos);
  CHECK(problem_of("M*D-").find("does not go with") != std::string::npos);
  CHECK(problem_of("MX").find("letters are M G D + - * E") == std::string::npos);
  CHECK_FALSE(problem_of("MX").empty());
  CHECK_FALSE(problem_of("").empty());
}

TEST_CASE("a block is its two sublayers: parameters and products of either add up") {
  const Transformer model = shipped_model("qwen3-30b-a3b");
  const auto parameters = [&](LayerKind kind) { return block_parameters(model, kind).total(); };
  CHECK(parameters({Feed::experts, Mixer::attention}) ==
        parameters({Feed::none, Mixer::attention}) + parameters({Feed::experts, Mixer::none}));
}

TEST_CASE("attention to blocks works on as many keys as are chosen, whatever the length") {
  const Transformer model = shipped_model("minimax-m3");
  const auto core_of = [&](Mixer mixer, std::int64_t seq_len) {
    const LayerKind kind{Feed::none, mixer};
    const Layer layer = tell_block(model, kind, setting_of(seq_len), Software{});
    for (const LayerPiece& piece : layer.pieces) {
      if (const auto* core = std::get_if<AttentionCore>(&piece.what)) return core->shape;
    }
    return FusedAttention{};
  };
  CHECK(core_of(Mixer::block_sparse, 65536).window == 2048);
  CHECK(core_of(Mixer::attention, 65536).window == 0);
  // Beside the same projections, an index branch of four heads of queries and one of keys.
  const auto parameters = [&](Mixer mixer) {
    return block_parameters(model, {Feed::none, mixer}).total();
  };
  CHECK(parameters(Mixer::block_sparse) - parameters(Mixer::attention) == 5 * 6144 * 128 + 2 * 128);
}

TEST_CASE("experts that give a token back take their share of the choices, and no work") {
  Transformer model = shipped_model("longcat-flash");
  CHECK(model.experts.working() == doctest::Approx(8));
  const auto rows_of = [](const Transformer& of) {
    const Layer layer = tell_block(of, {Feed::experts, Mixer::none}, setting_of(4096), Software{});
    std::int64_t rows = 0;
    for (const LayerPiece& piece : layer.pieces) {
      const auto* product = std::get_if<LinearLayer>(&piece.what);
      if (product && product->experts > 0) rows += product->rows;
    }
    return rows;
  };
  CHECK(rows_of(model) == 2 * 8 * 4096);
  model.experts.zero = 0;
  CHECK(rows_of(model) == 2 * 12 * 4096);
}

TEST_CASE("experts that the token itself chooses have scores and no bias of their router") {
  const Transformer model = shipped_model("deepseek-v4-flash");
  CHECK(model.kind_of(2).feed == Feed::hashed_experts);
  CHECK(model.kind_of(3).feed == Feed::experts);
  const auto parameters = [&](Feed feed) {
    return block_parameters(model, {feed, Mixer::none}).total();
  };
  CHECK(parameters(Feed::experts) - parameters(Feed::hashed_experts) == 256);
}

TEST_CASE("experts of a latent width exchange that width") {
  const Transformer super = shipped_model("nemotron-3-super-120b-a12b");
  LayerSetting setting = setting_of(8192);
  setting.ep = 8;
  const Layer layer = tell_block(super, {Feed::experts, Mixer::none}, setting, Software{});
  int transfers = 0;
  for (const LayerPiece& piece : layer.pieces) {
    if (const auto* transfer = std::get_if<TokenTransfer>(&piece.what)) {
      ++transfers;
      CHECK(transfer->what.hidden == 1024);
    }
  }
  CHECK(transfers == 2);
}

TEST_CASE("context ranks of state-space layers exchange tokens for heads, with copies of groups") {
  const Transformer model = shipped_model("nemotron-3-nano-30b-a3b");
  const auto exchanged = [&](std::int64_t cp) {
    LayerSetting setting = setting_of(8192);
    setting.cp = cp;
    double bytes = 0;
    for (const LayerPiece& piece :
         tell_block(model, {Feed::none, Mixer::state_space}, setting, Software{}).pieces) {
      const auto* collective = std::get_if<LayerCollective>(&piece.what);
      if (collective && collective->axis == GroupAxis::context) bytes += collective->bytes.value;
    }
    return bytes / static_cast<double>(8192 / cp);
  };
  // Both projections of 4096, B and C of 8 groups of 128, time steps of 64 heads; results.
  CHECK(exchanged(2) == doctest::Approx(2.0 * (2 * 4096 + 2 * 8 * 128 + 64 + 4096)));
  CHECK(exchanged(16) == doctest::Approx(2.0 * (2 * 4096 + 2 * 2 * 8 * 128 + 64 + 4096)));
}

TEST_CASE("depths that share one layer have its parameters once and its work each time") {
  Transformer model = shipped_model("nemotron-3.5-lightning");
  const std::int64_t two = total_parameters(model);
  const PartCounts parts = parts_of(model);
  CHECK(parts[Part::next_token] == 2);
  CHECK(parts[Part::head] == 3);
  model.next_token_layers = 1;
  CHECK(total_parameters(model) == two);
}

TEST_CASE("products of an indexer give their input no gradient") {
  const Transformer model = shipped_model("glm-5");
  const Layer layer = tell_block(model, {Feed::none, Mixer::sparse}, setting_of(4096), Software{});
  int backward = 0;
  for (const Operator& op : backward_operators(layer, Software{})) {
    const auto* gemm = std::get_if<Gemm>(&op.what);
    if (!gemm || op.name.find("index") == std::string_view::npos) continue;
    CHECK(gemm->pass == GemmPass::wgrad);
    ++backward;
  }
  CHECK(backward == 3);
  const Layer shared =
      tell_block(model, {Feed::none, Mixer::sparse_shared}, setting_of(4096), Software{});
  CHECK(parameters_of(layer).total() - parameters_of(shared).total() ==
        2048 * 32 * 128 + 6144 * 128 + 2 * 128 + 6144 * 32);
}

TEST_CASE("without a kernel for chosen keys, scores of all pairs are made in fp32 and kept") {
  const Transformer model = shipped_model("glm-5");
  LayerSetting setting = setting_of(2048);
  const auto told = [&](Mixer mixer) {
    return tell_block(model, {Feed::none, mixer}, setting, Software{});
  };
  const auto wide_products = [&](Mixer mixer, bool backward) {
    const Layer layer = told(mixer);
    const Operators all =
        backward ? backward_operators(layer, Software{}) : forward_operators(layer, Software{});
    return std::ranges::count_if(all, [](const Operator& op) {
      const auto* gemm = std::get_if<Gemm>(&op.what);
      return gemm && gemm->precision == Precision::fp32;
    });
  };
  CHECK(wide_products(Mixer::sparse, false) == 0);
  const double chosen = kept_bytes(told(Mixer::sparse), {});
  setting.attention = AttentionKind::unfused;
  CHECK(wide_products(Mixer::sparse_shared, false) == 1);
  CHECK(wide_products(Mixer::sparse, false) == 2);  // the indexer's loss wants them, too
  CHECK(wide_products(Mixer::sparse, true) == 2);
  const double pairs = static_cast<double>(model.heads) * 2048 * 2048;
  CHECK(kept_bytes(told(Mixer::sparse), {}) - chosen == doctest::Approx(6 * pairs).epsilon(0.01));
}

TEST_CASE("a short convolution and layers of many widths are told by the model's file") {
  const auto read = [](const char* more) {
    return read_transformer(Document::parse(
        "model",
        std::string(R"({"name":"m","num_hidden_layers":2,"hidden_size":512,"mlp":"swiglu",)"
                    R"("bias":false,"norm":"rms_norm","num_attention_heads":8,)"
                    R"("vocab_size":1000,"max_position_embeddings":2048,)") +
            more + "}"));
  };
  const Transformer model =
      read(R"("short_conv_kernel_dim":3,"layer_types":["conv","full_attention"])");
  const LayerKind alone{Feed::none, Mixer::short_conv};
  CHECK(block_parameters(model, alone).total() == 4 * 512 * 512 + 3 * 512 + 512);
  // The norm's result, three of the product, the convolution's input and result, the projection's.
  CHECK(kept_a_token(model, alone) == doctest::Approx(2 * 512 * 7));
  const Transformer widths =
      read(R"("layer_types":["full_attention","no_mixer"],"intermediate_sizes":[0,768])");
  CHECK(widths.kind_of(0) == LayerKind{Feed::none, Mixer::attention});
  CHECK(widths.inner_of(widths.kind_of(1)) == 768);
  CHECK(widths.kind_of(1).mixer == Mixer::none);
}

TEST_CASE("a model's files name what its layers need") {
  const auto refusal = [](const char* text) {
    return error_text([&] { (void)read_transformer(Document::parse("model", text)); });
  };
  const std::string missing =
      refusal(R"({"name":"m","layers_pattern":"M*","hidden_size":512,"num_attention_heads":8,)"
              R"("vocab_size":1000,"max_position_embeddings":2048})");
  CHECK(missing.find("mamba_num_heads") != std::string::npos);
  const std::string unequal =
      refusal(R"({"name":"m","layers_pattern":"*-","num_hidden_layers":3,"hidden_size":512,)"
              R"("num_attention_heads":8,"vocab_size":1000,"max_position_embeddings":2048})");
  CHECK(unequal.find("2 letters") != std::string::npos);
}

}  // namespace
}  // namespace prequel
