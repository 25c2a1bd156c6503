#include "cli/import/configs/json_configs.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/configs/mixer_fields.hpp"
#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
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

  std::optional<Cursor> find(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      if (const auto found = root_.find(key)) {
        used_.insert(key);
        key_ = key;
        return found;
      }
    }
    return std::nullopt;
  }
  /// Returns the key that was found last.
  [[nodiscard]] const std::string& key() const { return key_; }
  std::optional<std::int64_t> shape(const std::vector<std::string>& keys) {
    const auto found = find(keys);
    return found ? std::optional(found->integer(1, kMaxShape)) : std::nullopt;
  }
  /// A count that may be 0, which says nothing; or a list of it by layers, all alike.
  std::optional<std::int64_t> count(const std::vector<std::string>& keys) {
    const auto found = find(keys);
    if (!found) return std::nullopt;
    const auto value = found->is_array() ? count_of_all(*found) : found->integer(0, kMaxShape);
    return value > 0 ? std::optional(value) : std::nullopt;
  }
  /// Reads of how many layers the last is another: a number, or a letter for each (`LLLG`).
  std::optional<std::int64_t> period(const std::vector<std::string>& keys) {
    const auto found = find(keys);
    if (!found || !found->is_text()) return count(keys);
    const std::string letters = found->text();
    if (letters.empty() || letters.size() > 256) found->problem("expected a letter a layer");
    return std::ssize(letters);
  }
  /// The section of that name, whose keys count as asked for.
  std::optional<Cursor> section(const char* key) {
    auto found = find({key});
    if (!found || !found->is_object()) return std::nullopt;
    (void)found->members();
    return found;
  }
  /// A number that may be 0, which says nothing.
  std::optional<double> number(const std::vector<std::string>& keys) {
    const auto found = find(keys);
    const double value = found ? found->number({0.0, 1e6}) : 0.0;
    return value > 0 ? std::optional(value) : std::nullopt;
  }
  std::optional<bool> flag(const std::vector<std::string>& keys) {
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
  std::string key_;
};

/// A multi-modal config keeps its language model one level down, or two.
Cursor language_model(const Cursor& root) {
  if (!root.find("hidden_size")) {
    for (const char* key : {"text_config", "language_config", "llm_config", "thinker_config"}) {
      const auto text = root.find(key);
      if (!text || !text->is_object()) continue;
      (void)text->members();  // those beside a model further down say nothing here
      return language_model(*text);
    }
  }
  return root;
}

/// A family of models as its class has it where a config says nothing.
struct Family {
  std::string type;     ///< `model_type`
  ImportedModel usual;  ///< kinds of MLP, positions and norm, sizes, windows
  bool mixers{};        ///< lists of layers' types are of its mixers, too
};

/// Reads `swiglu rope rms_norm qk_norm hidden_size=4096`: MLP, positions, norm, switches and sizes.
Family read_family(const std::string& type, const std::string& words) {
  constexpr const char* kKinds[] = {"model.mlp=", "model.position=", "model.norm="};
  Family family;
  family.type = type;
  Facts job;
  std::istringstream in(words);
  std::size_t kinds = 0;
  for (std::string word; in >> word;) {
    family.mixers = family.mixers || word == "mixers";
    const std::size_t equals = word.find('=');
    if (kinds < std::size(kKinds)) {
      word.insert(0, kKinds[kinds++]);
    } else {
      word = "model." + word + (equals == std::string::npos ? "=true" : "");
    }
    (void)assign(word.substr(0, word.find('=')), word.substr(word.find('=') + 1), job);
  }
  family.usual = model_of(job);
  return family;
}

/// Returns the family whose keys a config has, though its own name is not known; nothing where a
/// key tells of layers of another kind.
std::optional<std::string_view> family_by_keys(const ForeignNames& names, const Cursor& config) {
  constexpr std::string_view kOthers[] = {"ssm",          "mamba",  "conv",     "linear_",
                                          "layers_block", "index_", "compress", "latent_",
                                          "hybrid",       "loop",   "ut_",      "shared_layers"};
  const auto has = [&](const std::string& field) {
    for (const auto* keys : {&names.size_keys, &names.model_keys}) {
      const std::vector<std::string>* const known = find_name(*keys, field);
      const auto said = [&](const std::string& key) { return config.json().contains(key); };
      if (known != nullptr && std::ranges::any_of(*known, said)) return true;
    }
    return false;
  };
  for (const auto& one : config.json().items()) {
    const auto tells = [&](std::string_view part) {
      return one.key().find(part) != one.key().npos;
    };
    if (std::ranges::any_of(kOthers, tells)) return std::nullopt;
    const bool is_activation = one.key() == "hidden_act" || one.key() == "activation_function";
    if (is_activation && one.value() != "silu" && one.value() != "swiglu") return std::nullopt;
  }
  for (const char* size : {"num_hidden_layers", "hidden_size", "num_attention_heads",
                           "intermediate_size", "vocab_size"}) {
    if (!has(size)) return std::nullopt;
  }
  if (!has("num_experts")) return has("kv_lora_rank") ? std::nullopt : std::optional("llama");
  if (!has("moe_intermediate_size") || !has("num_experts_per_tok")) return std::nullopt;
  return has("kv_lora_rank") ? "deepseek_v3" : has("qk_norm") ? "bailing_moe_v2" : "glm4_moe";
}

Family family_of(const ForeignNames& names, const std::string& file, const Cursor& config,
                 const std::string& type) {
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
  const auto like = family_by_keys(names, config);
  throw InputError(fmt::format(
      "{}: /model_type: {} is no family that prequel knows{}; {}; known: {}", file, in_quotes(type),
      like ? "" : did_you_mean(type, known),
      like ? fmt::format("its keys are those of {0}: with model_type \"{0}\" it is read as one",
                         *like)
           : "a file of prequel/model/1 can state its layers (docs/adding.md)",
      fmt::join(known, ", ")));
}

/// Reads a list of which layers have experts: 0 and 1, true, or words; all from one layer on. False
/// where there is none.
bool read_expert_layers(Fields& fields, ImportedExperts& experts) {
  for (const char* key : {"moe_layer_freq", "is_moe_layer", "mlp_layer_types"}) {
    const auto list = fields.root().find(key);
    if (!list || !list->is_array()) continue;
    (void)fields.find({key});
    std::int64_t dense = 0;
    bool has = false;
    for (const Cursor& one : list->items()) {
      const bool is = one.json().is_boolean() ? one.boolean()
                      : one.is_text()         ? one.text() != "dense"
                                              : one.integer(0, 1) == 1;
      if (has && !is) one.problem("layers without experts behind one with them are not modelled");
      has = has || is;
      if (!has) ++dense;
    }
    experts.first_dense = dense;
    return true;
  }
  return false;
}

/// Refuses a value that a rule asks for and cannot use: a switch that is none, a factor that is no
/// whole number, or what the field that it goes to cannot have.
void check_value(const Cursor& value, const std::string& name, const Rule& rule) {
  const nlohmann::json& json = value.json();
  for (const auto* conditions : {&rule.when, &rule.unless}) {
    for (const std::string& condition : *conditions) {
      const bool is_switch = condition == name + "=true" || condition == name + "=false";
      if (is_switch && !json.is_boolean()) value.problem("expected true or false");
    }
  }
  for (const Assignment& one : rule.set) {
    const std::size_t at = one.value.find("{" + name);
    if (at == std::string::npos) continue;
    const std::size_t behind = at + 1 + name.size();
    if (one.value[behind] != '}' && one.value[behind] != ':') continue;  // a longer name
    const bool alone = at == 0 && one.value.find('}') + 1 == one.value.size();
    if (!alone && !json.is_number_integer()) value.problem("expected a whole number");
    Facts scratch;
    const std::string text = json.is_string() ? json.get<std::string>() : json.dump();
    if (alone && !assign(one.field, text, scratch)) {
      value.problem(fmt::format("{} is no value of {}", printable(text), one.field));
    }
  }
}

/// Notes what rules of families ask for: scalars of the config and of its sections, by their names
/// (`config.attn_config.alibi`). Keys that the family's rules name count as read.
void note_config(Fields& fields, const std::vector<Rule>& rules, Facts& job) {
  const auto note = [&](const std::string& name, const Cursor& cursor) {
    const nlohmann::json& value = cursor.json();
    if (value.is_null()) return;
    for (const Rule& rule : rules) check_value(cursor, name, rule);
    if (value.is_string()) job.set(name, value.get<std::string>());
    if (value.is_boolean() || value.is_number_integer()) job.set(name, value.dump());
    if (value.is_object()) job.set_flag(name);
  };
  for (const auto& one : fields.root().json().items()) {
    const std::string name = "config." + one.key();
    const auto names_it = [&](const std::string& text) { return text.find(name) != text.npos; };
    const auto asks = [&](const Rule& rule) {
      return std::ranges::any_of(rule.when, names_it) ||
             std::ranges::any_of(rule.unless, names_it) ||
             std::ranges::any_of(rule.set, names_it, &Assignment::value);
    };
    if (one.value().is_null() || !std::ranges::any_of(rules, asks)) continue;
    fields.used().insert(one.key());
    const Cursor section = fields.root().at(one.key());
    note(name, section);
    if (!one.value().is_object()) continue;
    for (const auto& [key, value] : section.members()) note(name + "." + key, value);
  }
}

/// Follows what a family's class does otherwise than others.
void follow_family(Fields& fields, const Family& family, Facts& job) {
  const std::string step = "family " + family.type;
  const std::vector<Rule>* const rules = find_name(job.names->rules, step);
  if (rules == nullptr) return;
  note_config(fields, *rules, job);
  follow_rules(step, job);
  job.drop_all("config.");
}

/// Sliding windows, or chunks: which layers have them, the config says, or how often one has none,
/// or the family does.
void read_spans(Fields& fields, const Family& family, ImportedModel& model, ImportReport& report) {
  const bool used = fields.flag({"use_sliding_window"}).value_or(family.type != "qwen2");
  // Families of several mixers read their lists with what these need.
  const auto types = family.mixers ? std::nullopt : fields.find({"layer_types"});
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
void leave_out(const Cursor& root, Facts& job) {
  if (const auto thinker = root.find("thinker_config"); thinker && thinker->is_object()) {
    leave_out(*thinker, job);
  }
  for (const char* key : {"audio_config", "speech_config", "vit_config", "talker_config"}) {
    const auto tower = root.find(key);
    if (!tower || !tower->is_object()) continue;
    (void)tower->members();
    job.report.left_out.push_back(fmt::format("{}: the language model alone is predicted", key));
  }
  const auto vision = root.find("vision_config");
  if (!vision) return;
  const std::int64_t tower = vision->is_object() ? tower_parameters(*vision).value_or(0) : 0;
  if (vision->is_object()) (void)vision->members();  // the others say nothing here
  if (tower > 0) job.set(kMixers + "other_parameters", std::to_string(tower));
  job.report.left_out.push_back(
      tower > 0
          ? fmt::format("vision_config: of the tower its {} parameters count alone, no work", tower)
          : "vision_config: the language model alone is predicted");
}

/// Reads fields of a model under the names that configs have for them.
class ModelReader {
 public:
  ModelReader(Fields& fields, const Family& family, const ForeignNames& names)
      : fields_(fields), family_(family), names_(names) {}

  void read(ImportedModel& model) {
    // Families told by letters or words may leave it out.
    for (const char* key : {"layers_block_type", "hybrid_override_pattern"}) {
      const auto list = fields_.find({key});
      if (list && list->is_array()) model.layers = std::ssize(list->items());
      if (list && list->is_text()) model.layers = std::ssize(list->text());
    }
    const auto take = [&](const char* field, auto& value) { read_field(field, value); };
    each_shape_field(model, take);
    listed_ = read_expert_layers(fields_, model.experts);
    each_expert_field(model.experts, take);
    read_field("kv_lora_rank", model.latent.kv_rank);
    if (!model.latent.kv_rank) return;
    each_latent_field(model.latent, take);
    model.kv_heads.reset();
    model.head_dim.reset();
  }
  /// Returns the keys that fields were read from.
  [[nodiscard]] const auto& read_from() const { return keys_; }

 private:
  template <class Value>
  void read_field(const std::string& field, std::optional<Value>& value) {
    const std::vector<std::string>* const size = find_name(names_.size_keys, field);
    const std::vector<std::string>* const keys = find_name(names_.model_keys, field);
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      if (size != nullptr) return read_size(field, *size, value);
    }
    if (keys == nullptr || (listed_ && field == "moe_layer_freq")) return;
    std::optional<Value> found;
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      const bool repeats = field == "full_attention_every";
      found = repeats ? fields_.period(*keys) : fields_.count(*keys);
    }
    if constexpr (std::is_same_v<Value, bool>) found = fields_.flag(*keys);
    if constexpr (std::is_same_v<Value, double>) found = fields_.number(*keys);
    if (found) keep(field, *found, value);
  }
  template <class Value>
  void keep(const std::string& field, Value found, std::optional<Value>& value) {
    value = found;
    keys_[field] = fields_.key();
  }
  void read_size(const std::string& field, const std::vector<std::string>& keys,
                 std::optional<std::int64_t>& value) {
    constexpr std::string_view kNeeded[] = {"num_hidden_layers", "hidden_size",
                                            "num_attention_heads", "vocab_size"};
    const bool headless = field == "num_attention_heads" && family_.type == "mamba2";
    if (headless) return;
    if (const auto found = fields_.shape(keys)) keep(field, *found, value);
    if (!value && std::ranges::find(kNeeded, field) != std::end(kNeeded)) {
      value = fields_.root().at(keys.front()).integer(1, kMaxShape);
    }
  }

  Fields& fields_;
  const Family& family_;
  const ForeignNames& names_;
  bool listed_{};                            ///< whether a list says which layers have experts
  std::map<std::string, std::string> keys_;  ///< of the config, by the field
};

void read_model(const std::string& file, Fields& fields, const Family& family, Facts& job) {
  ImportedModel model = family.usual;
  ModelReader reader(fields, family, *job.names);
  reader.read(model);
  if (!model.max_positions) {
    model.max_positions = kDefaultPositions;
    job.report.assumed.push_back(
        fmt::format("max_position_embeddings {}: the config does not say it", kDefaultPositions));
  }
  for (std::optional<bool>* one :
       {&model.embedding_norm, &model.linear_bias, &model.tied_embeddings}) {
    *one = one->value_or(false);
  }
  if (model.qkv_bias == model.linear_bias) model.qkv_bias.reset();
  if (model.qk_norm == false) model.qk_norm.reset();
  ImportedExperts& experts = model.experts;
  if (const auto shared = fields.count({"n_shared_experts", "num_shared_experts",
                                        "num_shared_expert", "moe_num_shared_experts"})) {
    if (experts.ffn_hidden) experts.shared_hidden = *shared * *experts.ffn_hidden;
  }
  if (!experts.count) experts.shared_gate.reset();
  read_spans(fields, family, model, job.report);
  read_mixer_fields(fields.root().json(), family.type, job.names->mixer_keys, model, fields.used());
  set_model(model, job);
  for (const auto& [name, key] : reader.read_from()) {
    const std::string field = "model." + name;
    const OriginScope from(job, {Sureness::stated, file, key});
    job.set(field, job.text(field));
  }
  follow_family(fields, family, job);
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

void read_hugging_face_config(const Document& document, Facts& job) {
  const std::string& file = document.file();
  Fields fields(language_model(document.root()));
  const auto type_field = fields.find({"model_type"});
  if (!type_field) {
    throw InputError(file + ": /model_type: missing; it names the family (\"llama\", \"gpt2\")");
  }
  const std::string type = type_field->text();
  const Family family = family_of(*job.names, file, fields.root(), type);
  const OriginScope from(job, {Sureness::usual, file, "the family " + type});
  read_model(file, fields, family, job);
  const auto path = fields.find({"_name_or_path"});
  job.set("model.name", path && path->is_text() && !path->text().empty() ? path->text() : type);
  leave_out(document.root(), job);
  const auto hidden = job.value("model.hidden_size");
  if (const auto width = fields.shape({"word_embed_proj_dim"}); width && width != hidden) {
    throw InputError(
        fmt::format("{}: /word_embed_proj_dim: {}, but hidden_size is {}; prequel prices no such "
                    "projection, and predicts without the key",
                    file, *width, *hidden));
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
}

}  // namespace prequel
