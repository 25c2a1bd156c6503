#include "models/shape/transformer.hpp"

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMaxShape = 1LL << 24;  // wider than any transformer; keeps products exact

std::int64_t norm_parameters(const Transformer& model) {
  return model.norm == Norm::layer_norm ? 2 * model.hidden : model.hidden;
}

/// A linear layer with `outputs` rows over `inputs`, and its bias where the model has biases.
std::int64_t linear_parameters(const Transformer& model, std::int64_t outputs,
                               std::int64_t inputs) {
  return outputs * inputs + (model.linear_bias ? outputs : 0);
}

}  // namespace

std::int64_t layer_parameters(const Transformer& model) {
  return linear_parameters(model, model.qkv_width(), model.hidden) +
         linear_parameters(model, model.hidden, model.attention_width()) +
         linear_parameters(model, model.mlp_in_width(), model.hidden) +
         linear_parameters(model, model.hidden, model.ffn_hidden) + 2 * norm_parameters(model);
}

std::int64_t embedding_parameters(const Transformer& model, std::int64_t vocab) {
  return vocab * model.hidden;
}

std::int64_t position_parameters(const Transformer& model, std::int64_t positions) {
  const std::int64_t learned =
      model.position == PositionEmbedding::learned ? positions * model.hidden : 0;
  return learned + (model.embedding_norm ? norm_parameters(model) : 0);
}

std::int64_t final_norm_parameters(const Transformer& model) {
  return norm_parameters(model);
}

std::int64_t total_parameters(const Transformer& model) {
  const std::int64_t tables = model.tied_embeddings ? 1 : 2;
  return model.layers * layer_parameters(model) +
         tables * embedding_parameters(model, model.vocab) +
         position_parameters(model, model.max_positions) + final_norm_parameters(model);
}

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tp, std::int64_t multiple) {
  const std::int64_t unit = tp * multiple;
  return (vocab + unit - 1) / unit * unit;
}

Transformer read_transformer(const Document& file) {
  const Cursor root = file.root();
  Transformer model;
  expect_schema(root, "prequel/model/1");
  model.name = root.at("name").text();
  const auto shape = [&](std::string_view key) { return root.at(key).integer(1, kMaxShape); };
  const auto shape_or = [&](std::string_view key, std::int64_t fallback) {
    const auto found = root.find(key);
    return found ? found->integer(1, kMaxShape) : fallback;
  };
  const auto flag_or = [&](std::string_view key, bool fallback) {
    const auto found = root.find(key);
    return found ? found->boolean() : fallback;
  };
  model.layers = root.at("num_hidden_layers").integer(1, 100'000);
  model.hidden = shape("hidden_size");
  model.heads = shape("num_attention_heads");
  model.kv_heads = shape_or("num_key_value_heads", model.heads);
  model.head_dim = shape_or("head_dim", model.heads > 0 ? model.hidden / model.heads : 0);
  const bool width_read = model.hidden > 1;  // else a problem was noted already
  if (width_read && !root.find("head_dim") && model.hidden % model.heads != 0) {
    root.at("num_attention_heads")
        .problem("hidden_size " + std::to_string(model.hidden) + " is not a multiple of " +
                 std::to_string(model.heads) + " heads, and head_dim is not given");
  }
  if (model.kv_heads > 0 && model.heads % model.kv_heads != 0) {
    root.at("num_attention_heads")
        .problem(std::to_string(model.heads) + " heads are not a multiple of " +
                 std::to_string(model.kv_heads) + " num_key_value_heads");
  }
  if (const auto mlp = root.find("mlp")) {
    model.mlp = mlp->choice({"gelu", "swiglu"}) == 1 ? Mlp::swiglu : Mlp::gelu;
  }
  model.ffn_hidden = shape_or("intermediate_size", 4 * model.hidden);
  model.vocab = shape("vocab_size");
  model.max_positions = shape("max_position_embeddings");
  if (const auto position = root.find("position")) {
    model.position = PositionEmbedding(position->choice({"learned", "alibi", "rope", "none"}));
  }
  if (const auto norm = root.find("norm")) {
    model.norm = Norm(norm->choice({"layer_norm", "rms_norm"}));
  }
  model.linear_bias = flag_or("bias", true);
  model.tied_embeddings = flag_or("tie_word_embeddings", true);
  model.embedding_norm = flag_or("embedding_norm", false);
  file.finish();
  return model;
}

}  // namespace prequel
