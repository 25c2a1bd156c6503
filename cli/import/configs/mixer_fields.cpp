#include "cli/import/configs/mixer_fields.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hw/base/csv.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

/// Words of configurations and the model file's letters or types.
constexpr std::pair<const char*, const char*> kBlockLetters[] = {
    {"mamba", "M"}, {"moe", "E"}, {"attention", "*"}, {"mlp", "-"}};

/// Reads one configuration.
class MixerReader {
 public:
  MixerReader(const Json& config, std::string_view type, ImportedModel& model, ImportReport& report,
              std::set<std::string>& used)
      : config_(config), type_(type), model_(model), report_(report), used_(used) {}

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
    if (is({"falcon_h1"})) read_parallel();
    if (is({"jamba"})) read_jamba();
    if (is({"minimax", "minimax_text_01", "minimax_m1"})) read_lightning();
    if (is({"gemma4"})) read_gemma();
    if (is({"mimo_v2_flash"})) read_mimo();
    if (is({"minimax_m3"})) read_blocks();
    if (is({"step3p5"})) read_step();
    if (is({"longcat_flash"})) read_longcat();
    if (is({"exaone_moe"})) read_types();
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

  void read_pattern() {
    std::string pattern;
    if (const Json* letters = find("hybrid_override_pattern"); letters && letters->is_string()) {
      pattern = letters->get<std::string>();
    } else {
      for (const std::string& word : words("layers_block_type")) {
        for (const auto& [from, to] : kBlockLetters) {
          if (word == from) pattern += to;
        }
      }
    }
    const auto depths = number("num_nextn_predict_layers", 0);
    if (const Json* depth = find("mtp_hybrid_override_pattern");
        depth && depth->is_string() && depths > 0) {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(depths, 16); ++i) {
        pattern += "/" + depth->get<std::string>();
      }
      if (flag("mtp_use_repeated_layer", depths > 1)) put("mtp_use_repeated_layer", true);
    }
    model_.next_token_layers.reset();
    put("layers_pattern", pattern);
    if (model_.experts.count) put("moe_router_bias", true);
    if (const auto shared = number("moe_shared_expert_intermediate_size", 0); shared > 0) {
      model_.experts.shared_hidden = shared;
    }
  }

  void read_gated_delta() {
    const std::int64_t every = number("full_attention_interval", 4);
    if (!put_listed(words("layer_types"), as_it_is)) {
      put_every(every, every - 1, "full_attention", "linear_attention");
    }
    put("attn_output_gate", flag("attn_output_gate", true));
    model_.window.reset();
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
    if (model_.next_token_layers.value_or(0) > 0) {
      put("mtp_layer_types", Json::array({"sparse_attention"}));
    }
    put("moe_router_bias", true);
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
    const auto of = [&](const char* key, const char* to) {
      if (const auto found = linear->find(key);
          found != linear->end() && found->is_number_integer()) {
        put(to, *found);
      }
    };
    of("num_heads", "linear_num_key_heads");
    of("head_dim", "linear_key_head_dim");
    of("short_conv_kernel_size", "linear_conv_kernel_dim");
    if (const auto gate = linear->find("use_full_rank_gate");
        gate != linear->end() && gate->is_boolean()) {
      put("linear_full_rank_gate", *gate);
    }
    put("moe_router_bias", true);
  }

  void read_mamba_layers() {
    const std::vector<std::int64_t> attention = numbers("attn_layer_indices");
    const auto type = [](bool attends) { return attends ? "attention" : "mamba"; };
    if (!put_listed(words("layer_types"),
                    [&](const std::string& is) { return type(is == "attention"); })) {
      put_types([&](std::int64_t layer) { return type(std::ranges::count(attention, layer) > 0); });
    }
    if (const auto shared = number("shared_intermediate_size", 0); shared > 0) {
      model_.experts.count ? model_.experts.shared_hidden = shared : model_.ffn_hidden = shared;
    }
    model_.window.reset();
  }

  void read_parallel() {
    put("layer_types", Json::array({"attention_and_mamba"}));
    put("mamba_gated_norm", flag("mamba_rms_norm", false));
  }

  void read_jamba() {
    put_every(number("attn_layer_period", 8), number("attn_layer_offset", 4), "attention", "mamba");
    model_.experts.every = number("expert_layer_period", 2);
    put("mamba_num_heads", model_.hidden.value_or(1) * number("mamba_expand", 2));
    put("mamba_head_dim", 1);
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
    put("linear_num_key_heads", model_.heads.value_or(1));
    put("linear_key_head_dim", model_.head_dim.value_or(128));
    put("linear_conv_kernel_dim", 0);
    model_.experts.ffn_hidden = model_.ffn_hidden;
  }

  /// Full layers have heads of their own, which the file's keys for all are.
  void read_gemma() {
    if (!put_listed(words("layer_types"), as_it_is)) {
      put_every(6, 5, "full_attention", "sliding_attention");
    }
    if (const auto size = number("global_head_dim", 0); size > 0) {
      put("swa_head_dim", model_.head_dim.value_or(256));
      model_.head_dim = size;
    }
    if (const auto heads = number("num_global_key_value_heads", 0); heads > 0) {
      put("swa_num_key_value_heads", model_.kv_heads.value_or(heads));
      model_.kv_heads = heads;
    }
    if (const auto inner = number("expert_intermediate_size", 0); inner > 0) {
      model_.experts.ffn_hidden = inner;
    }
    if (const auto chosen = number("top_k_experts", 0); chosen > 0) model_.experts.top_k = chosen;
    if (model_.experts.count) {
      model_.experts.shared_hidden = model_.ffn_hidden;
      report_.assumed.emplace_back("the MLP beside experts is told as a shared expert");
    }
  }

  void read_mimo() {
    put_listed(numbers("hybrid_layer_pattern"),
               [](std::int64_t is) { return is == 1 ? "sliding_attention" : "full_attention"; });
    // Heads of values have a size of their own.
    if (number("swa_head_dim", 0) == model_.head_dim) model_.mixers.erase("swa_head_dim");
    if (const auto size = number("v_head_dim", 0); size > 0) put("v_head_dim", size);
    put("moe_router_bias", true);
  }

  /// Types of layers as the file lists them.
  void read_types() { put_listed(words("layer_types"), as_it_is); }

  /// Blocks of keys in all layers but the first ones, which have no experts either.
  void read_blocks() {
    const Json* index = find("sparse_attention_config");
    const auto take = [&](const char* from, const char* to) {
      if (!index || !index->is_object()) return std::int64_t{0};
      const auto found = index->find(from);
      if (found == index->end() || !found->is_number_integer()) return std::int64_t{0};
      if (*to != '\0') put(to, *found);
      return found->get<std::int64_t>();
    };
    take("sparse_num_index_heads", "index_n_heads");
    take("sparse_index_dim", "index_head_dim");
    const std::int64_t block = take("sparse_block_size", "index_block_size");
    if (const std::int64_t blocks = take("sparse_topk_blocks", ""); blocks > 0 && block > 0) {
      put("index_topk", blocks * block);
    }
    const std::int64_t dense = model_.experts.first_dense.value_or(0);
    put_types([&](std::int64_t layer) {
      return layer < dense ? "full_attention" : "block_sparse_attention";
    });
    model_.experts.ffn_hidden = model_.ffn_hidden;
    if (const auto shared = number("n_shared_experts", 0); shared > 0) {
      model_.experts.shared_hidden = shared * model_.ffn_hidden.value_or(0);
    }
    if (const auto inner = number("dense_intermediate_size", 0); inner > 0) {
      model_.ffn_hidden = inner;
    }
    put("moe_router_bias", true);
  }

  /// Windowed layers have heads of their own, and a text lists the layers of experts.
  void read_step() {
    read_types();
    if (const Json* other = find("attention_other_setting"); other && other->is_object()) {
      const auto of = [&](const char* from, const char* to) {
        const auto found = other->find(from);
        if (found != other->end() && found->is_number_integer()) put(to, *found);
      };
      of("num_attention_heads", "swa_num_attention_heads");
      of("num_attention_groups", "swa_num_key_value_heads");
    }
    if (const Json* layers = find("moe_layers_enum"); layers && layers->is_string()) {
      const std::string text = layers->get<std::string>();
      const auto first = parse_integer(text.substr(0, text.find(',')));
      if (first && *first >= 0 && *first <= 4096) model_.experts.first_dense = *first;
    }
    put("moe_router_bias", true);
    if (flag("use_head_wise_attn_gate", false)) {
      report_.left_out.emplace_back("use_head_wise_attn_gate: a gate a head, of few parameters");
    }
  }

  /// Two attentions and two MLPs a layer, and experts beside the first of these.
  void read_longcat() {
    std::string pattern;
    for (std::int64_t layer = 0; layer < std::min<std::int64_t>(layers(), 512); ++layer) {
      pattern += "+E-+-";
    }
    put("layers_pattern", pattern);
    put("moe_router_bias", true);
    put("moe_shortcut", true);
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
    put("compression_window", model_.window.value_or(128));
    put("q_lora_rank", number("q_lora_rank", 1024));
    put("moe_router_bias", true);
    model_.window.reset();
    model_.ffn_hidden = model_.experts.ffn_hidden;
  }

  void read_mamba() {
    const std::string pattern(static_cast<std::size_t>(std::clamp<std::int64_t>(layers(), 0, 4096)),
                              'M');
    put("layers_pattern", pattern);
    if (!model_.mixers.contains("mamba_num_heads")) {
      put("mamba_num_heads",
          model_.hidden.value_or(1) * number("expand", 2) / number("head_dim", 64));
    }
    put("mamba_d_state", number("state_size", 128));
    put("mamba_head_dim", number("head_dim", 64));
    model_.head_dim.reset();
  }

  const Json& config_;
  std::string_view type_;
  ImportedModel& model_;
  ImportReport& report_;
  std::set<std::string>& used_;
};

}  // namespace

void read_mixer_fields(const Json& config, std::string_view type, const MixerKeys& keys,
                       ImportedModel& model, ImportReport& report, std::set<std::string>& used) {
  MixerReader(config, type, model, report, used).read(keys);
}

}  // namespace prequel
