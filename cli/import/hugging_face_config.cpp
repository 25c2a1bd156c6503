#include "cli/import/hugging_face_config.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// What a family is when its config does not say it: the defaults of its class in Transformers.
struct Family {
  const char* type;
  Mlp mlp;
  PositionEmbedding position;
  Norm norm;
  bool bias;
  bool tied;
  bool embedding_norm;
};
using enum PositionEmbedding;
constexpr Family kFamilies[] = {
    {"gpt2", Mlp::gelu, learned, Norm::layer_norm, true, true, false},
    {"gpt_bigcode", Mlp::gelu, learned, Norm::layer_norm, true, true, false},
    {"bloom", Mlp::gelu, alibi, Norm::layer_norm, true, true, true},
    {"opt", Mlp::gelu, learned, Norm::layer_norm, true, true, false},
    {"gpt_neox", Mlp::gelu, rope, Norm::layer_norm, true, false, false},
    {"llama", Mlp::swiglu, rope, Norm::rms_norm, false, false, false},
    {"mistral", Mlp::swiglu, rope, Norm::rms_norm, false, false, false},
    {"phi3", Mlp::swiglu, rope, Norm::rms_norm, false, false, false},
    {"qwen", Mlp::swiglu, rope, Norm::rms_norm, false, false, false},
    {"qwen2", Mlp::swiglu, rope, Norm::rms_norm, false, false, false},
    {"qwen3", Mlp::swiglu, rope, Norm::rms_norm, false, false, false},
    {"gemma", Mlp::swiglu, rope, Norm::rms_norm, false, true, false},
    {"gemma2", Mlp::swiglu, rope, Norm::rms_norm, false, true, false},
    {"gemma3_text", Mlp::swiglu, rope, Norm::rms_norm, false, true, false},
    {"mpt", Mlp::gelu, alibi, Norm::layer_norm, false, true, false},
    {"falcon", Mlp::gelu, rope, Norm::layer_norm, false, true, false},
};
constexpr std::int64_t kMaxShape = 1LL << 24;
constexpr std::int64_t kGemmaHeadDim = 256;       // default of GemmaConfig
constexpr std::int64_t kDefaultPositions = 2048;  // of BloomConfig's training and FalconConfig
constexpr std::array kExpertKeys{"num_local_experts", "num_experts", "n_routed_experts",
                                 "moe_num_experts"};

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
  std::int64_t needed(std::initializer_list<const char*> keys) {
    const auto found = shape(keys);
    return found ? *found : root_.at(*keys.begin()).integer(1, kMaxShape);
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

 private:
  Cursor root_;
  std::set<std::string> used_;
};

/// A multi-modal config keeps its language model one level down.
Cursor language_model(const Cursor& root) {
  if (!root.find("hidden_size")) {
    if (const auto text = root.find("text_config"); text && text->is_object()) return *text;
  }
  return root;
}

void refuse_experts(Fields& fields, const std::string& file, const std::string& type) {
  bool experts = type == "mixtral" || type == "dbrx" || type == "deepseek_v2" ||
                 type == "deepseek_v3" || type.find("moe") != std::string::npos;
  for (const char* key : kExpertKeys) {
    if (const auto count = fields.find({key})) experts = experts || count->integer(0, 65536) > 1;
  }
  if (!experts) return;
  throw InputError(fmt::format(
      "{}: a mixture of experts (model_type {}); only dense decoders are modelled so far", file,
      in_quotes(type)));
}

Family family_of(const std::string& file, std::string type) {
  if (type == "RefinedWeb" || type == "RefinedWebModel") type = "falcon";  // before Transformers
  if (type == "gemma3") type = "gemma3_text";
  std::vector<std::string> known;
  for (const Family& family : kFamilies) {
    if (type == family.type) return family;
    known.emplace_back(family.type);
  }
  throw InputError(
      fmt::format("{}: /model_type: {} is not a family that prequel knows{}; known: {}", file,
                  in_quotes(type), did_you_mean(type, known), fmt::join(known, ", ")));
}

void read_mpt(Fields& fields, ImportedModel& model) {
  if (const auto ratio = fields.find({"expansion_ratio"})) {
    model.ffn_hidden = ratio->integer(1, 64) * *model.hidden;
  }
  if (const auto no_bias = fields.flag({"no_bias"})) model.linear_bias = !*no_bias;
  model.position = learned;
  if (const auto attention = fields.find({"attn_config"}); attention && attention->is_object()) {
    if (const auto with = attention->find("alibi"); with && with->boolean()) {
      model.position = alibi;
    }
    if (const auto with = attention->find("rope"); with && with->boolean()) model.position = rope;
    if (const auto heads = attention->find("kv_n_heads")) {
      model.kv_heads = heads->integer(1, kMaxShape);
    }
    (void)attention->members();
  }
}

void read_falcon(Fields& fields, ImportedModel& model) {
  const bool new_architecture = fields.flag({"new_decoder_architecture"}).value_or(false);
  const bool multi_query = fields.flag({"multi_query"}).value_or(true);
  if (!new_architecture) model.kv_heads = multi_query ? 1 : *model.heads;
  if (fields.flag({"alibi"}).value_or(false)) model.position = alibi;
  if (const auto bias = fields.flag({"bias"})) model.linear_bias = *bias;
}

void read_exceptions(Fields& fields, const std::string& type, ImportedModel& model) {
  if (type == "mpt") read_mpt(fields, model);
  if (type == "falcon") read_falcon(fields, model);
  if (type == "gpt_bigcode" && fields.flag({"multi_query"}).value_or(true)) model.kv_heads = 1;
  if (type.starts_with("gemma") && !model.head_dim) model.head_dim = kGemmaHeadDim;
  // The first Qwen counts both halves of its gated MLP.
  if (type == "qwen" && model.ffn_hidden) model.ffn_hidden = *model.ffn_hidden / 2;
}

}  // namespace

bool is_hugging_face_config(const Document& document) {
  const nlohmann::json& json = document.json();
  if (!json.is_object() || json.contains("schema")) return false;
  for (const char* key : {"model_type", "n_embd", "d_model", "hidden_size", "text_config"}) {
    if (json.contains(key)) return true;
  }
  return false;
}

void read_hugging_face_config(const Document& document, ImportedJob& job) {
  const std::string& file = document.file();
  Fields fields(language_model(document.root()));
  const auto type_field = fields.find({"model_type"});
  if (!type_field) {
    throw InputError(file + ": /model_type: missing; it names the family (\"llama\", \"gpt2\")");
  }
  const std::string type = type_field->text();
  refuse_experts(fields, file, type);
  const Family family = family_of(file, type);
  ImportedModel model;
  const auto path = fields.find({"_name_or_path"});
  model.name = path && path->is_text() && !path->text().empty() ? path->text() : type;
  model.layers = fields.needed({"num_hidden_layers", "n_layer", "n_layers"});
  model.hidden = fields.needed({"hidden_size", "n_embd", "n_embed", "d_model"});
  model.heads = fields.needed({"num_attention_heads", "n_head", "n_heads"});
  model.kv_heads = fields.shape({"num_key_value_heads", "num_kv_heads"});
  model.head_dim = fields.shape({"head_dim"});
  model.ffn_hidden = fields.shape({"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"});
  model.vocab = fields.needed({"vocab_size"});
  model.max_positions =
      fields.shape({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"});
  if (!model.max_positions) {
    model.max_positions = kDefaultPositions;
    job.report.assumed.push_back(
        fmt::format("max_position_embeddings {}: the config does not say it", kDefaultPositions));
  }
  model.mlp = family.mlp;
  model.position = family.position;
  model.norm = family.norm;
  model.embedding_norm = family.embedding_norm;
  model.linear_bias = family.bias;
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}).value_or(family.tied);
  read_exceptions(fields, family.type, model);
  const auto ignored = fields.unused();
  job.report.ignored.insert(job.report.ignored.end(), ignored.begin(), ignored.end());
  (void)document.root().members();
  document.finish();
  job.report.read.push_back(fmt::format("{}: Hugging Face config of the family {}", file, type));
  job.report.assumed.push_back(
      fmt::format("MLP, positions, norm and biases as the family {} has them", type));
  job.model = model;
}

}  // namespace prequel
