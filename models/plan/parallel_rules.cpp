#include "models/plan/ruling.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "models/layers/parameters.hpp"
#include "models/plan/layout.hpp"
#include "models/plan/stages.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kAlignedHeads = 8;  // elements: 16 bytes in fp16, see hw/kernels/gemm.hpp

/// tp divides `count`; one that would do divides `all` that it must divide.
void must_divide(Ruling& its, std::string_view what, std::int64_t count, std::int64_t all) {
  if (count % its.plan.tp == 0) return;
  its.problem([&] {
    return fmt::format("tp {}: {} {} is not a multiple of it; tp {} would do", its.plan.tp, what,
                       count, nearest_divisor(all, its.plan.tp));
  });
}

bool has_dense_layers(const Ruling& its) {
  return std::ranges::any_of(distinct_kinds(its.model),
                             [](const LayerKind& kind) { return kind.feed == Feed::mlp; });
}

/// The nearest head counts, fewer and more, with an aligned head size that tp divides.
std::string good_head_counts(const Ruling& its) {
  const std::int64_t width = its.model.attention_width();
  const auto good = [&](std::int64_t heads) {
    return heads > 0 && width % heads == 0 && (width / heads) % kAlignedHeads == 0 &&
           heads % its.plan.tp == 0;
  };
  std::string text;
  for (std::int64_t heads = its.model.heads - 1; heads > 0 && text.empty(); --heads) {
    if (good(heads)) text = fmt::format("{} heads (size {})", heads, width / heads);
  }
  for (std::int64_t heads = its.model.heads + 1; heads <= width / kAlignedHeads; ++heads) {
    if (!good(heads)) continue;
    text += fmt::format("{}{} heads (size {})", text.empty() ? "" : " or ", heads, width / heads);
    break;
  }
  return text.empty() ? "choose another hidden size" : text + " would be aligned";
}

}  // namespace

namespace {

/// Tests whether some layer has a mixer that keeps `test`. A model that lists none has attention
/// alone, which spares searches the look at its layers.
template <class Test>
bool some_mixer(const Ruling& its, const Test& test) {
  const Transformer& model = its.model;
  if (model.pattern.empty() && model.mixers.empty() && model.next_token_pattern.empty()) {
    return test(Mixer::attention);
  }
  return std::ranges::any_of(distinct_kinds(model), test, &LayerKind::mixer);
}

/// Heads of the recurrence are split over tensor and context ranks.
void check_recurrent_heads(Ruling& its) {
  const std::int64_t ranks = its.plan.tp * its.plan.cp;
  const auto must = [&](std::string_view what, std::int64_t heads, std::int64_t by) {
    if (heads % by == 0) return;
    its.problem([&] {
      return fmt::format("{} {}: {} {} are not a multiple of it; {} would do",
                         by == ranks && its.plan.cp > 1 ? "tp x cp" : "tp", by, what, heads,
                         nearest_divisor(heads, by));
    });
  };
  // Files of families with both kinds of layers may have one alone.
  const bool recurs = some_mixer(its, [](Mixer mixer) {
    return mixer == Mixer::attention_and_state_space ||
           (mixer != Mixer::none && !is_softmax(mixer));
  });
  if (!recurs) return;
  if (const StateSpace& state = its.model.state_space; state.heads > 0) {
    must("mamba_num_heads", state.heads, ranks);
    if (!state.is_selective()) must("mamba_n_groups", state.groups, its.plan.tp);
    const std::int64_t groups = std::max<std::int64_t>(1, state.groups / its.plan.tp);
    if (groups % its.plan.cp != 0 && its.plan.cp % groups != 0) {
      its.problem([&] {
        return fmt::format(
            "cp {}: a tensor rank has {} of mamba_n_groups, neither a multiple of it "
            "nor a divisor; cp {} would do",
            its.plan.cp, groups, nearest_divisor(groups, its.plan.cp));
      });
    }
  }
  if (const LinearAttention& linear = its.model.linear_attention; linear.key_heads > 0) {
    must("linear_num_key_heads", linear.key_heads, ranks);
    must("linear_num_value_heads", linear.value_heads, ranks);
  }
}

}  // namespace

void check_tensor_parallel(Ruling& its) {
  check_recurrent_heads(its);
  const std::int64_t all =
      std::gcd(std::gcd(its.model.heads, its.model.kv_heads), its.model.ffn_hidden);
  const bool attends = some_mixer(its, is_softmax);
  if (attends) must_divide(its, "heads", its.model.heads, all);
  const bool replicated = its.plan.tp > its.model.kv_heads && its.plan.tp % its.model.kv_heads == 0;
  if (replicated && attends) {
    its.warn("tp {}: more ranks than the {} heads of keys and values, which are replicated",
             its.plan.tp, its.model.kv_heads);
  } else if (attends && its.model.kv_heads != its.model.heads) {
    must_divide(its, "kv_heads", its.model.kv_heads, all);
  }
  if (its.model.ffn_hidden % its.plan.tp != 0 && has_dense_layers(its)) {
    must_divide(its, "ffn_hidden", its.model.ffn_hidden, all);
  }
  if (!its.model.mixers.empty()) {  // where they have widths of their own
    for (const LayerKind& kind : distinct_kinds(its.model)) {
      if (kind.inner > 0) must_divide(its, "intermediate_sizes", kind.inner, kind.inner);
    }
  }
  if (its.model.short_conv > 0) must_divide(its, "hidden_size", its.model.hidden, all);
  if (its.wording == Wording::all && its.plan.tp > 1 && its.is_legal &&  // only to warn of it
      group_shape(its.cluster, its.plan.gpus, its.plan.tp, 1).crosses_network()) {
    its.warn(
        "tp {}: tensor-parallel groups span nodes of {} GPUs; their all-reduces "
        "cross the network",
        its.plan.tp, its.cluster.devices_per_node);
  }
  if (its.plan.attention != AttentionKind::flash && its.plan.precision != Precision::fp32 &&
      its.model.head_dim % kAlignedHeads != 0) {
    its.warn(
        "head size {} ({} heads) is not a multiple of 8: the attention products "
        "leave the tensor cores; {}",
        its.model.head_dim, its.model.heads, good_head_counts(its));
  }
  if (its.plan.sequence_parallel) {
    if (its.plan.tp == 1 && its.request.sequence_parallel) {
      its.warn("sequence_parallel: no effect with tp 1");
    }
    const std::int64_t ranks = its.plan.tp * its.plan.cp;
    if (its.plan.seq_len % ranks != 0) {
      its.problem([&] {
        return fmt::format(
            "sequence_parallel: seq_len {} is not a multiple of {} {}; seq_len {} would do",
            its.plan.seq_len, its.plan.cp == 1 ? "tp" : "tp x cp =", ranks,
            nearest_multiples(ranks, its.plan.seq_len));
      });
    }
  }
}

namespace {

/// Heads of keys and values that a tensor rank has; latent attention has them for each query's.
std::int64_t kv_heads_of_rank(const Ruling& its) {
  const std::int64_t heads = its.model.is_latent() ? its.model.heads : its.model.kv_heads;
  return std::max<std::int64_t>(1, heads / its.plan.tp);
}

/// A rank of Ulysses gets a part of the heads of keys and values, too, or copies of them.
void check_shared_heads(Ruling& its) {
  const std::int64_t heads = kv_heads_of_rank(its);
  if (!its.software.kernels.transformer_engine) {
    its.warn(
        "cp_comm a2a: cp {} is not a divisor of the {} heads of keys and values of a rank, "
        "which are replicated",
        its.plan.cp, heads);
    return;
  }
  its.problem([&] {
    return fmt::format(
        "cp_comm a2a: Transformer Engine shares out heads, and of keys and values a rank has {} "
        "(tp {}), no multiple of cp {}; cp {} or cp_comm p2p would do",
        heads, its.plan.tp, its.plan.cp, nearest_divisor(heads, its.plan.cp));
  });
}

}  // namespace

void check_context_parallel(Ruling& its) {
  if (its.plan.cp == 1) return;
  const std::int64_t pieces = 2 * its.plan.cp;
  if (its.plan.seq_len % pieces != 0) {
    its.problem([&] {
      return fmt::format("cp {}: seq_len {} is not a multiple of 2 cp = {}; {} would do",
                         its.plan.cp, its.plan.seq_len, pieces,
                         nearest_multiples(pieces, its.plan.seq_len));
    });
  }
  if (its.plan.attention != AttentionKind::flash) {
    its.problem([&] {
      return fmt::format("cp {}: needs attention flash, not {}", its.plan.cp,
                         name(its.plan.attention));
    });
  }
  // Ulysses: a rank has all tokens of its share of a tensor rank's heads.
  const std::int64_t ranks = its.plan.tp * its.plan.cp;
  if (its.request.cp_comm && its.plan.cp_comm == ContextComm::a2a_p2p) {
    its.warn("cp_comm a2a+p2p: priced as p2p, whose rings it makes shorter");
  }
  if (its.plan.cp_comm == ContextComm::a2a && its.model.heads % ranks != 0) {
    its.problem([&] {
      return fmt::format(
          "cp_comm a2a: heads {} is not a multiple of tp x cp = {}; cp_comm p2p "
          "would do",
          its.model.heads, ranks);
    });
  } else if (its.plan.cp_comm == ContextComm::a2a && kv_heads_of_rank(its) % its.plan.cp != 0) {
    check_shared_heads(its);
  }
  if (its.model.window > 0 && its.software.kernels.transformer_engine &&
      (its.plan.cp_comm == ContextComm::p2p || its.plan.cp_comm == ContextComm::a2a_p2p)) {
    its.warn(
        "cp_comm {}: Transformer Engine, which {} calls, has sliding windows over context ranks "
        "with a2a or all-gather alone; priced all the same",
        name(its.plan.cp_comm), its.software.name);
  }
}

namespace {

/// Warns of a vocabulary whose embedding outweighs half a layer: it unbalances the end stages where
/// layers are not dealt by cost. The remedy is the one that the framework knows.
void warn_of_heavy_embedding(Ruling& its) {
  if (its.software.stage_dealing == StageDealing::by_cost) return;
  const double weight =
      static_cast<double>(embedding_parameters(
          its.model, padded_vocab(its.model.vocab, its.plan.tp, its.software.vocab_multiple))) /
      static_cast<double>(layer_parameters(its.model));
  const std::int64_t chunks = its.plan.pp * its.plan.vpp;
  const std::int64_t below = (its.model.layers + 2) / chunks * chunks - 2;
  if (weight < 0.5 || below < chunks || (its.model.layers + 2) % chunks == 0) return;
  if (its.software.stage_dealing == StageDealing::balanced) {
    its.warn(
        "the embedding weighs as much as {:.1f} layers, on the first stage and the last: a layout "
        "with fewer layers there would balance pp {} (a search proposes some)",
        weight, its.plan.pp);
    return;
  }
  its.warn(
      "the embedding weighs as much as {:.1f} layers, on the first stage and the "
      "last: {} or {} layers with stage_split embedding-as-layer "
      "would balance pp {}",
      weight, below, below + chunks, its.plan.pp);
}

void warn_of_uneven_stages(Ruling& its) {
  const auto stages = deal_stages(its.model.layers, its.plan.pp, its.plan.vpp,
                                  its.software.stage_dealing, its.plan.stage_split);
  if (its.plan.stage_split != StageSplit::blocks) return;
  std::map<std::int64_t, std::int64_t, std::greater<>> counts;  // of stages, by their layers
  for (const StageContent& stage : stages) ++counts[stage.blocks];
  if (counts.size() > 1) {
    const std::int64_t most = counts.begin()->first;
    const std::int64_t last = stages.back().blocks;
    std::string others;
    for (const auto& [layers, count] : counts) {
      if (layers == most) continue;
      others += layers == last && count == 1 ? fmt::format(" and the last of {}", layers)
                                             : fmt::format(", {} of {}", count, layers);
    }
    its.warn("{} layers on pp {}: {} {} of {} layers{}; the speed is that of {}", its.model.layers,
             its.plan.pp, counts.begin()->second, its.plan.vpp > 1 ? "chunks" : "stages", most,
             others, most);
  }
  warn_of_heavy_embedding(its);
}

}  // namespace

void check_pipeline(Ruling& its) {
  if (its.plan.vpp > 1 && its.plan.pp == 1) {
    its.problem([&] {
      return fmt::format("vpp {}: chunks need pipeline stages, and pp is 1; vpp 1 would do",
                         its.plan.vpp);
    });
    return;
  }
  const std::string unfit = stages_problem(its.plan.schedule, its.plan.pp, its.plan.vpp);
  if (!unfit.empty()) its.problem([&] { return unfit; });
  const std::string refusal =
      its.plan.layout.empty()
          ? stage_problem(its.model.layers, its.plan.pp, its.plan.vpp, its.software.stage_dealing,
                          its.plan.stage_split)
          : layout_problem(its.plan.layout, its.model, its.plan.pp * its.plan.vpp);
  if (!refusal.empty()) {
    its.problem([&] { return refusal; });
    return;
  }
  if (its.wording == Wording::all && its.plan.pp > 1 && its.plan.layout.empty())
    warn_of_uneven_stages(its);
}

}  // namespace prequel
