#include "cli/import/settings/megatron_flags.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/import/settings/flag_effects.hpp"
#include "hw/base/csv.hpp"

namespace prequel {
namespace {

/// Words of an enumeration, by its own names.
template <class Enum>
bool take_words(std::optional<WordSet<Enum>>& field, const std::vector<std::string>& words) {
  WordSet<Enum> set;
  for (const std::string& word : words) {
    const auto value = named<Enum>(word);
    if (!value) return false;
    set.add(*value);
  }
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

constexpr ListFlag kLists[] = {
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
       return take_words(job.plan.recompute_modules, words);
     },
     true},
    {"--offload-modules",
     [](ImportedJob& job, const std::vector<std::string>& words) {
       return take_words(job.plan.offload_modules, words);
     },
     true},
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
