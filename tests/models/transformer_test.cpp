#include "models/shape/transformer.hpp"
#include "models/layers/parameters.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/error_text.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

TEST_CASE("a block and an embedding of hidden size 14336 have the counts of the 176B project") {
  Transformer model = shipped_model("bigscience-200b");
  model.hidden = 14336;
  model.heads = model.kv_heads = 64;
  model.head_dim = 224;
  model.ffn_hidden = 4 * 14336;
  CHECK(layer_parameters(model) == 2'466'437'120);
  CHECK(embedding_parameters(model, 250'880) == 3'596'615'680);
}

TEST_CASE("a GPT-2 style block has 12h^2 + 13h parameters") {
  const Transformer model = shipped_model("gpt2-124m");
  const std::int64_t h = model.hidden;
  CHECK(layer_parameters(model) == 12 * h * h + 13 * h);
}

TEST_CASE("shipped models have the sizes that their authors print") {
  CHECK(total_parameters(shipped_model("gpt2-124m")) == 124'439'808);
  CHECK(total_parameters(shipped_model("bloom-176b")) == 176'247'271'424);
  CHECK(total_parameters(shipped_model("llama-2-7b")) == 6'738'415'616);
  CHECK(total_parameters(shipped_model("llama-2-70b")) == 68'976'648'192);
  CHECK(total_parameters(shipped_model("llama-3-8b")) == 8'030'261'248);
  CHECK(total_parameters(shipped_model("llama-3-405b")) == 405'853'388'800);
  CHECK(total_parameters(shipped_model("mixtral-8x7b")) == 46'702'792'704);
  CHECK(total_parameters(shipped_model("qwen3-30b-a3b")) == 30'532'122'624);
  CHECK(total_parameters(shipped_model("qwen3-235b-a22b")) == 235'093'634'560);
  CHECK(total_parameters(shipped_model("deepseek-v2-lite")) == 15'706'484'224);
  CHECK(total_parameters(shipped_model("gpt-oss-120b")) == 116'829'156'672);
}

TEST_CASE("layers are windowed or chunked, and only of such some see all") {
  const auto problems_with = [](const std::string& keys) {
    return error_text([&] {
      (void)read_transformer(Document::parse(
          "m.json", R"({"schema": "prequel/model/1", "name": "m", "num_hidden_layers": 8,
                        "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100,
                        "max_position_embeddings": 128, )" +
                        keys + "}"));
    });
  };
  CHECK(problems_with(R"("sliding_window": 16, "attention_chunk_size": 16)")
            .find("/attention_chunk_size: layers are of sliding_window already") !=
        std::string::npos);
  CHECK(problems_with(R"("full_attention_every": 2)")
            .find("/full_attention_every: no effect without sliding_window or "
                  "attention_chunk_size") != std::string::npos);
  CHECK(problems_with(R"("attention_chunk_size": 16, "full_attention_every": 2)") == "no error");
}

TEST_CASE("every printed count of the MosaicGPT table is met exactly") {
  std::size_t rows = 0;
  for (const TableRow& row : shipped_runs("mosaic-a100.csv")) {
    CAPTURE(row.at("id"));
    CHECK(total_parameters(model_of(row)) == std::stoll(row.at("params")));
    ++rows;
  }
  CHECK(rows >= 60);
}

TEST_CASE("a head that is not tied costs one more table") {
  Transformer model = shipped_model("gpt2-124m");
  const std::int64_t tied = total_parameters(model);
  model.tied_embeddings = false;
  CHECK(total_parameters(model) == tied + embedding_parameters(model, model.vocab));
}

TEST_CASE("the vocabulary is padded to equal aligned parts") {
  CHECK(padded_vocab(50257, 1, 128) == 50304);
  CHECK(padded_vocab(50257, 8, 128) == 51200);
  CHECK(padded_vocab(51200, 8, 128) == 51200);
  CHECK(padded_vocab(50257, 1, 1) == 50257);
}

TEST_CASE("every shipped model can be read and has the heads that its width says") {
  const Library library = shipped_library();
  for (const std::string& name : library.names("models")) {
    CAPTURE(name);
    const Transformer model = shipped_model(name);
    CHECK(model.name == name);
    CHECK(model.heads % model.kv_heads == 0);
    // Where heads are not a share of the width, the file gives their size.
    const bool size_given =
        model.is_latent() || library.open("models", name).json().contains("head_dim");
    CHECK((size_given || model.attention_width() == model.hidden));
  }
}

Transformer parse_model(const std::string& text) {
  return read_transformer(Document::parse("m.json", text));
}

TEST_CASE("all problems of a model file are told at once") {
  CHECK(error_text([] {
          parse_model(R"({"name": "m", "num_hidden_layers": "12", "hidden_sizes": 768,
                          "num_attention_heads": -12, "vocab_size": 1e300,
                          "max_position_embeddings": 0})");
        }) ==
        "m.json: /hidden_size: missing; expected a whole number from 1 to 16777216\n"
        "m.json: /num_hidden_layers: expected a whole number from 1 to 100000, got \"12\"\n"
        "m.json: /hidden_sizes: unknown key; did you mean \"hidden_size\"?\n"
        "m.json: /num_attention_heads: expected a whole number from 1 to 16777216, got -12\n"
        "m.json: /vocab_size: expected a whole number from 1 to 16777216, got 1e+300\n"
        "m.json: /max_position_embeddings: expected a whole number from 1 to 16777216, got 0");
}

TEST_CASE("heads that do not divide the width are refused unless the head size is said") {
  const std::string shape = R"("name": "m", "num_hidden_layers": 2, "hidden_size": 100,
      "num_attention_heads": 12, "vocab_size": 10, "max_position_embeddings": 8)";
  CHECK(error_text([&] { parse_model("{" + shape + "}"); }) ==
        "m.json: /num_attention_heads: hidden_size 100 is not a multiple of 12 heads, and head_dim "
        "is not given");
  CHECK(parse_model("{" + shape + R"(, "head_dim": 16})").attention_width() == 192);
  CHECK(error_text([&] {
          parse_model("{" + shape + R"(, "head_dim": 16, "num_key_value_heads": 5})");
        }) == "m.json: /num_attention_heads: 12 heads are not a multiple of 5 num_key_value_heads");
}

}  // namespace
}  // namespace prequel
