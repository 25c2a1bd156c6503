#include <algorithm>

#include "hw/base/errors.hpp"
#include "models/layers/layer_teller.hpp"

namespace prequel {
namespace {

/// Passes of a kernel for a soft-cap over its elements: it reads and writes them; backward it reads
/// the gradient and its result and writes. A flash kernel has it in registers.
constexpr double kCapForward = 2;
constexpr double kCapBackward = 3;

const ScoreTraffic& score_traffic(const LayerSetting& setting, const Software& software) {
  const bool fused = setting.attention == AttentionKind::fused_softmax;
  const auto& traffic = fused ? software.kernels.fused_softmax : software.kernels.unfused;
  if (!traffic) {
    throw InputError("attention: software \"" + software.name + "\" has no \"" +
                     std::string(name(setting.attention)) +
                     "\" attention (kernels.score_traffic); another of \"unfused\", "
                     "\"fused-softmax\", \"flash\" would do");
  }
  return *traffic;
}

/// Tells projections, core and output of softmax attention.
class AttentionTeller {
 public:
  explicit AttentionTeller(LayerTeller& teller)
      : teller_(teller), ring_(teller.software.communication.context_ring) {}

  void tell() {
    teller_.model.is_latent() ? tell_latent_projections() : tell_qkv();
    tell_attention_core();
    tell_projection();
  }

 private:
  /// The fourth product, after queries, keys and values.
  void tell_projection() {
    LayerTeller::Split split = teller_.split_inputs();
    split.operator_share = 1;
    teller_.tell_linear("projection", teller_.tokens, teller_.model.hidden,
                        teller_.model.attention_width(), split);
  }

  void tell_qkv() {
    const auto tp = real(teller_.setting.tp);
    const double elements = real(teller_.tokens * teller_.model.qkv_width()) / tp;
    LayerTeller::Split split = teller_.split_outputs();
    split.bias = teller_.model.qkv_bias;
    split.kept = elements * teller_.element;
    split.feeds = OffloadModule::core_attn;
    // Queries, keys and values are a product each; every second one is that of keys.
    const double keys = real(teller_.model.kv_heads * teller_.model.head_dim);
    split.operator_share = keys / real(teller_.model.qkv_width());
    teller_.tell_linear("qkv", teller_.tokens, teller_.model.qkv_width(), teller_.model.hidden,
                        split);
    teller_.tell_cast("qkv cast", Module::other, 0, elements);
    // Splitting into heads and merging; rotary positions read and write all once more.
    const double width = real(teller_.model.qkv_width()) / real(teller_.model.hidden);
    const double passes = teller_.model.position == PositionEmbedding::rope ? 2 * width : width;
    const double part =
        real((teller_.model.heads + teller_.model.kv_heads) * teller_.model.head_dim) /
        real(teller_.model.hidden);
    const bool copied =
        teller_.model.position == PositionEmbedding::rope && teller_.software.memory.keeps_copies;
    teller_.tell_pointwise("heads", Module::other, passes, passes + 1, tp,
                           copied ? part * teller_.token_bytes / tp : 0);
    if (teller_.model.qk_norm) {
      teller_.tell_pointwise("query and key norms", Module::norm, 2 * part, 5 * part, tp,
                             part * teller_.token_bytes / tp, 2 * teller_.model.head_dim);
    }
  }

  /// Down to the latent vectors, and up to heads again (arXiv 2405.04434, section 2.1).
  void tell_latent_projections() {
    const LatentAttention& latent = teller_.model.latent;
    const auto tp = real(teller_.setting.tp);
    const std::int64_t queries = teller_.model.heads * teller_.model.key_dim();
    const std::int64_t down = latent.q_rank + latent.kv_rank + latent.rope;
    const std::int64_t up = teller_.model.heads * (latent.nope + latent.value);
    const auto bytes = [&](std::int64_t width) {
      return real(teller_.tokens * width) * teller_.element;
    };
    const LayerTeller::Split whole{};
    LayerTeller::Split heads{.ranks = teller_.setting.tp,
                             .module = Module::mla_up_projection,
                             .feeds = OffloadModule::core_attn};

    LayerTeller::Split narrow = whole;
    narrow.kept = bytes(2 * latent.kv_rank + latent.rope);  // before its norm and behind
    if (latent.q_rank > 0) {
      LayerTeller::Split query = whole;
      query.kept = bytes(2 * latent.q_rank);
      teller_.tell_linear("q down", teller_.tokens, latent.q_rank, teller_.model.hidden, query);
      heads.kept = bytes(queries) / tp;
      teller_.tell_linear("q up", teller_.tokens, queries, latent.q_rank, heads);
    } else {
      heads.kept = bytes(queries) / tp;
      teller_.tell_linear("q", teller_.tokens, queries, teller_.model.hidden, heads);
    }
    teller_.tell_linear("kv down", teller_.tokens, latent.kv_rank + latent.rope,
                        teller_.model.hidden, narrow);
    // Keys get the part with positions of all heads; values are a part of what comes up.
    heads.kept = bytes(teller_.model.heads * teller_.model.key_dim() + up) / tp;
    teller_.tell_linear("kv up", teller_.tokens, up, latent.kv_rank, heads);
    teller_.tell_cast("latent casts", Module::other,
                      real(teller_.tokens * (latent.q_rank + latent.kv_rank)),
                      real(teller_.tokens) * (real(down) + real(queries + up) / tp));
    // Norms of the narrow vectors; queries, keys and values to heads, keys repeated.
    const double of_hidden = 1.0 / real(teller_.model.hidden);
    const double norms = 2 * real(latent.q_rank + latent.kv_rank) * of_hidden;
    teller_.tell_pointwise("latent norms", Module::norm, norms, 2.5 * norms, 1, 0,
                           latent.q_rank + latent.kv_rank);
    const double copies =
        (4 * real(queries) + 2 * real(teller_.model.heads * latent.value)) * of_hidden;
    teller_.tell_pointwise("heads", Module::mla_up_projection, copies, copies, tp);
  }

  /// What selective recompute repeats: scores, softmax, dropout, context.
  void tell_attention_core() {
    const auto cp = real(teller_.setting.cp);
    const std::int64_t heads = teller_.model.heads / teller_.setting.tp;
    const std::int64_t kv_heads =
        std::max<std::int64_t>(1, teller_.model.kv_heads / teller_.setting.tp);
    AttentionCore core;
    core.kind = teller_.setting.attention;
    core.shape = {teller_.setting.mbs, teller_.setting.seq_len / teller_.setting.cp, heads,
                  kv_heads, teller_.model.key_dim()};
    core.shape.value_dim = teller_.model.value_dim();
    core.shape.kv_seq = teller_.setting.seq_len;
    core.shape.window = teller_.kind.span == AttentionSpan::window ? teller_.model.window : 0;
    core.shape.chunk = teller_.kind.span == AttentionSpan::chunk ? teller_.model.chunk : 0;
    core.shape.precision = teller_.setting.precision;
    const double scores = real(teller_.setting.mbs * heads) * real(teller_.setting.seq_len) *
                          real(teller_.setting.seq_len) / cp;
    double kept = 0;
    if (teller_.setting.attention != AttentionKind::flash) {
      const ScoreTraffic& traffic = score_traffic(teller_.setting, teller_.software);
      core.score_forward_bytes = traffic.forward_bytes * scores;
      core.score_backward_bytes = traffic.backward_bytes * scores;
      if (teller_.model.score_cap) {
        core.score_forward_bytes += kCapForward * teller_.element * scores;
        core.score_backward_bytes += kCapBackward * teller_.element * scores;
      }
      core.score_forward_time = traffic.forward_time * scores;
      core.score_backward_time = traffic.backward_time * scores;
      kept =
          (teller_.software.memory.score_bytes + (teller_.model.score_cap ? teller_.element : 0)) *
          scores;
    }
    tell_context_exchange();
    const std::int64_t sinks = teller_.model.attention_sinks ? teller_.model.heads : 0;
    if (teller_.kind.span == AttentionSpan::window && sinks > 0 &&
        teller_.setting.attention == AttentionKind::flash) {
      tell_sink_gradients(heads);
    }
    teller_.tell({"attention", core, Module::core_attention, sinks, false, kept, 0});
    // The context is kept for the projection whether or not the core is repeated.
    const double context =
        real(teller_.tokens * teller_.model.attention_width()) / real(teller_.setting.tp);
    teller_.tell({"context", PointwiseKernels{}, Module::other, 0, false, context * context_bytes(),
                  0, OffloadModule::attn_proj});
    teller_.tell_cast("context cast", Module::other, context,
                      real(teller_.tokens * teller_.model.hidden));
  }

  [[nodiscard]] double context_bytes() const {
    if (teller_.software.memory.context_bytes > 0) return teller_.software.memory.context_bytes;
    const bool twice =
        teller_.setting.attention == AttentionKind::flash && teller_.operand != teller_.element;
    return teller_.operand + (twice ? teller_.element : 0);
  }

  /// What builds without a windowed kernel for sinks move beside it.
  void tell_sink_gradients(std::int64_t heads) {
    const double bytes =
        real(teller_.tokens * heads) * teller_.software.kernels.sink_backward_bytes;
    if (bytes == 0) return;
    teller_.tell({"sink gradients", PointwiseKernels{StreamKind::fused_pointwise, 0, bytes},
                  Module::core_attention});
  }

  /// Keys and values of the other context ranks, or heads in exchange for tokens.
  void tell_context_exchange() {
    if (teller_.setting.cp == 1) return;
    const auto tp = real(teller_.setting.tp);
    const std::int64_t heads = std::max(teller_.model.kv_heads, teller_.setting.tp);
    const double widths = real(teller_.model.key_dim() + teller_.model.value_dim());
    const double kv = real(teller_.tokens * heads) * widths / tp * teller_.element;
    switch (teller_.setting.context_comm) {
      case ContextComm::p2p:
      case ContextComm::a2a_p2p:
        tell_context_ring(real(teller_.tokens * (ring_.whole_heads ? teller_.model.heads : heads)) *
                          widths / tp);
        break;
      case ContextComm::all_gather:
        teller_.tell_collective("context gather", GroupAxis::context, kv * real(teller_.setting.cp),
                                CollectiveOp::all_gather, CollectiveOp::reduce_scatter);
        break;
      case ContextComm::a2a: {
        const double q_and_out =
            real(teller_.tokens * teller_.model.heads) * widths / tp * teller_.element;
        // Each rank gets a head of keys and values at least, if need be a copy.
        const double copies = std::max(1.0, tp * real(teller_.setting.cp) / real(heads));
        teller_.tell_collective("context exchange", GroupAxis::context, copies * kv + q_and_out,
                                CollectiveOp::all_to_all, CollectiveOp::all_to_all);
        break;
      }
    }
  }

  /// `elements` of keys and values a step; and each step adds what it computed to what earlier ones
  /// did.
  void tell_context_ring(double elements) {
    const double gradient = ring_.gradient_bytes > 0 ? ring_.gradient_bytes : teller_.element;
    teller_.tell({"context ring", KeyValueRing{{elements * teller_.element}, {elements * gradient}},
                  Module::core_attention});
    const double results = real(teller_.tokens * teller_.model.attention_width()) /
                           real(teller_.setting.tp) * real(teller_.setting.cp);
    teller_.tell({"context merge",
                  PointwiseKernels{StreamKind::fused_pointwise, ring_.forward_bytes * results,
                                   ring_.backward_bytes * results},
                  Module::core_attention});
  }

  LayerTeller& teller_;
  const ContextRingStack& ring_;
};

}  // namespace

void tell_attention(LayerTeller& teller) {
  AttentionTeller(teller).tell();
}

}  // namespace prequel
