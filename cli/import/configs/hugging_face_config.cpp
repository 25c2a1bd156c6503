#include "cli/import/configs/json_configs.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kMaxShape = 1LL << 24;
constexpr std::int64_t kDefaultPositions = 2048;  // of BloomConfig's training and FalconConfig
constexpr const char* kWindow = "model.sliding_window";
constexpr const char* kChunk = "model.attention_chunk_size";

/// Keys of a config; which of them were read is remembered.
class Fields {
 public:
  explicit Fields(Cursor root) : root_(std::move(root)) {}

  /// Returns what stands under the first of the keys that is there.
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
  std::optional<std::string> text(const char* key) {
    const auto found = find({key});
    return found && found->is_text() ? std::optional(found->text()) : std::nullopt;
  }
  /// Returns the entries of a list as texts; none where there is none. Sections are parted by dots.
  std::vector<std::string> entries(const std::string& path) {
    std::vector<std::string> all;
    std::string pointer = "/" + path;
    std::ranges::replace(pointer, '.', '/');
    const nlohmann::json::json_pointer place(pointer);
    if (!find({path.substr(0, path.find('.'))}) || !root_.json().contains(place)) return all;
    const nlohmann::json& list = root_.json()[place];
    for (const nlohmann::json& one : list.is_array() ? list : nlohmann::json::array()) {
      all.push_back(text_of_json(one));
    }
    return all;
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

  static std::string text_of_json(const nlohmann::json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  }

 private:
  Cursor root_;
  std::set<std::string> used_;
  std::string key_;
};

/// Reads a count that may be 0, or a list of it by layers, all alike.
std::int64_t count_of(const Cursor& found) {
  if (!found.is_array()) return found.integer(0, kMaxShape);
  std::int64_t all = 0;
  for (const Cursor& one : found.items()) {
    const std::int64_t value = one.integer(0, kMaxShape);
    if (all > 0 && value != all) one.problem("layers that differ in it are not modelled");
    all = value;
  }
  return all;
}

/// Returns a value as the model's field holds it; nothing for a number 0, which says nothing.
std::optional<std::string> held(const std::string& field, const Cursor& found) {
  if (is_switch(field)) return fact_text(found.boolean());
  if (!is_number(field)) {
    const double number = found.number({0.0, 1e6});
    return number > 0 ? std::optional(fact_text(number)) : std::nullopt;
  }
  if (field == "model.full_attention_every" && found.is_text()) {  // LLLG: a letter a layer
    const std::string letters = found.text();
    if (letters.empty() || letters.size() > 256) found.problem("expected a letter a layer");
    return std::to_string(letters.size());
  }
  const std::int64_t count = count_of(found);
  return count > 0 ? std::optional(std::to_string(count)) : std::nullopt;
}

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

/// Sets what a family's class has where a config says nothing: `swiglu rope rms_norm qk_norm
/// hidden_size=4096` are MLP, positions, norm, switches and sizes.
void take_family(const std::string& words, Facts& job) {
  std::istringstream in(words);
  std::string word;
  for (const char* kind : {"mlp", "position", "norm"}) {
    if (in >> word) (void)assign(fmt::format("model.{}", kind), word, job);
  }
  while (in >> word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    (void)assign("model." + word.substr(0, equals),
                 equals == word.size() ? "true" : word.substr(equals + 1), job);
  }
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

/// Returns the name and the words of the family that a config is of.
std::pair<std::string, std::string> family_of(const ForeignNames& names, const std::string& file,
                                              const Cursor& config, const std::string& type) {
  if (const std::string* what = find_name(names.refused_families, type)) {
    throw InputError(
        fmt::format("{}: /model_type: {}: {}; prequel models decoders of attention "
                    "and MLPs",
                    file, in_quotes(type), *what));
  }
  const std::string* same = find_name(names.same_families, type);
  const std::string& name = same == nullptr ? type : *same;
  if (const std::string* words = find_name(names.families, name)) return {name, *words};
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
/// where there is none. A text names the layers, `3,4,5`.
bool read_expert_layers(Fields& fields, Facts& job) {
  constexpr const char* kDense = "model.first_k_dense_replace";
  if (const auto layers = fields.text("moe_layers_enum")) {
    const auto first = parse_integer(layers->substr(0, layers->find(',')));
    if (first && *first >= 0 && *first <= 4096) job.set_number(kDense, *first);
  }
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
    job.set_number(kDense, dense);
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
    const bool is_factor = json.is_number() && one.value.find("int(") != std::string::npos;
    if (!alone && !json.is_number_integer() && !is_factor) {
      value.problem("expected a whole number");
    }
    Facts scratch;
    const std::string text = Fields::text_of_json(json);
    if (alone && !assign(one.field, text, scratch)) {
      value.problem(fmt::format("{} is no value of {}", printable(text), one.field));
    }
  }
}

/// Notes what a family's rules, and those of its layers, ask for: scalars of the config and of its
/// sections, by their names (`config.attn_config.alibi`). Keys that rules name count as read.
void note_config(Fields& fields, const std::vector<Rule>& rules,
                 const std::vector<LayerTypes>& layers, Facts& job) {
  const auto note = [&](const std::string& name, const Cursor& cursor) {
    const nlohmann::json& value = cursor.json();
    if (value.is_null()) return;
    for (const Rule& rule : rules) check_value(cursor, name, rule);
    if (value.is_string() || value.is_boolean() || value.is_number()) {
      job.set(name, Fields::text_of_json(value));
    }
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
    const bool of_layers = std::ranges::any_of(layers, [&](const LayerTypes& row) {
      return std::ranges::any_of(row.types, names_it, &LayerTypes::Type::when);
    });
    if (one.value().is_null() || !(of_layers || std::ranges::any_of(rules, asks))) continue;
    const Cursor section = *fields.find({one.key()});
    note(name, section);
    if (!one.value().is_object()) continue;
    for (const auto& [key, value] : section.members()) note(name + "." + key, value);
  }
}

/// Returns the type that a row has for each layer, and for one behind them; none where it has none
/// for one of these.
std::vector<std::string> types_of(const LayerTypes& row, Fields& fields, Facts& job) {
  constexpr std::int64_t kMostLayers = 4096;
  const auto entries = row.list.empty() ? std::vector<std::string>() : fields.entries(row.list);
  if (!row.list.empty() && entries.empty()) return {};
  const std::int64_t layers = std::min(job.value(kModelLayers).value_or(0), kMostLayers);
  job.set("layer.list", fmt::format(" {} ", fmt::join(entries, " ")));
  std::vector<std::string> types;
  for (std::int64_t layer = 0; layer <= layers; ++layer) {
    if (!entries.empty()) {
      job.set("layer.entry", entries[static_cast<std::size_t>(layer) % entries.size()]);
    }
    job.set_number("layer.index", layer);
    job.set("layer.as_listed", fmt::format(" {} ", layer));
    job.set("layer.from_one", fmt::format(" {} ", layer + 1));
    const auto type = std::ranges::find_if(row.types, [&](const LayerTypes::Type& one) {
      return one.when.empty() || holds(one.when, job);
    });
    if (type == row.types.end()) return {};
    types.push_back(filled(type->type, job));
  }
  return types;
}

/// Sets the types of layers, or the letters of their sublayers, by the first of the rows that has
/// them.
void read_layers(const std::vector<LayerTypes>& rows, Fields& fields, Facts& job) {
  for (const LayerTypes& row : rows) {
    std::vector<std::string> types = types_of(row, fields, job);
    job.drop_all("layer.");
    if (types.empty()) continue;
    const std::string behind = types.back();
    types.pop_back();
    if (row.letters) {
      const std::string letters = fmt::format("{}", fmt::join(types, ""));
      job.set_number(kModelLayers, std::ssize(letters));
      return job.set(kMixers + "layers_pattern", nlohmann::json(letters).dump());
    }
    const bool more = row.depths && fields.entries(row.list).size() > types.size();
    if (more) job.set(kMixers + "mtp_layer_types", nlohmann::json{behind}.dump());
    job.set(kMixers + "layer_types", nlohmann::json(types).dump());
    return job.drop("model.full_attention_every");
  }
}

/// Returns letters of sublayers for a config's words of them.
std::string letters_of(const std::vector<std::string>& types) {
  static constexpr std::pair<std::string_view, char> kLetters[] = {
      {"mamba", 'M'}, {"moe", 'E'}, {"attention", '*'}, {"mlp", '-'}};
  std::string letters;
  for (const std::string& word : types) {
    for (const auto& [from, to] : kLetters) {
      if (word == from) letters += to;
    }
  }
  return letters;
}

/// Reads Nemotron-H's pattern, as letters or as a list of words, and those of multi-token
/// prediction.
void read_pattern(Fields& fields, Facts& job) {
  constexpr std::int64_t kMostDepths = 16;
  const auto letters = [&](const char* pattern, const char* list) {
    const auto said = fields.text(pattern);
    return said ? *said : letters_of(fields.entries(list));
  };
  std::string pattern = letters("hybrid_override_pattern", "layers_block_type");
  const std::string depth = letters("mtp_hybrid_override_pattern", "mtp_layers_block_type");
  const std::int64_t depths = job.value("model.num_nextn_predict_layers").value_or(0);
  if (!depth.empty() && depths > 0) {
    for (std::int64_t i = 0; i < std::min(depths, kMostDepths); ++i) pattern += "/" + depth;
    const auto repeated = fields.find({"mtp_use_repeated_layer"});
    const bool repeats =
        repeated && repeated->json().is_boolean() ? repeated->boolean() : depths > 1;
    if (repeats) job.set_flag(kMixers + "mtp_use_repeated_layer");
  }
  job.set(kMixers + "layers_pattern", nlohmann::json(pattern).dump());
}

/// Reads layers that a search chose one by one (arXiv 2411.19146): with attention or without, with
/// an MLP of a width of its own or without. Those with neither are none.
void read_found_blocks(Fields& fields, Facts& job) {
  using Json = nlohmann::json;
  const auto blocks = fields.find({"block_configs"});
  if (!blocks || !blocks->is_array()) return;
  const double hidden = static_cast<double>(job.value("model.hidden_size").value_or(0));
  std::vector<std::string> types;
  std::vector<std::int64_t> widths;
  for (const Json& block : blocks->json()) {
    if (!block.is_object()) continue;
    const Json attention = block.value("attention", Json::object());
    const Json feed = block.value("ffn", Json::object());
    const auto is_left_out = [](const Json& part) {
      const auto said = part.find("no_op");
      return said != part.end() && said->is_boolean() && said->get<bool>();
    };
    const auto sharing = attention.find("n_heads_in_group");
    const auto heads = job.value("model.num_attention_heads");
    if (sharing != attention.end() && sharing->is_number_integer() && heads) {
      job.set_number("model.num_key_value_heads",
                     *heads / std::max<std::int64_t>(1, sharing->get<std::int64_t>()));
    }
    const auto times = feed.find("ffn_mult");
    const double factor = times != feed.end() && times->is_number() ? times->get<double>() : 0;
    const bool feeds = !is_left_out(feed) && factor > 0 && factor < 1e3;
    if (is_left_out(attention) && !feeds) continue;
    types.emplace_back(is_left_out(attention) ? "no_mixer" : "full_attention");
    // Two thirds of a factor of the hidden size, in multiples of 256.
    const auto inner = static_cast<std::int64_t>(2 * factor * hidden / 3);
    widths.push_back(feeds ? (inner + 255) / 256 * 256 : 0);
  }
  if (types.empty()) return;
  job.set_number(kModelLayers, std::ssize(types));
  job.set_number("model.intermediate_size", std::ranges::max(widths));
  job.set(kMixers + "layer_types", Json(types).dump());
  job.set(kMixers + "intermediate_sizes", Json(widths).dump());
}

/// Reads mixers that are no plain attention, and follows what a family's class does otherwise than
/// others.
void follow_family(Fields& fields, const std::string& family, Facts& job) {
  static const std::vector<Rule> no_rules;
  static const std::vector<LayerTypes> no_layers;
  const std::string step = "family " + family;
  const std::vector<Rule>* const rules = find_name(job.names->rules, step);
  const std::vector<LayerTypes>* const layers = find_name(job.names->layers, family);
  for (const auto& [key, names] : job.names->mixer_keys) {
    for (const std::string& name : names) {
      const auto found = fields.find({name});
      if (!found) continue;
      const nlohmann::json& value = found->json();
      const bool says =
          value.is_boolean() || (value.is_number_integer() && value.get<std::int64_t>() > 0);
      if (says) job.set(kMixers + key, value.dump());
    }
  }
  note_config(fields, rules ? *rules : no_rules, layers ? *layers : no_layers, job);
  read_layers(layers ? *layers : no_layers, fields, job);
  if (family == "nemotron_h") read_pattern(fields, job);
  if (family == "nemotron-nas") read_found_blocks(fields, job);
  follow_rules(step, job);
  job.drop_all("config.");
}

/// Sliding windows, or chunks: which layers have them, the config says, or how often one has none,
/// or the family does.
void read_spans(Fields& fields, const std::string& family, bool mixers, Facts& job) {
  constexpr const char* kEvery = "model.full_attention_every";
  const auto switched = fields.find({"use_sliding_window"});
  const bool used = switched ? switched->boolean() : family != "qwen2";
  // Families of several mixers read their lists with what these need.
  const auto types = mixers ? std::nullopt : fields.find({"layer_types"});
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
    const std::int64_t all = std::ssize(layers);
    if (full == all) {
      for (const char* span : {kWindow, kChunk}) job.drop(span);
    }
    const std::int64_t every = full > 0 && full < all ? all / full : 0;
    job.set_number(kEvery, every > 0 ? std::optional(every) : std::nullopt);
    if (every > 0 && all / every != full) {
      job.report.assumed.push_back(
          fmt::format("full attention in {} of {} layers, though layer_types have it in {}: "
                      "prequel spaces it evenly",
                      all / every, all, full));
    }
  }
  for (const char* span : {kWindow, kChunk}) {
    const bool sees_all = job.value(span) >= job.value("model.max_position_embeddings");
    if (!used || sees_all) job.drop(span);
  }
  if (!job.says(kWindow) && !job.says(kChunk)) job.drop(kEvery);
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

/// Reads sizes, switches and experts under the names that configs have for them.
void read_keys(const std::string& file, Fields& fields, const std::string& family, Facts& job) {
  const ForeignNames& names = *job.names;
  const auto take = [&](const std::string& name, const std::vector<std::string>& keys, bool size) {
    const std::string field = "model." + name;
    const auto found = fields.find(keys);
    const auto value = !found ? std::nullopt
                       : size ? std::optional(std::to_string(found->integer(1, kMaxShape)))
                              : held(field, *found);
    if (!value) return;
    const OriginScope from(job, {Sureness::stated, file, fields.key()});
    job.set(field, *value);
  };
  // Families told by letters or words may leave it out.
  if (const auto list = fields.entries("layers_block_type"); !list.empty()) {
    job.set_number(kModelLayers, std::ssize(list));
  }
  if (const auto letters = fields.text("hybrid_override_pattern")) {
    job.set_number(kModelLayers, std::ssize(*letters));
  }
  const bool headless = family == "mamba2";
  for (const auto& [name, keys] : names.size_keys) {
    if (!headless || name != "num_attention_heads") take(name, keys, true);
  }
  for (const std::string name :
       {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}) {
    if (job.says("model." + name) || (headless && name == "num_attention_heads")) continue;
    const auto& keys = names.size_keys.at(name);
    job.set_number("model." + name, fields.root().at(keys.front()).integer(1, kMaxShape));
  }
  const bool listed = read_expert_layers(fields, job);
  for (const auto& [name, keys] : names.model_keys) {
    if (!listed || name != "moe_layer_freq") take(name, keys, false);
  }
  if (!job.says("model.kv_lora_rank")) return;
  for (const auto& [name, keys] : names.latent_keys) take(name, keys, false);
  for (const char* plain : {"model.num_key_value_heads", "model.head_dim"}) job.drop(plain);
}

void read_model(const std::string& file, Fields& fields, const std::string& family,
                const std::string& words, Facts& job) {
  for (const auto& before : {std::string("model."), kMixers}) job.drop_all(before);
  take_family(words, job);
  read_keys(file, fields, family, job);
  if (!job.says("model.max_position_embeddings")) {
    job.set_number("model.max_position_embeddings", kDefaultPositions);
    job.report.assumed.push_back(
        fmt::format("max_position_embeddings {}: the config does not say it", kDefaultPositions));
  }
  for (const char* off : {"model.embedding_norm", "model.bias", "model.tie_word_embeddings"}) {
    if (!job.says(off)) job.set_flag(off, false);
  }
  if (job.text("model.qkv_bias") == job.text("model.bias")) job.drop("model.qkv_bias");
  if (job.text("model.qk_norm") == "false") job.drop("model.qk_norm");
  const auto shared = fields.find(
      {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"});
  const std::int64_t of_all = shared ? count_of(*shared) : 0;
  const auto width = job.value("model.moe_intermediate_size");
  if (of_all > 0 && width) {
    job.set_number("model.shared_expert_intermediate_size", of_all * *width);
  }
  if (!job.says("model.num_experts")) job.drop("model.shared_expert_gate");
  read_spans(fields, family, (words + ' ').find(" mixers ") != std::string::npos, job);
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
  const auto [family, words] = family_of(*job.names, file, fields.root(), type);
  const OriginScope from(job, {Sureness::usual, file, "the family " + type});
  read_model(file, fields, family, words, job);
  const std::string path = fields.text("_name_or_path").value_or("");
  job.set("model.name", path.empty() ? type : path);
  leave_out(document.root(), job);
  const auto hidden = job.value("model.hidden_size");
  const auto projected = fields.find({"word_embed_proj_dim"});
  const auto width = projected ? std::optional(projected->integer(1, kMaxShape)) : std::nullopt;
  if (width && width != hidden) {
    throw InputError(
        fmt::format("{}: /word_embed_proj_dim: {}, but hidden_size is {}; prequel prices no such "
                    "projection, and predicts without the key",
                    file, *width, *hidden));
  }
  const auto ignored = fields.unused();
  for (const std::string& key : ignored) {
    const auto value = fields.root().find(key);
    if (!value) continue;  // null
    const std::string text = Fields::text_of_json(value->json());
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
