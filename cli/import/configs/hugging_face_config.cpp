#include "cli/import/configs/json_configs.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/configs/mixer_fields.hpp"
#include "cli/import/job/job_fields.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMaxShape = 1LL << 24;
constexpr std::int64_t kDefaultPositions = 2048;  // of BloomConfig's training and FalconConfig

/// Reads fields under any of their names and remembers which keys were used.
class Fields {
 public:
  explicit Fields(Cursor root) : root_(std::move(root)) {}

  std::optional<Cursor> find(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (const auto found = root_.find(key)) {
        used_.insert(key);
        return found;
      }
    }
    return std::nullopt;
  }
  std::optional<std::int64_t> shape(std::initializer_list<const char*> keys) {
    const auto found = find(keys);
    return found ? std::optional(found->integer(1, kMaxShape)) : std::nullopt;
  }
  /// A size; where the config has none, that of the class, unless it has none either.
  std::int64_t needed(std::initializer_list<const char*> keys,
                      const std::optional<std::int64_t>& usual) {
    const auto found = shape(keys);
    if (found) return *found;
    return usual ? *usual : root_.at(*keys.begin()).integer(1, kMaxShape);
  }
  /// A count that may be 0, which says nothing; or a list of it by layers, all alike.
  std::optional<std::int64_t> count(std::initializer_list<const char*> keys) {
    const auto found = find(keys);
    if (!found) return std::nullopt;
    const auto value = found->is_array() ? count_of_all(*found) : found->integer(0, kMaxShape);
    return value > 0 ? std::optional(value) : std::nullopt;
  }
  /// The section of that name, whose keys count as asked for.
  std::optional<Cursor> section(const char* key) {
    auto found = find({key});
    if (!found || !found->is_object()) return std::nullopt;
    (void)found->members();
    return found;
  }
  /// A number that may be 0, which says nothing.
  std::optional<double> number(std::initializer_list<const char*> keys) {
    const auto found = find(keys);
    const double value = found ? found->number({0.0, 1e6}) : 0.0;
    return value > 0 ? std::optional(value) : std::nullopt;
  }
  std::optional<bool> flag(std::initializer_list<const char*> keys) {
    const auto found = find(keys);
    return found ? std::optional(found->boolean()) : std::nullopt;
  }
  /// The keys that nobody asked for; they count as asked from now on.
  [[nodiscard]] std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (const auto& [key, value] : root_.members()) {
      if (!used_.contains(key)) names.push_back(key);
    }
    return names;
  }
  [[nodiscard]] const Cursor& root() const { return root_; }
  /// Returns the keys read so far; further readers add theirs.
  [[nodiscard]] std::set<std::string>& used() { return used_; }

 private:
  static std::int64_t count_of_all(const Cursor& list) {
    std::int64_t all = 0;
    for (const Cursor& one : list.items()) {
      const std::int64_t value = one.integer(0, kMaxShape);
      if (all > 0 && value != all) one.problem("layers that differ in it are not modelled");
      all = value;
    }
    return all;
  }

  Cursor root_;
  std::set<std::string> used_;
};

/// A multi-modal config keeps its language model one level down.
Cursor language_model(const Cursor& root) {
  if (!root.find("hidden_size")) {
    for (const char* key : {"text_config", "language_config", "llm_config"}) {
      if (const auto text = root.find(key); text && text->is_object()) return *text;
    }
  }
  return root;
}

/// A family of models as its class has it where a config says nothing.
struct Family {
  std::string type;     ///< `model_type`
  ImportedModel usual;  ///< kinds of MLP, positions and norm, sizes, windows
  std::set<std::string, std::less<>> traits;

  [[nodiscard]] bool has(std::string_view trait) const {
    return traits.find(trait) != traits.end();
  }
};

/// Reads `swiglu rope rms_norm tied hidden_size=4096`: MLP, positions, norm, traits and sizes.
Family read_family(const std::string& type, const std::string& words) {
  constexpr const char* kKinds[] = {"model.mlp", "model.position", "model.norm"};
  Family family;
  family.type = type;
  ImportedJob job;
  std::istringstream in(words);
  std::size_t kinds = 0;
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      (void)assign("model." + word.substr(0, equals), word.substr(equals + 1), job);
    } else if (kinds < std::size(kKinds)) {
      (void)assign(kKinds[kinds++], word, job);
    } else {
      family.traits.insert(word);
    }
  }
  family.usual = job.model;
  return family;
}

Family family_of(const ForeignNames& names, const std::string& file, const std::string& type) {
  if (const std::string* what = find_name(names.refused_families, type)) {
    throw InputError(
        fmt::format("{}: /model_type: {}: {}; prequel models decoders of attention "
                    "and MLPs",
                    file, in_quotes(type), *what));
  }
  const std::string* same = find_name(names.same_families, type);
  const std::string& name = same == nullptr ? type : *same;
  if (const std::string* words = find_name(names.families, name)) return read_family(name, *words);
  std::vector<std::string> known;
  for (const auto& [family, words] : names.families) known.push_back(family);
  throw InputError(
      fmt::format("{}: /model_type: {} is no family that prequel knows{}; known: {}; a copy of "
                  "Llama is read with model_type \"llama\"",
                  file, in_quotes(type), did_you_mean(type, known), fmt::join(known, ", ")));
}

void read_mpt(Fields& fields, ImportedModel& model) {
  if (const auto ratio = fields.find({"expansion_ratio"})) {
    model.ffn_hidden = ratio->integer(1, 64) * *model.hidden;
  }
  if (const auto no_bias = fields.flag({"no_bias"})) model.linear_bias = !*no_bias;
  model.position = PositionEmbedding::learned;
  if (const auto attention = fields.section("attn_config")) {
    if (const auto with = attention->find("alibi"); with && with->boolean()) {
      model.position = PositionEmbedding::alibi;
    }
    if (const auto with = attention->find("rope"); with && with->boolean()) {
      model.position = PositionEmbedding::rope;
    }
    if (const auto heads = attention->find("kv_n_heads")) {
      model.kv_heads = heads->integer(1, kMaxShape);
    }
  }
}

void read_falcon(Fields& fields, ImportedModel& model) {
  const bool new_architecture = fields.flag({"new_decoder_architecture"}).value_or(false);
  const bool multi_query = fields.flag({"multi_query"}).value_or(true);
  if (!new_architecture) model.kv_heads = multi_query ? 1 : *model.heads;
  if (fields.flag({"alibi"}).value_or(false)) model.position = PositionEmbedding::alibi;
  if (const auto bias = fields.flag({"bias"})) model.linear_bias = *bias;
  if (!fields.flag({"parallel_attn"}).value_or(true)) model.parallel_block = false;
}

void read_chatglm(Fields& fields, ImportedModel& model) {
  if (fields.flag({"multi_query_attention"}).value_or(false)) {
    model.kv_heads = fields.shape({"multi_query_group_num"});
  }
  if (const auto bias = fields.flag({"add_qkv_bias"})) model.qkv_bias = *bias;
  if (const auto bias = fields.flag({"add_bias_linear"})) model.linear_bias = *bias;
}

void read_dbrx(Fields& fields, ImportedModel& model) {
  const auto at = [](const Cursor& section, const char* key, std::int64_t fallback) {
    const auto found = section.find(key);
    return found ? found->integer(1, kMaxShape) : fallback;
  };
  if (const auto attention = fields.section("attn_config")) {
    model.kv_heads = at(*attention, "kv_n_heads", 1);
  }
  if (const auto experts = fields.section("ffn_config")) {
    model.experts.count = at(*experts, "moe_num_experts", 4);
    model.experts.top_k = at(*experts, "moe_top_k", 1);
    model.experts.ffn_hidden = model.ffn_hidden = at(*experts, "ffn_hidden_size", 3584);
  }
}

/// Widths of experts and dense layers have their names the other way round than elsewhere.
void read_llama4(Fields& fields, ImportedModel& model) {
  model.experts.ffn_hidden = model.experts.shared_hidden = model.ffn_hidden;
  if (const auto dense = fields.shape({"intermediate_size_mlp"})) model.ffn_hidden = dense;
  model.experts.every = fields.count({"interleave_moe_layer_step"});
}

void read_exceptions(Fields& fields, std::string_view type, ImportedModel& model) {
  if (type == "mpt") read_mpt(fields, model);
  if (type == "falcon") read_falcon(fields, model);
  if (type == "chatglm") read_chatglm(fields, model);
  if (type == "dbrx") read_dbrx(fields, model);
  if (type == "llama4_text") read_llama4(fields, model);
  if (type == "gpt_bigcode" && fields.flag({"multi_query"}).value_or(true)) model.kv_heads = 1;
  if (type == "gpt_neox" && !fields.flag({"use_parallel_residual"}).value_or(true)) {
    model.parallel_block = false;
  }
  if (type == "stablelm") model.parallel_block = fields.flag({"use_parallel_residual"});
  // The 13B's width; the 7B has rotary positions.
  if (type == "baichuan" && *model.hidden > 4096) model.position = PositionEmbedding::alibi;
  // The first Qwen counts both halves of its gated MLP.
  if (type == "qwen" && model.ffn_hidden) model.ffn_hidden = *model.ffn_hidden / 2;
  if (type == "minicpm3" && !model.latent.value) model.latent.value = *model.hidden / *model.heads;
}

/// Reads a list of which layers have experts: 0 and 1, or true; all from one layer on. False where
/// there is none.
bool read_expert_layers(Fields& fields, ImportedExperts& experts) {
  for (const char* key : {"moe_layer_freq", "is_moe_layer"}) {
    const auto list = fields.root().find(key);
    if (!list || !list->is_array()) continue;
    (void)fields.find({key});
    std::int64_t dense = 0;
    bool has = false;
    for (const Cursor& one : list->items()) {
      const bool is = one.json().is_boolean() ? one.boolean() : one.integer(0, 1) == 1;
      if (has && !is) one.problem("layers without experts behind one with them are not modelled");
      has = has || is;
      if (!has) ++dense;
    }
    experts.first_dense = dense;
    return true;
  }
  return false;
}

/// Experts under the names that families give them.
void read_experts(Fields& fields, const Family& family, ImportedModel& model) {
  ImportedExperts& experts = model.experts;
  experts.count =
      fields.count({"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"});
  experts.top_k = fields.count(
      {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k"});
  experts.ffn_hidden = fields.count({"moe_intermediate_size", "expert_ffn_hidden_size"});
  experts.first_dense = fields.count({"first_k_dense_replace", "moe_layer_start_index"});
  if (!read_expert_layers(fields, experts)) {
    experts.every = fields.count({"moe_layer_freq", "decoder_sparse_step", "moe_layer_interval"});
  }
  experts.groups = fields.count({"n_group"});
  experts.groups_chosen = fields.count({"topk_group"});
  experts.shared_hidden = fields.count({"shared_expert_intermediate_size", "share_expert_dim"});
  if (const auto shared = fields.count({"n_shared_experts", "num_shared_experts",
                                        "num_shared_expert", "moe_num_shared_experts"})) {
    if (experts.ffn_hidden) experts.shared_hidden = *shared * *experts.ffn_hidden;
  }
  if (experts.count && family.has("shared_gate")) experts.shared_gate = true;
}

void read_latent(Fields& fields, ImportedModel& model) {
  ImportedLatent& latent = model.latent;
  latent.kv_rank = fields.count({"kv_lora_rank"});
  if (!latent.kv_rank) return;
  latent.q_rank = fields.count({"q_lora_rank"});
  latent.nope = fields.count({"qk_nope_head_dim"});
  latent.rope = fields.count({"qk_rope_head_dim"});
  latent.value = fields.count({"v_head_dim"});
  model.kv_heads.reset();
  model.head_dim.reset();
}

/// Sliding windows, or chunks: which layers have them, the config says, or how often one has none,
/// or the family does.
void read_spans(Fields& fields, const Family& family, ImportedModel& model, ImportReport& report) {
  const auto window = fields.count({"sliding_window", "window_size"});
  const bool used = fields.flag({"use_sliding_window"}).value_or(family.type != "qwen2");
  model.window = window ? window : family.usual.window;
  model.chunk = fields.count({"attention_chunk_size"});
  model.full_every =
      fields.count({"sliding_window_pattern", "_sliding_window_pattern", "no_rope_layer_interval"});
  if (!model.full_every) model.full_every = family.usual.full_every;
  // Families of several mixers read their lists with what these need.
  const auto types = family.has("mixers") ? std::nullopt : fields.find({"layer_types"});
  if (types && types->is_array()) {
    const auto layers = types->items();
    for (const Cursor& layer : layers) {
      const std::string kind = layer.is_text() ? layer.text() : "";
      if (kind.empty() || kind == "full_attention" || kind == "sliding_attention" ||
          kind == "chunked_attention") {
        continue;
      }
      layer.problem(
          fmt::format("layers of {} are not priced; full_attention, sliding_attention "
                      "and chunked_attention are",
                      in_quotes(kind)));
      break;
    }
    const auto full = std::ranges::count_if(layers, [](const Cursor& layer) {
      return layer.is_text() && layer.text() == "full_attention";
    });
    const auto all = static_cast<std::int64_t>(layers.size());
    if (full == all) model.window = model.chunk = std::nullopt;
    model.full_every = full > 0 && full < all ? std::optional(all / full) : std::nullopt;
    if (model.full_every && all / *model.full_every != full) {
      report.assumed.push_back(
          fmt::format("full attention in {} of {} layers, though layer_types have it in {}: "
                      "prequel spaces it evenly",
                      all / *model.full_every, all, full));
    }
  }
  const auto unless_all = [&](std::optional<std::int64_t>& tokens) {
    if (!used || (tokens && *tokens >= *model.max_positions)) tokens.reset();
  };
  unless_all(model.window);
  unless_all(model.chunk);
  if (!model.window && !model.chunk) model.full_every.reset();
}

/// Returns the parameters of a vision tower as Qwen has it since Qwen3-VL: patches, positions,
/// blocks of plain attention and an MLP with biases, and two products over merged patches. Nothing
/// where sizes are missing.
std::optional<std::int64_t> tower_parameters(const Cursor& vision) {
  std::array<std::int64_t, 8> sizes{};
  constexpr const char* kKeys[] = {
      "depth",      "hidden_size",         "intermediate_size",  "out_hidden_size",
      "patch_size", "temporal_patch_size", "spatial_merge_size", "num_position_embeddings"};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto found = vision.find(kKeys[i]);
    if (!found || !found->json().is_number_integer()) return std::nullopt;
    sizes[i] = found->integer(1, 1LL << 16);
  }
  const auto [depth, hidden, inner, out, patch, frames, merge, positions] = sizes;
  const std::int64_t block = 4 * hidden * (hidden + 1) + 2 * hidden * inner + inner + 5 * hidden;
  const std::int64_t merged = hidden * merge * merge;
  const std::int64_t merger = 2 * hidden + (merged + 1) * (merged + out);
  constexpr std::int64_t kColours = 3;
  return (kColours * frames * patch * patch + 1 + positions) * hidden + depth * block + merger;
}

/// Reports parts of the config that are not priced. A vision tower is counted where its sizes are
/// known.
void leave_out(const Cursor& root, ImportedModel& model, ImportReport& report) {
  const auto vision = root.find("vision_config");
  if (!vision) return;
  const std::int64_t tower = vision->is_object() ? tower_parameters(*vision).value_or(0) : 0;
  if (vision->is_object()) (void)vision->members();  // the others say nothing here
  if (tower > 0) model.mixers["other_parameters"] = std::to_string(tower);
  report.left_out.push_back(
      tower > 0
          ? fmt::format("vision_config: of the tower its {} parameters count alone, no work", tower)
          : "vision_config: the language model alone is predicted");
}

ImportedModel read_model(Fields& fields, const Family& family, const ForeignNames& names,
                         ImportReport& report) {
  const ImportedModel& usual = family.usual;
  ImportedModel model;
  // Families told by letters may leave it out.
  const auto letters = fields.find({"hybrid_override_pattern"});
  if (letters && letters->is_text() && !fields.root().find("num_hidden_layers")) {
    model.layers = static_cast<std::int64_t>(letters->text().size());
  }
  if (!model.layers)
    model.layers =
        fields.needed({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, usual.layers);
  model.hidden = fields.needed({"hidden_size", "n_embd", "n_embed", "d_model"}, usual.hidden);
  if (family.type != "mamba2")
    model.heads =
        fields.needed({"num_attention_heads", "n_head", "n_heads", "num_heads"}, usual.heads);
  model.kv_heads = fields.shape({"num_key_value_heads", "num_kv_heads", "num_attention_groups"});
  model.head_dim = fields.shape({"head_dim", "kv_channels"});
  model.ffn_hidden = fields.shape({"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"});
  if (!model.kv_heads) model.kv_heads = usual.kv_heads;
  if (!model.head_dim) model.head_dim = usual.head_dim;
  if (!model.ffn_hidden) model.ffn_hidden = usual.ffn_hidden;
  model.vocab = fields.needed({"vocab_size", "padded_vocab_size"}, usual.vocab);
  model.max_positions = fields.shape({"max_position_embeddings", "n_positions", "max_seq_len",
                                      "seq_length", "model_max_length", "max_sequence_length"});
  if (!model.max_positions) model.max_positions = usual.max_positions;
  if (!model.max_positions) {
    model.max_positions = kDefaultPositions;
    report.assumed.push_back(
        fmt::format("max_position_embeddings {}: the config does not say it", kDefaultPositions));
  }
  model.mlp = usual.mlp;
  model.position = usual.position;
  model.norm = usual.norm;
  model.embedding_norm = family.has("embedding_norm");
  model.linear_bias =
      fields.flag({"mlp_bias", "use_bias", "bias", "enable_bias"}).value_or(family.has("biases"));
  const bool qkv = family.has("qkv_bias") || (*model.linear_bias && !family.has("no_qkv_bias"));
  model.qkv_bias = fields.flag({"attention_bias", "use_qkv_bias", "qkv_bias"}).value_or(qkv);
  if (model.qkv_bias == model.linear_bias) model.qkv_bias.reset();
  if (fields.flag({"use_qk_norm", "qk_layernorm"}).value_or(family.has("qk_norm"))) {
    model.qk_norm = true;
  }
  if (family.has("post_norms")) model.post_norms = true;
  if (family.has("sinks")) model.attention_sinks = true;
  model.score_cap = fields.number({"attn_logit_softcapping"});
  model.logit_cap = fields.number({"final_logit_softcapping"});
  if (family.has("parallel")) model.parallel_block = true;
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}).value_or(family.has("tied"));
  model.next_token_layers =
      fields.count({"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"});
  read_experts(fields, family, model);
  read_latent(fields, model);
  read_spans(fields, family, model, report);
  read_exceptions(fields, family.type, model);
  read_mixer_fields(fields.root().json(), family.type, names.mixer_keys, model, report,
                    fields.used());
  return model;
}

}  // namespace

bool is_hugging_face_config(const Document& document) {
  const nlohmann::json& json = document.json();
  if (!json.is_object() || json.contains("schema")) return false;
  const auto has = [&](const char* key) { return json.contains(key); };
  if (has("model_type") || has("text_config") || has("architectures")) return true;
  // Without a family, what says how it is trained is another program's.
  constexpr std::string_view kParts[] = {"batch", "_steps", "seq_len", "layers_num"};
  for (const auto& one : json.items()) {
    const std::string& key = one.key();
    const bool trains =
        std::any_of(std::begin(kParts), std::end(kParts),
                    [&](std::string_view part) { return key.find(part) != std::string::npos; });
    if (trains || key == "lr" || key == "seq") return false;
  }
  return has("n_embd") || has("d_model") || has("hidden_size");
}

void read_hugging_face_config(const Document& document, ImportedJob& job) {
  const std::string& file = document.file();
  Fields fields(language_model(document.root()));
  const auto type_field = fields.find({"model_type"});
  if (!type_field) {
    throw InputError(file + ": /model_type: missing; it names the family (\"llama\", \"gpt2\")");
  }
  const std::string type = type_field->text();
  const Family family = family_of(*job.names, file, type);
  ImportedModel model = read_model(fields, family, *job.names, job.report);
  const auto path = fields.find({"_name_or_path"});
  model.name = path && path->is_text() && !path->text().empty() ? path->text() : type;
  leave_out(document.root(), model, job.report);
  if (const auto width = fields.shape({"word_embed_proj_dim"}); width && width != model.hidden) {
    throw InputError(
        fmt::format("{}: /word_embed_proj_dim: {}, but hidden_size is {}; prequel prices no such "
                    "projection, and predicts without the key",
                    file, *width, *model.hidden));
  }
  const auto ignored = fields.unused();
  for (const std::string& key : ignored) {
    const auto value = fields.root().find(key);
    if (!value) continue;  // null
    const std::string text = value->is_text() ? value->text() : value->json().dump();
    if (const UnpricedRow* row = asked_for(job.names->unpriced, key, text, NameSource::config)) {
      throw InputError(fmt::format("{}: /{}: {}", file, key, unpriced_text(*row)));
    }
  }
  job.report.ignored.insert(job.report.ignored.end(), ignored.begin(), ignored.end());
  (void)document.root().members();
  document.finish();
  job.report.read.push_back(fmt::format("{}: Hugging Face config of the family {}", file, type));
  job.report.assumed.push_back(
      fmt::format("MLP, positions, norm and biases as the family {} has them", type));
  job.model = model;
}

}  // namespace prequel
