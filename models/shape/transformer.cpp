#include "models/shape/transformer.hpp"

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMaxShape = 1LL << 24;  // wider than any transformer; keeps products exact

/// Reads fields by name, with fallbacks.
class Fields {
 public:
  explicit Fields(const Cursor& root) : root_(root) {}

  [[nodiscard]] std::int64_t shape(std::string_view key) const {
    return root_.at(key).integer(1, kMaxShape);
  }
  [[nodiscard]] std::int64_t shape_or(std::string_view key, std::int64_t fallback,
                                      std::int64_t least = 1) const {
    const auto found = root_.find(key);
    return found ? found->integer(least, kMaxShape) : fallback;
  }
  [[nodiscard]] bool flag_or(std::string_view key, bool fallback) const {
    const auto found = root_.find(key);
    return found ? found->boolean() : fallback;
  }
  /// Whether there is a soft-cap, which is a positive number.
  [[nodiscard]] bool cap(std::string_view key) const {
    const auto found = root_.find(key);
    return found && found->number({0.0, 1e6}) > 0;
  }

 private:
  const Cursor& root_;
};

void read_experts(const Cursor& root, const Fields& fields, Transformer& model) {
  Experts& experts = model.experts;
  experts.count = fields.shape_or("num_experts", 0, 0);
  if (experts.count == 0) return;
  experts.top_k = fields.shape("num_experts_per_tok");
  experts.ffn_hidden = fields.shape_or("moe_intermediate_size", model.ffn_hidden);
  experts.shared_hidden = fields.shape_or("shared_expert_intermediate_size", 0, 0);
  experts.shared_gate = fields.flag_or("shared_expert_gate", false);
  experts.first_dense = fields.shape_or("first_k_dense_replace", 0, 0);
  experts.every = fields.shape_or("moe_layer_freq", 1);
  experts.groups = fields.shape_or("n_group", 1);
  experts.groups_chosen = fields.shape_or("topk_group", experts.groups);
  const auto at_most = [&](std::string_view key, std::int64_t value, std::int64_t most) {
    if (value <= most) return;
    root.at(key).problem(std::to_string(value) + " are more than there are, " +
                         std::to_string(most));
  };
  at_most("num_experts_per_tok", experts.top_k, experts.count);
  at_most("n_group", experts.groups, experts.count);
  if (experts.groups > 1) at_most("topk_group", experts.groups_chosen, experts.groups);
  if (experts.groups > 0 && experts.count % experts.groups != 0) {
    root.at("n_group").problem(std::to_string(experts.count) + " experts are not a multiple of it");
  }
}

void read_latent(const Fields& fields, Transformer& model) {
  LatentAttention& latent = model.latent;
  latent.kv_rank = fields.shape_or("kv_lora_rank", 0, 0);
  if (latent.kv_rank == 0) return;
  latent.q_rank = fields.shape_or("q_lora_rank", 0, 0);
  latent.nope = fields.shape("qk_nope_head_dim");
  latent.rope = fields.shape("qk_rope_head_dim");
  latent.value = fields.shape("v_head_dim");
}

void read_spans(const Cursor& root, const Fields& fields, Transformer& model) {
  model.window = fields.shape_or("sliding_window", 0, 0);
  model.chunk = fields.shape_or("attention_chunk_size", 0, 0);
  model.full_every = fields.shape_or("full_attention_every", 0, 0);
  if (model.window > 0 && model.chunk > 0) {
    root.at("attention_chunk_size")
        .problem("layers are of sliding_window already; one of the two would do");
  }
  if (model.full_every > 0 && model.usual_span() == AttentionSpan::full) {
    root.at("full_attention_every")
        .problem("no effect without sliding_window or attention_chunk_size");
  }
}

}  // namespace

LayerKind Transformer::kind_of(std::int64_t layer) const {
  const std::int64_t behind = layer - experts.first_dense;
  const bool sees_all = full_every > 0 && (layer + 1) % full_every == 0;
  return {has_experts() && behind >= 0 && (behind + 1) % experts.every == 0,
          sees_all ? AttentionSpan::full : usual_span()};
}

bool Transformer::is_uniform() const {
  const bool same_mlp = !has_experts() || (experts.first_dense == 0 && experts.every == 1);
  return same_mlp && (usual_span() == AttentionSpan::full || full_every == 0);
}

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tp, std::int64_t multiple) {
  const std::int64_t unit = tp * multiple;
  return (vocab + unit - 1) / unit * unit;
}

Transformer read_transformer(const Document& file) {
  const Cursor root = file.root();
  const Fields fields(root);
  Transformer model;
  expect_schema(root, "prequel/model/1");
  model.name = root.at("name").text();
  model.layers = root.at("num_hidden_layers").integer(1, 100'000);
  model.hidden = fields.shape("hidden_size");
  model.heads = fields.shape("num_attention_heads");
  model.kv_heads = fields.shape_or("num_key_value_heads", model.heads);
  read_latent(fields, model);
  const std::int64_t usual_size = model.heads > 0 ? model.hidden / model.heads : 0;
  model.head_dim = fields.shape_or("head_dim", model.is_latent() ? model.key_dim() : usual_size);
  const bool width_read = model.hidden > 1;  // else a problem was noted already
  const bool size_said = root.find("head_dim") || model.is_latent();
  if (width_read && !size_said && model.hidden % model.heads != 0) {
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
    model.mlp = Mlp(mlp->choice({"gelu", "swiglu", "geglu", "relu", "squared-relu"}));
  }
  model.ffn_hidden = fields.shape_or("intermediate_size", 4 * model.hidden);
  model.vocab = fields.shape("vocab_size");
  model.max_positions = fields.shape("max_position_embeddings");
  if (const auto position = root.find("position")) {
    model.position = PositionEmbedding(position->choice({"learned", "alibi", "rope", "none"}));
  }
  if (const auto norm = root.find("norm")) {
    model.norm = Norm(norm->choice({"layer_norm", "rms_norm"}));
  }
  model.linear_bias = fields.flag_or("bias", true);
  model.qkv_bias = fields.flag_or("qkv_bias", model.linear_bias);
  model.qk_norm = fields.flag_or("qk_norm", false);
  model.post_norms = fields.flag_or("post_norms", false);
  model.attention_sinks = fields.flag_or("attention_sinks", false);
  model.score_cap = fields.cap("attn_logit_softcapping");
  model.logit_cap = fields.cap("final_logit_softcapping");
  model.parallel_block = fields.flag_or("parallel_block", false);
  // Models of before Llama were trained with dropout; later ones were not.
  model.dropout = fields.flag_or("dropout", model.linear_bias && !is_gated(model.mlp));
  model.score_dropout = fields.flag_or("attention_dropout", model.dropout);
  model.tied_embeddings = fields.flag_or("tie_word_embeddings", true);
  model.embedding_norm = fields.flag_or("embedding_norm", false);
  read_spans(root, fields, model);
  model.next_token_layers = fields.shape_or("num_nextn_predict_layers", 0, 0);
  read_experts(root, fields, model);
  file.finish();
  return model;
}

}  // namespace prequel
