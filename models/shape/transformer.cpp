#include "models/shape/transformer.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/shape/layer_pattern.hpp"

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
  /// Tests whether there is a soft-cap, which is a positive number.
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
  experts.latent = fields.shape_or("moe_latent_size", 0, 0);
  experts.latent_norm = fields.flag_or("moe_latent_norm", false);
  experts.router_bias = fields.flag_or("moe_router_bias", false);
  experts.hash_layers = fields.shape_or("num_hash_layers", 0, 0);
  experts.zero = fields.shape_or("num_zero_experts", 0, 0);
  experts.shortcut = fields.flag_or("moe_shortcut", false);
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

/// Words of Hugging Face's `layer_types`, and of other mixers that models with such lists have.
struct LayerType {
  std::string_view word;
  LayerKind kind;
};
constexpr LayerType kLayerTypes[] = {
    {"full_attention", {Feed::mlp, Mixer::attention, AttentionSpan::full}},
    {"attention", {Feed::mlp, Mixer::attention, AttentionSpan::full}},
    {"sliding_attention", {Feed::mlp, Mixer::attention, AttentionSpan::window}},
    {"chunked_attention", {Feed::mlp, Mixer::attention, AttentionSpan::chunk}},
    {"linear_attention", {Feed::mlp, Mixer::delta_net}},
    {"kimi_delta_attention", {Feed::mlp, Mixer::kimi_delta}},
    {"lightning_attention", {Feed::mlp, Mixer::lightning}},
    {"mamba", {Feed::mlp, Mixer::state_space}},
    {"attention_and_mamba", {Feed::mlp, Mixer::attention_and_state_space}},
    {"sparse_attention", {Feed::mlp, Mixer::sparse}},
    {"sparse_attention_shared", {Feed::mlp, Mixer::sparse_shared}},
    {"window_attention", {Feed::mlp, Mixer::window_alone}},
    {"compressed_attention", {Feed::mlp, Mixer::compressed}},
    {"far_compressed_attention", {Feed::mlp, Mixer::compressed_far}},
    {"block_sparse_attention", {Feed::mlp, Mixer::block_sparse}},
    {"conv", {Feed::mlp, Mixer::short_conv}},
    {"no_mixer", {Feed::mlp, Mixer::none}},
};

std::vector<LayerKind> read_layer_types(const Cursor& list) {
  std::vector<std::string_view> words;
  for (const LayerType& type : kLayerTypes) words.push_back(type.word);
  std::vector<LayerKind> kinds;
  for (const Cursor& entry : list.items()) {
    kinds.push_back(kLayerTypes[entry.choice(std::span<const std::string_view>(words))].kind);
  }
  return kinds;
}

/// Reads the inner width of each layer's MLP, where layers differ in it; 0 of one without.
void read_inner_widths(const Cursor& list, Transformer& model) {
  const std::vector<Cursor> widths = list.items();
  if (model.mixers.empty() || widths.size() != model.mixers.size()) {
    list.problem(std::to_string(widths.size()) + " widths; as many as layer_types would do, " +
                 std::to_string(model.mixers.size()));
    return;
  }
  for (std::size_t layer = 0; layer < widths.size(); ++layer) {
    const std::int64_t width = widths[layer].integer(0, kMaxShape);
    LayerKind& kind = model.mixers[layer];
    kind.feed = width > 0 ? Feed::mlp : Feed::none;
    kind.inner = static_cast<std::int32_t>(width);
  }
}

/// Mixers of the layers, whose list repeats, and of a depth of multi-token prediction.
void read_mixers(const Cursor& root, const Fields& fields, Transformer& model) {
  if (const auto types = root.find("layer_types")) {
    model.mixers = read_layer_types(*types);
    const std::int64_t listed = std::ssize(model.mixers);
    if (!model.pattern.empty()) {
      types->problem("layers_pattern says what layers are; one of the two would do");
    } else if (listed == 0 || model.layers % std::max<std::int64_t>(1, listed) != 0) {
      types->problem(std::to_string(listed) + " types, which repeat, do not divide " +
                     std::to_string(model.layers) + " num_hidden_layers");
    }
  }
  if (const auto widths = root.find("intermediate_sizes")) {
    read_inner_widths(*widths, model);
  }
  StateSpace& state = model.state_space;
  state.heads = fields.shape_or("mamba_num_heads", 0, 0);
  if (state.heads > 0) {
    state.head_dim = fields.shape("mamba_head_dim");
    state.state = fields.shape("mamba_d_state");
    state.groups = fields.shape_or("mamba_n_groups", 1);
    state.conv = fields.shape_or("mamba_d_conv", 4);
    state.chunk = fields.shape_or("mamba_chunk_size", 128);
    state.dt_rank = fields.shape_or("mamba_dt_rank", 0, 0);
    state.gated_norm = fields.flag_or("mamba_gated_norm", true);
  }
  LinearAttention& linear = model.linear_attention;
  linear.key_heads = fields.shape_or("linear_num_key_heads", 0, 0);
  if (linear.key_heads > 0) {
    linear.value_heads = fields.shape_or("linear_num_value_heads", linear.key_heads);
    linear.key_dim = fields.shape("linear_key_head_dim");
    linear.value_dim = fields.shape_or("linear_value_head_dim", linear.key_dim);
    linear.conv = fields.shape_or("linear_conv_kernel_dim", 4, 0);
    linear.full_rank_gate = fields.flag_or("linear_full_rank_gate", false);
  }
  Indexer& indexer = model.indexer;
  indexer.heads = fields.shape_or("index_n_heads", 0, 0);
  if (indexer.heads > 0) {
    indexer.head_dim = fields.shape("index_head_dim");
    indexer.top_k = fields.shape("index_topk");
    indexer.block = fields.shape_or("index_block_size", 1);
  }
  CompressedAttention& compression = model.compression;
  compression.window = fields.shape_or("compression_window", 0, 0);
  if (compression.window > 0) {
    compression.out_groups = fields.shape("o_groups");
    compression.out_rank = fields.shape("o_lora_rank");
    model.latent.q_rank = fields.shape("q_lora_rank");
  }
  model.windowed.heads = fields.shape_or("swa_num_attention_heads", 0, 0);
  model.windowed.kv_heads = fields.shape_or("swa_num_key_value_heads", 0, 0);
  model.windowed.head_dim = fields.shape_or("swa_head_dim", 0, 0);
  model.short_conv = fields.shape_or("short_conv_kernel_dim", 0, 0);
  if (!model.is_latent()) model.value_head = fields.shape_or("v_head_dim", 0, 0);
  model.output_gate = fields.flag_or("attn_output_gate", false);
  model.keys_are_values = fields.flag_or("attention_k_eq_v", false);
  model.streams = fields.shape_or("hc_mult", 1);
  model.block_residuals = fields.shape_or("block_residuals", 0, 0);
  model.repeats_next_token = fields.flag_or("mtp_use_repeated_layer", false);
  if (const auto other = root.find("other_parameters")) {
    model.other_parameters = other->integer(0, 1LL << 40);
  }
}

/// Returns what a kind of layer needs that the file does not give.
std::string missing(const Transformer& model, LayerKind kind) {
  switch (kind.mixer) {
    case Mixer::state_space:
    case Mixer::attention_and_state_space:
      return model.state_space.heads > 0 ? "" : "mamba_num_heads";
    case Mixer::delta_net:
    case Mixer::kimi_delta:
    case Mixer::lightning:
      return model.linear_attention.key_heads > 0 ? "" : "linear_num_key_heads";
    case Mixer::sparse:
    case Mixer::sparse_shared:
      return model.indexer.heads == 0 ? "index_n_heads" : model.is_latent() ? "" : "kv_lora_rank";
    case Mixer::block_sparse: return model.indexer.heads > 0 ? "" : "index_n_heads";
    case Mixer::short_conv: return model.short_conv > 0 ? "" : "short_conv_kernel_dim";
    case Mixer::compressed:
      if (model.indexer.heads == 0) return "index_n_heads";
      [[fallthrough]];
    case Mixer::window_alone:
    case Mixer::compressed_far: return model.compression.window > 0 ? "" : "compression_window";
    case Mixer::none:
    case Mixer::attention: break;
  }
  if (kind.span == AttentionSpan::window) return model.window > 0 ? "" : "sliding_window";
  if (kind.span == AttentionSpan::chunk) return model.chunk > 0 ? "" : "attention_chunk_size";
  return "";
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

/// Layers by letters; their number is that of the letters.
void read_pattern(const Cursor& root, Transformer& model) {
  const auto pattern = root.find("layers_pattern");
  const auto layers = root.find("num_hidden_layers");
  if (!pattern) {
    model.layers = root.at("num_hidden_layers").integer(1, 100'000);
    return;
  }
  const auto parsed = parse_layer_pattern(pattern->text());
  if (const auto* problem = std::get_if<std::string>(&parsed)) return pattern->problem(*problem);
  const auto& said = std::get<LayerPattern>(parsed);
  model.pattern = said.layers;
  model.next_token_pattern = said.next_token;
  model.next_token_layers = said.depths;
  model.layers = std::ssize(said.layers);
  if (said.chunks.size() > 1) {
    pattern->problem("bars (|) deal layers to pipeline chunks, which is the plan's layout");
  }
  if (layers && layers->integer(1, 100'000) != model.layers) {
    layers->problem("the pattern has " + std::to_string(model.layers) + " letters of layers");
  }
}

/// Kinds that some layer has, beside what they need.
void check_kinds(const Cursor& root, const Transformer& model) {
  const std::vector<LayerKind> kinds = distinct_kinds(model);
  if (std::ssize(kinds) > kMostKinds) {
    root.problem(std::to_string(kinds.size()) + " kinds of layers in one model; at most " +
                 std::to_string(kMostKinds) + " would do");
  }
  for (const LayerKind& kind : kinds) {
    const std::string key = missing(model, kind);
    if (!key.empty() && !root.find(key)) root.at(key).problem("layers of the model need it");
  }
  const bool experts = std::ranges::any_of(kinds, &LayerKind::has_experts);
  if (model.pattern.empty() || experts == model.has_experts()) return;
  root.at("layers_pattern")
      .problem(experts ? "layers of experts (E) need num_experts"
                       : "num_experts without a layer of experts (E)");
}

/// The layer by the model alone, whatever of it learns.
LayerKind kind_by_shape(const Transformer& model, std::int64_t layer) {
  if (!model.pattern.empty())
    return model.pattern[static_cast<std::size_t>(layer) % model.pattern.size()];
  const std::int64_t behind = layer - model.experts.first_dense;
  const bool sees_all = model.full_every > 0 && (layer + 1) % model.full_every == 0;
  const bool has = model.has_experts() && behind >= 0 && (behind + 1) % model.experts.every == 0;
  const Feed experts = layer < model.experts.hash_layers ? Feed::hashed_experts : Feed::experts;
  if (!model.mixers.empty()) {
    LayerKind kind = model.mixers[static_cast<std::size_t>(layer) % model.mixers.size()];
    if (has) kind.feed = experts;
    return kind;
  }
  return {has ? experts : Feed::mlp, Mixer::attention,
          sees_all ? AttentionSpan::full : model.usual_span()};
}

}  // namespace

LayerKind Transformer::kind_of(std::int64_t layer) const {
  LayerKind kind = kind_by_shape(*this, layer);
  kind.frozen = layer < frozen_layers();
  return kind;
}

std::vector<LayerKind> distinct_kinds(const Transformer& model) {
  if (model.is_uniform()) return {model.kind_of(model.layers - 1)};
  std::vector<LayerKind> kinds;
  const auto add = [&](LayerKind kind) {
    const auto place = std::ranges::lower_bound(kinds, kind);
    if (place == kinds.end() || *place != kind) kinds.insert(place, kind);
  };
  std::optional<LayerKind> last;  // most layers are as the one before
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind kind = model.kind_of(layer);
    if (kind != last) add(kind);
    last = kind;
  }
  for (const LayerKind& kind : model.next_token_pattern) add(kind);
  return kinds;
}

std::vector<LayerKind> Transformer::next_token_kinds() const {
  return next_token_pattern.empty() ? std::vector{kind_of(layers - 1)} : next_token_pattern;
}

bool Transformer::is_uniform() const {
  if (!pattern.empty() || !mixers.empty() || !next_token_pattern.empty()) return false;
  if (frozen_layers() > 0) return false;
  const bool same_mlp = !has_experts() || (experts.first_dense == 0 && experts.every == 1 &&
                                           experts.hash_layers == 0);
  return same_mlp && (usual_span() == AttentionSpan::full || full_every == 0);
}

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tp, std::int64_t multiple) {
  const std::int64_t unit = tp * multiple;
  return (vocab + unit - 1) / unit * unit;
}

std::int64_t head_outputs(const Transformer& model, std::int64_t tp, std::int64_t multiple) {
  return model.scores ? 1 : padded_vocab(model.vocab, tp, multiple) / tp;
}

Transformer read_transformer(const Document& file) {
  const Cursor root = file.root();
  const Fields fields(root);
  Transformer model;
  expect_schema(root, "prequel/model/1");
  model.name = root.at("name").text();
  read_pattern(root, model);
  model.hidden = fields.shape("hidden_size");
  // Models without attention have no such heads; those of the state do for what asks.
  const auto states = root.find("mamba_num_heads");
  model.heads = states && !root.find("num_attention_heads") ? states->integer(1, kMaxShape)
                                                            : fields.shape("num_attention_heads");
  model.kv_heads = fields.shape_or("num_key_value_heads", model.heads);
  read_latent(fields, model);
  const std::int64_t usual_size = model.heads > 0 ? model.hidden / model.heads : 0;
  model.head_dim = fields.shape_or("head_dim", model.is_latent() ? model.key_dim() : usual_size);
  const bool width_read = model.hidden > 1;  // else a problem was noted already
  const bool size_said =
      root.find("head_dim") || model.is_latent() || !root.find("num_attention_heads");
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
  if (const auto mlp = root.find("mlp")) model.mlp = mlp->word<Mlp>();
  model.ffn_hidden = fields.shape_or("intermediate_size", 4 * model.hidden);
  model.vocab = fields.shape("vocab_size");
  model.max_positions = fields.shape("max_position_embeddings");
  if (const auto position = root.find("position")) {
    model.position = position->word<PositionEmbedding>();
  }
  if (const auto norm = root.find("norm")) model.norm = norm->word<Norm>();
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
  read_mixers(root, fields, model);
  model.next_token_layers = fields.shape_or("num_nextn_predict_layers", model.next_token_layers, 0);
  if (const auto types = root.find("mtp_layer_types")) {
    model.next_token_pattern = read_layer_types(*types);
  }
  read_experts(root, fields, model);
  if (root.find("mtp_layer_types") && model.has_experts()) {
    for (LayerKind& kind : model.next_token_pattern) kind.feed = Feed::experts;
  }
  check_kinds(root, model);
  file.finish();
  return model;
}

}  // namespace prequel
