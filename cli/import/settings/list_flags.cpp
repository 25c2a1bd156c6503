#include "cli/import/settings/megatron_flags.hpp"
#include "models/shape/layer_pattern.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/import/settings/flag_effects.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// Words of an enumeration, by its own names; those that are not known are left out, one by one.
template <class Enum>
bool take_words(const char* flag, ImportedJob& job, std::optional<WordSet<Enum>>& field,
                const std::vector<std::string>& words) {
  WordSet<Enum> set;
  for (const std::string& word : words) {
    if (const auto value = named<Enum>(word)) {
      set.add(*value);
    } else {
      job.report.left_out.push_back(
          fmt::format("{} {} is not known; predicted without it", flag, printable(word)));
    }
  }
  if (set.empty() && !words.empty()) return false;
  field = set;
  return true;
}

/// Graphs of the whole iteration, or of modules of each layer; of whole layers where none is named.
bool graphs_of(ImportedJob& job, const std::vector<std::string>& words) {
  WordSet<GraphedModule> graphs;
  for (const std::string& word : words) {
    const auto value = word == "full_iteration" ? GraphedModule::full : named<GraphedModule>(word);
    if (!value) return false;
    graphs.add(*value);
  }
  job.graphed = graphs;
  return true;
}

/// One kind, perhaps said once for each layer.
bool context_comm(ImportedJob& job, const std::vector<std::string>& words) {
  if (words.empty() || std::ranges::count(words, words.front()) != std::ssize(words)) return false;
  job.plan.cp_comm =
      words.front() == "all_gather" ? ContextComm::all_gather : named<ContextComm>(words.front());
  return job.plan.cp_comm.has_value();
}

/// GPT-NeoX's kinds of attention, each with how many layers have it: one kernel or products.
bool attention_of(ImportedJob& job, const std::vector<std::string>& words) {
  std::optional<AttentionKind> attention;
  for (const std::string& word : words) {
    if (word == "all" || parse_integer(word)) continue;
    if (word != "flash" && word != "global") return false;
    const AttentionKind kind =
        word == "flash" ? AttentionKind::flash : AttentionKind::fused_softmax;
    if (attention && attention != kind) return false;
    attention = kind;
  }
  if (attention) job.plan.attention = attention;
  return attention.has_value();
}

/// PyTorch's names of pipeline schedules, as torchtitan has them.
bool schedule_of(ImportedJob& job, const std::vector<std::string>& words) {
  struct Known {
    std::string_view word;
    Schedule schedule;
    std::int64_t vpp;
  };
  constexpr Known kKnown[] = {{"GPipe", Schedule::gpipe, 1},
                              {"1F1B", Schedule::one_f_one_b, 1},
                              {"Interleaved1F1B", Schedule::interleaved, 2},
                              {"ZBVZeroBubble", Schedule::zb_v, 2},
                              {"DualPipeV", Schedule::dualpipe_v, 2}};
  if (words.size() != 1) return false;
  const auto found = std::ranges::find(kKnown, words.front(), &Known::word);
  if (found == std::end(kKnown)) return false;
  job.plan.schedule = found->schedule;
  job.plan.vpp = found->vpp;
  return true;
}

/// Which of torchtitan's converters change the format of products.
bool converters(ImportedJob& job, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.ends_with("float8")) {
      products_in_fp8(job);
    } else if (word == "mx" || word.ends_with(".mx")) {
      mixed<Fp8Recipe::mxfp8>(job);
    } else {
      return false;
    }
  }
  return true;
}

/// Tokens to the left and, as for all decoders, none to the right.
bool window(ImportedJob& job, const std::vector<std::string>& words) {
  const auto tokens = words.empty() ? std::nullopt : parse_integer(words.front());
  if (!tokens || *tokens < 1 || *tokens > (1LL << 24)) return false;
  job.model.window = *tokens;
  return true;
}

/// One number, or one for each layer that has experts.
bool experts_of(ImportedJob& job, const std::vector<std::string>& words) {
  std::int64_t most = 0;
  bool differ = false;
  for (const std::string& word : words) {
    const auto count = parse_integer(word);
    if (!count || *count < 0 || *count > (1LL << 20)) return false;
    differ = differ || (most > 0 && *count != most);
    most = std::max<std::int64_t>(most, *count);
  }
  if (words.empty()) return false;
  job.model.experts.count = most;
  if (differ) {
    job.report.left_out.push_back(
        fmt::format("--num-experts: differs from layer to layer; predicted with {} in each", most));
  }
  return true;
}

/// Layers of MindSpeed that only fill up stages and pass on what they get.
bool idle_layers(ImportedJob& job, const std::vector<std::string>& words) {
  if (words.empty() || !std::ranges::all_of(words, [](const std::string& word) {
        return parse_integer(word).has_value();
      })) {
    return false;
  }
  job.idle_layers = std::ssize(words);
  return true;
}

/// MindSpeed's layers of each stage: `4,5,5,6`.
bool layers_of_stages(ImportedJob& job, const std::vector<std::string>& words) {
  constexpr long long kMost = 1 << 12;
  std::string layout;
  for (const std::string& word : words) {
    const auto layers = parse_integer(word);
    if (!layers || *layers < 1 || *layers > kMost) return false;
    layout += fmt::format("{}t*{}", layout.empty() ? "E" : "|", *layers);
  }
  if (words.size() < 2 || words.size() > 1024) return false;
  job.plan.layout = layout + "L";
  return true;
}

/// MindSpeed-LLM's `--interleave-sliding-window 4096`: of every second layer.
bool window_of_every_second(ImportedJob& job, const std::vector<std::string>& words) {
  if (!window(job, words)) return false;
  job.model.full_every = 2;
  return true;
}

template <std::optional<double> ImportedModel::*kCap>
bool cap(ImportedJob& job, const std::vector<std::string>& words) {
  const auto most = words.size() == 1 ? parse_number(words.front()) : std::nullopt;
  if (!most || !(*most > 0 && *most < 1e6)) return false;
  job.model.*kCap = *most;
  return true;
}

/// A size of a mixer, under its key of model files.
template <auto kKey>
bool mixer_size(ImportedJob& job, const std::vector<std::string>& words) {
  const auto size = words.size() == 1 ? parse_integer(words.front()) : std::nullopt;
  if (!size || *size < 1 || *size > (1LL << 24)) return false;
  job.model.mixers[kKey()] = std::to_string(*size);
  return true;
}

/// Letters of sublayers; bars between them deal layers to pipeline chunks.
bool layer_pattern(ImportedJob& job, const std::vector<std::string>& words) {
  if (words.size() != 1) return false;
  const auto parsed = parse_layer_pattern(words.front());
  const auto* const pattern = std::get_if<LayerPattern>(&parsed);
  if (!pattern) return false;
  std::string letters = words.front();
  std::erase(letters, '|');
  job.model.mixers["layers_pattern"] = "\"" + letters + "\"";
  job.model.layers = std::ssize(pattern->layers);
  if (pattern->depths > 0) job.model.next_token_layers = pattern->depths;
  if (pattern->chunks.size() == 1) return true;
  std::string layout;
  for (const std::int64_t layers : pattern->chunks) {
    layout += layout.empty() ? "E" : "|";
    if (layers > 0) layout += fmt::format("t*{}", layers);
  }
  job.plan.layout = layout + std::string(static_cast<std::size_t>(pattern->depths), 'm') + "L";
  return true;
}

/// Megatron's `--linear-attention-freq`: the last of every so many layers attends by softmax, or a
/// list with 1 for each that does not.
bool linear_attention(ImportedJob& job, const std::vector<std::string>& words) {
  std::string types;
  const auto add = [&](bool linear) {
    types += fmt::format("{}\"{}\"", types.empty() ? "" : ",",
                         linear ? "linear_attention" : "full_attention");
  };
  if (words.empty() || words.size() > 4096) return false;
  for (const std::string& word : words) {
    const auto number = parse_integer(word);
    if (!number || *number < 0 || *number > 4096 || (words.size() > 1 && *number > 1)) return false;
    if (words.size() > 1) {
      add(*number == 1);
      continue;
    }
    for (std::int64_t layer = 1; layer <= *number; ++layer) add(layer < *number);
  }
  job.model.mixers["layer_types"] = "[" + types + "]";
  return true;
}

/// Megatron's `--experimental-attention-variant`.
bool attention_variant(ImportedJob& job, const std::vector<std::string>& words) {
  if (words.size() != 1) return false;
  if (words.front() == "dsa") {
    job.model.mixers["layer_types"] = R"(["sparse_attention"])";
    return true;
  }
  const bool delta = words.front() == "gdn" || words.front() == "gated_delta_net";
  if (delta && !job.model.mixers.contains("layer_types")) {
    job.model.mixers["layer_types"] =
        R"(["linear_attention","linear_attention","linear_attention","full_attention"])";
  }
  return delta;
}

constexpr auto kState = [] { return "mamba_d_state"; };
constexpr auto kStateHeadDim = [] { return "mamba_head_dim"; };
constexpr auto kStateGroups = [] { return "mamba_n_groups"; };
constexpr auto kStateHeads = [] { return "mamba_num_heads"; };
constexpr auto kKeyHeads = [] { return "linear_num_key_heads"; };
constexpr auto kValueHeads = [] { return "linear_num_value_heads"; };
constexpr auto kKeyDim = [] { return "linear_key_head_dim"; };
constexpr auto kValueDim = [] { return "linear_value_head_dim"; };
constexpr auto kConvolution = [] { return "linear_conv_kernel_dim"; };
constexpr auto kIndexHeads = [] { return "index_n_heads"; };
constexpr auto kIndexDim = [] { return "index_head_dim"; };
constexpr auto kIndexKeys = [] { return "index_topk"; };
constexpr auto kLatentExperts = [] { return "moe_latent_size"; };

constexpr ListFlag kLists[] = {
    {"--hybrid-layer-pattern", layer_pattern},
    {"--hybrid-override-pattern", layer_pattern},
    {"--linear-attention-freq", linear_attention},
    {"--experimental-attention-variant", attention_variant},
    {"--mamba-state-dim", mixer_size<kState>},
    {"--mamba-head-dim", mixer_size<kStateHeadDim>},
    {"--mamba-num-groups", mixer_size<kStateGroups>},
    {"--mamba-num-heads", mixer_size<kStateHeads>},
    {"--linear-num-key-heads", mixer_size<kKeyHeads>},
    {"--linear-num-value-heads", mixer_size<kValueHeads>},
    {"--linear-key-head-dim", mixer_size<kKeyDim>},
    {"--linear-value-head-dim", mixer_size<kValueDim>},
    {"--linear-conv-kernel-dim", mixer_size<kConvolution>},
    {"--dsa-indexer-n-heads", mixer_size<kIndexHeads>},
    {"--dsa-indexer-head-dim", mixer_size<kIndexDim>},
    {"--dsa-indexer-topk", mixer_size<kIndexKeys>},
    {"--moe-latent-size", mixer_size<kLatentExperts>},
    {"--interleave-sliding-window", window_of_every_second},
    {"--attn-logit-softcapping", cap<&ImportedModel::score_cap>},
    {"--output-logit-softcapping", cap<&ImportedModel::logit_cap>},
    {"--final-logit-softcapping", cap<&ImportedModel::logit_cap>},
    {"--num-layer-list", layers_of_stages},
    {"--pipeline-model-parallel-blocks", layers_of_stages},  // Yuan's
    {"--noop-layers", idle_layers},
    {"--num-experts", experts_of},
    {"--moe-num-experts", experts_of},
    {"--recompute-modules",
     [](ImportedJob& job, const std::vector<std::string>& words) {
       return take_words("--recompute-modules", job, job.plan.recompute_modules, words);
     }},
    {"--offload-modules",
     [](ImportedJob& job, const std::vector<std::string>& words) {
       return take_words("--offload-modules", job, job.plan.offload_modules, words);
     }},
    {"--cuda-graph-scope", graphs_of, true},
    {"--cp-comm-type", context_comm},
    {"--window-size", window},
    {"--attention-config", attention_of},
    {"--pipeline-parallel-schedule", schedule_of},
    {"--converters", converters, true},
};

}  // namespace

std::span<const ListFlag> list_flags() {
  return kLists;
}

}  // namespace prequel
