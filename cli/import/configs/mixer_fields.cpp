#include "cli/import/configs/mixer_fields.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hw/base/csv.hpp"

namespace prequel {
namespace {

/// Words of configurations and the model file's letters or types.
constexpr std::pair<const char*, const char*> kBlockLetters[] = {
    {"mamba", "M"}, {"moe", "E"}, {"attention", "*"}, {"mlp", "-"}};

/// Reads one configuration.
class MixerReader {
 public:
  using Json = nlohmann::json;

  MixerReader(const Json& config, std::string_view type, ImportedModel& model,
              std::set<std::string>& used)
      : config_(config), type_(type), model_(model), used_(used) {}

  void read(const MixerKeys& keys) {
    for (const auto& [key, names] : keys) {
      for (const std::string& name : names) {
        const Json* value = find(name.c_str());
        if (!value || !(value->is_number_integer() || value->is_boolean())) continue;
        if (value->is_number_integer() && value->get<std::int64_t>() <= 0) continue;
        put(key.c_str(), *value);
      }
    }
    const auto is = [&](std::initializer_list<std::string_view> types) {
      return std::ranges::count(types, type_) > 0;
    };
    if (is({"nemotron_h"})) read_pattern();
    if (is({"qwen3_next", "qwen3_5", "qwen3_5_moe"})) read_gated_delta();
    if (is({"deepseek_v32", "glm_moe_dsa"})) read_sparse();
    if (is({"kimi_linear"})) read_kimi();
    if (is({"granitemoehybrid", "bamba"})) read_mamba_layers();
    if (is({"lfm2", "lfm2_moe"})) read_convolutions();
    if (is({"bailing_moe_linear", "bailing_hybrid"})) read_groups();
    if (is({"nemotron-nas"})) read_found_blocks();
    if (is({"jamba"})) read_jamba();
    if (is({"minimax", "minimax_text_01", "minimax_m1"})) read_lightning();
    if (is({"gemma4"})) read_gemma();
    if (is({"mimo_v2_flash"})) read_mimo();
    if (is({"minimax_m3"})) read_blocks();
    if (is({"step3p5"})) read_step();
    if (is({"longcat_flash"})) read_longcat();
    if (is({"exaone_moe", "olmo_hybrid"})) read_types();
    if (is({"deepseek_v4"})) read_compressed();
    if (is({"mamba2"})) read_mamba();
  }

 private:
  const Json* find(const char* key) {
    const auto found = config_.find(key);
    if (found == config_.end() || found->is_null()) return nullptr;
    used_.insert(key);
    return &*found;
  }
  std::int64_t number(const char* key, std::int64_t fallback) {
    const Json* value = find(key);
    return value && value->is_number_integer() ? value->get<std::int64_t>() : fallback;
  }
  bool flag(const char* key, bool fallback) {
    const Json* value = find(key);
    return value && value->is_boolean() ? value->get<bool>() : fallback;
  }
  /// Returns the words of a list; nothing where there is none.
  std::vector<std::string> words(const char* key) {
    std::vector<std::string> all;
    const Json* value = find(key);
    if (!value || !value->is_array()) return all;
    for (const Json& one : *value) all.push_back(one.is_string() ? one.get<std::string>() : "");
    return all;
  }
  std::vector<std::int64_t> numbers(const char* key) {
    std::vector<std::int64_t> all;
    const Json* value = find(key);
    if (!value || !value->is_array()) return all;
    for (const Json& one : *value) {
      if (one.is_number_integer()) all.push_back(one.get<std::int64_t>());
    }
    return all;
  }
  void put(const char* key, const Json& value) { model_.mixers[key] = value.dump(); }
  [[nodiscard]] std::int64_t layers() const { return model_.layers.value_or(0); }

  /// Puts the type of each layer as `type_of` says by its number, from 0.
  template <class TypeOf>
  void put_types(const TypeOf& type_of) {
    Json types = Json::array();
    for (std::int64_t layer = 0; layer < std::min<std::int64_t>(layers(), 4096); ++layer) {
      types.push_back(type_of(layer));
    }
    put("layer_types", types);
    model_.full_every.reset();
  }
  /// Puts the types that a list, which repeats, has for layers; false where it is empty.
  template <class Entry, class TypeOf>
  bool put_listed(const std::vector<Entry>& list, const TypeOf& type_of) {
    if (list.empty()) return false;
    put_types([&](std::int64_t layer) {
      return std::string(type_of(list[static_cast<std::size_t>(layer) % list.size()]));
    });
    return true;
  }
  /// Puts one type for the last of every so many layers, or for the one at `offset` among them.
  void put_every(std::int64_t every, std::int64_t offset, const char* one, const char* others) {
    put_types(
        [&](std::int64_t layer) { return every > 0 && layer % every == offset ? one : others; });
  }
  static std::string as_it_is(const std::string& type) { return type; }

  static std::string letters_of(const std::vector<std::string>& types) {
    std::string letters;
    for (const std::string& word : types) {
      for (const auto& [from, to] : kBlockLetters) {
        if (word == from) letters += to;
      }
    }
    return letters;
  }

  void read_pattern() {
    std::string pattern;
    if (const Json* letters = find("hybrid_override_pattern"); letters && letters->is_string()) {
      pattern = letters->get<std::string>();
    } else {
      pattern = letters_of(words("layers_block_type"));
    }
    const auto depths = number("num_nextn_predict_layers", 0);
    const Json* letters = find("mtp_hybrid_override_pattern");
    const std::string depth = letters && letters->is_string()
                                  ? letters->get<std::string>()
                                  : letters_of(words("mtp_layers_block_type"));
    if (!depth.empty() && depths > 0) {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(depths, 16); ++i) pattern += "/" + depth;
      if (flag("mtp_use_repeated_layer", depths > 1)) put("mtp_use_repeated_layer", true);
    }
    put("layers_pattern", pattern);
  }

  void read_gated_delta() {
    const std::int64_t every = number("full_attention_interval", 4);
    if (!put_listed(words("layer_types"), as_it_is)) {
      put_every(every, every - 1, "full_attention", "linear_attention");
    }
  }

  void read_sparse() {
    const std::vector<std::string> types = words("indexer_types");
    const std::int64_t every = number("index_topk_freq", 1);
    const std::int64_t offset = number("index_skip_topk_offset", 0);
    put_types([&](std::int64_t layer) -> std::string {
      const auto place = static_cast<std::size_t>(layer);
      const bool full = place < types.size() ? types[place] == "full"
                        : every > 1          ? layer < offset || (layer - offset + 1) % every == 0
                                             : true;
      return full ? "sparse_attention" : "sparse_attention_shared";
    });
  }

  void read_kimi() {
    const Json* linear = find("linear_attn_config");
    if (!linear || !linear->is_object()) return;
    const auto full = linear->find("full_attn_layers");
    put_types([&](std::int64_t layer) {
      const bool is = full != linear->end() && full->is_array() &&
                      std::count(full->begin(), full->end(), Json(layer + 1)) > 0;
      return is ? "full_attention" : "kimi_delta_attention";
    });
  }

  void read_mamba_layers() {
    const std::vector<std::int64_t> attention = numbers("attn_layer_indices");
    const auto type = [](bool attends) { return attends ? "attention" : "mamba"; };
    if (!put_listed(words("layer_types"),
                    [&](const std::string& is) { return type(is == "attention"); })) {
      put_types([&](std::int64_t layer) { return type(std::ranges::count(attention, layer) > 0); });
    }
  }

  /// Attention in the layers that are listed, by their types or by their numbers; else
  /// convolutions. Sizes of the MLP are those of one without a gate.
  void read_convolutions() {
    const std::vector<std::int64_t> full = numbers("full_attn_idxs");
    const auto type = [](bool attends) { return attends ? "full_attention" : "conv"; };
    if (!put_listed(words("layer_types"),
                    [&](const std::string& is) { return type(is == "full_attention"); })) {
      put_types([&](std::int64_t layer) { return type(std::ranges::count(full, layer) > 0); });
    }
    put("short_conv_kernel_dim", number("conv_L_cache", 3));
    if (model_.experts.count) return;
    const std::int64_t inner = number("block_ff_dim", model_.ffn_hidden.value_or(0));
    const std::int64_t multiple = std::max<std::int64_t>(1, number("block_multiple_of", 256));
    const Json* factor = find("block_ffn_dim_multiplier");
    const double times = factor && factor->is_number() ? factor->get<double>() : 1.0;
    if (!flag("block_auto_adjust_ff_dim", true) || !(times > 0 && times < 100)) return;
    const auto gated = static_cast<std::int64_t>(times * static_cast<double>(2 * inner / 3));
    model_.ffn_hidden = (gated + multiple - 1) / multiple * multiple;
  }

  /// Softmax attention in the last layer of each group, and in those behind the last whole one.
  void read_groups() {
    const std::int64_t group = number("layer_group_size", 8);
    put_types([&](std::int64_t layer) {
      const bool last =
          group > 0 && ((layer + 1) % group == 0 || layer >= layers() / group * group);
      return last ? "full_attention" : "lightning_attention";
    });
  }

  /// Layers that a search chose one by one (arXiv 2411.19146): with attention or without, with an
  /// MLP of a width of its own or without. Those with neither are none.
  void read_found_blocks() {
    const Json* blocks = find("block_configs");
    if (!blocks || !blocks->is_array()) return;
    Json types = Json::array();
    Json widths = Json::array();
    for (const Json& block : *blocks) {
      if (!block.is_object()) continue;
      const Json attention = block.value("attention", Json::object());
      const Json feed = block.value("ffn", Json::object());
      const auto is_left_out = [](const Json& part) {
        const auto said = part.find("no_op");
        return said != part.end() && said->is_boolean() && said->get<bool>();
      };
      if (const auto sharing = attention.find("n_heads_in_group");
          sharing != attention.end() && sharing->is_number_integer() && model_.heads) {
        model_.kv_heads = *model_.heads / std::max<std::int64_t>(1, sharing->get<std::int64_t>());
      }
      const auto times = feed.find("ffn_mult");
      const double factor = times != feed.end() && times->is_number() ? times->get<double>() : 0;
      const bool feeds = !is_left_out(feed) && factor > 0 && factor < 1e3;
      if (is_left_out(attention) && !feeds) continue;
      types.push_back(is_left_out(attention) ? "no_mixer" : "full_attention");
      widths.push_back(feeds ? inner_of(factor, model_.hidden.value_or(0)) : 0);
    }
    if (types.empty()) return;
    model_.layers = std::ssize(types);
    model_.ffn_hidden = std::ranges::max(widths).get<std::int64_t>();
    put("layer_types", types);
    put("intermediate_sizes", widths);
  }

  /// Two thirds of a factor of the hidden size, in multiples of 256.
  static std::int64_t inner_of(double factor, std::int64_t hidden) {
    const auto inner = static_cast<std::int64_t>(2 * factor * static_cast<double>(hidden) / 3);
    return (inner + 255) / 256 * 256;
  }

  void read_jamba() {
    put_every(number("attn_layer_period", 8), number("attn_layer_offset", 4), "attention", "mamba");
  }

  void read_lightning() {
    static constexpr const char* kFull = "full_attention";
    static constexpr const char* kOthers = "lightning_attention";
    const std::vector<std::string> types = words("layer_types");
    const bool listed =
        put_listed(numbers("attn_type_list"),
                   [](std::int64_t is) { return is == 1 ? kFull : kOthers; }) ||
        put_listed(types, [](const std::string& is) { return is == kFull ? kFull : kOthers; });
    if (!listed) put_every(8, 7, kFull, kOthers);
  }

  void read_gemma() {
    if (!put_listed(words("layer_types"), as_it_is)) {
      put_every(6, 5, "full_attention", "sliding_attention");
    }
  }

  void read_mimo() {
    put_listed(numbers("hybrid_layer_pattern"),
               [](std::int64_t is) { return is == 1 ? "sliding_attention" : "full_attention"; });
  }

  /// Types of layers as the file lists them.
  void read_types() { put_listed(words("layer_types"), as_it_is); }

  /// Blocks of keys in all layers but the first ones.
  void read_blocks() {
    const std::int64_t dense = model_.experts.first_dense.value_or(0);
    put_types([&](std::int64_t layer) {
      return layer < dense ? "full_attention" : "block_sparse_attention";
    });
  }

  /// A text lists the layers of experts.
  void read_step() {
    read_types();
    if (const Json* layers = find("moe_layers_enum"); layers && layers->is_string()) {
      const std::string text = layers->get<std::string>();
      const auto first = parse_integer(text.substr(0, text.find(',')));
      if (first && *first >= 0 && *first <= 4096) model_.experts.first_dense = *first;
    }
  }

  /// Two attentions and two MLPs a layer, and experts beside the first of these.
  void read_longcat() {
    std::string pattern;
    for (std::int64_t layer = 0; layer < std::min<std::int64_t>(layers(), 512); ++layer) {
      pattern += "+E-+-";
    }
    put("layers_pattern", pattern);
    model_.layers = std::ssize(pattern);
  }

  void read_compressed() {
    const std::vector<std::int64_t> ratios = numbers("compress_ratios");
    const auto type_of = [](std::int64_t ratio) {
      return ratio == 0   ? "window_attention"
             : ratio < 64 ? "compressed_attention"
                          : "far_compressed_attention";
    };
    const auto held = static_cast<std::size_t>(layers());
    if (ratios.size() > held) {
      put("mtp_layer_types", Json::array({type_of(ratios[held])}));
    }
    put_listed(ratios, type_of);
  }

  void read_mamba() {
    const std::string pattern(static_cast<std::size_t>(std::clamp<std::int64_t>(layers(), 0, 4096)),
                              'M');
    put("layers_pattern", pattern);
  }

  const Json& config_;
  std::string_view type_;
  ImportedModel& model_;
  std::set<std::string>& used_;
};

}  // namespace

void read_mixer_fields(const nlohmann::json& config, std::string_view type, const MixerKeys& keys,
                       ImportedModel& model, std::set<std::string>& used) {
  MixerReader(config, type, model, used).read(keys);
}

}  // namespace prequel
