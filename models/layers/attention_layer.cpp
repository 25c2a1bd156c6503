#include <algorithm>
#include <utility>

#include "hw/base/errors.hpp"
#include "models/layers/layer_teller.hpp"

namespace prequel {
namespace {

/// Passes of a kernel for a soft-cap over its elements: it reads and writes them; backward it reads
/// the gradient and its result and writes. A flash kernel has it in registers.
constexpr double kCapForward = 2;
constexpr double kCapBackward = 3;

double score_traffic(const LayerSetting& setting, const Software& software) {
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

/// Heads of the layer at hand, before any split.
struct Heads {
  std::int64_t heads{}, kv_heads{}, key_dim{}, value_dim{};
  bool keys_are_values{};
  bool gated{};

  /// Returns the width of the packed projection, with the gate's.
  [[nodiscard]] std::int64_t qkv_width() const {
    return heads * key_dim + kv_heads * key_dim + (keys_are_values ? 0 : kv_heads * value_dim) +
           (gated ? width() : 0);
  }
  /// Returns the width of attention's result.
  [[nodiscard]] std::int64_t width() const { return heads * value_dim; }
};

Heads heads_of(const Transformer& model, LayerKind kind) {
  Heads shape{model.heads,
              model.kv_heads,
              model.key_dim(),
              model.value_dim(),
              model.keys_are_values && kind.span == AttentionSpan::full,
              model.output_gate};
  if (kind.span != AttentionSpan::window) return shape;
  const WindowHeads& own = model.windowed;
  if (own.heads > 0) shape.heads = own.heads;
  if (own.kv_heads > 0) shape.kv_heads = own.kv_heads;
  if (own.head_dim > 0) shape.key_dim = shape.value_dim = own.head_dim;
  return shape;
}

/// Tells projections, core and output of softmax attention.
class AttentionTeller {
 public:
  explicit AttentionTeller(LayerTeller& teller)
      : teller_(teller), shape_(heads_of(teller.model, teller.kind)) {}

  void tell() {
    teller_.model.is_latent() ? tell_latent_projections() : tell_qkv();
    tell_attention_core();
    tell_gate();
    tell_projection();
  }

  /// Latent attention whose core sees chosen keys alone, in absorbed form: all heads share one key
  /// of latent vector and positions, and one value, the latent vector.
  void tell_sparse() {
    tell_latent_projections();
    if (teller_.kind.mixer == Mixer::sparse) tell_indexer();
    const LatentAttention& latent = teller_.model.latent;
    if (teller_.setting.attention == AttentionKind::flash) {
      tell_key_gather(latent.kv_rank + latent.rope);
      tell_chosen(std::min(teller_.model.indexer.top_k, teller_.setting.seq_len),
                  latent.kv_rank + latent.rope, latent.kv_rank);
    } else {
      tell_masked(latent.kv_rank + latent.rope, latent.kv_rank);
    }
    tell_context();
    tell_gate();
    tell_projection();
  }

  /// Attention to blocks of keys that an index branch chooses (MiniMax-M3): a flash kernel passes
  /// over all others, as it does over those before a window of so many keys.
  void tell_blocks() {
    tell_qkv();
    tell_indexer();
    tell_attention_core();
    tell_gate();
    tell_projection();
  }

  /// Attention over a window and compressed keys, all heads with one key, which is the value too.
  void tell_compressed() {
    const Transformer& model = teller_.model;
    const std::int64_t rank = model.latent.q_rank;
    const std::int64_t queries = model.heads * model.head_dim;
    const auto tp = real(teller_.setting.tp);
    LayerTeller::Split whole{};
    whole.kept = real(teller_.tokens * 2 * rank) * teller_.element;
    whole.more_parameters = rank;  // its norm
    teller_.tell_linear("q down", teller_.tokens, rank, model.hidden, whole);
    LayerTeller::Split up{.ranks = teller_.setting.tp, .module = Module::mla_up_projection};
    up.kept = real(teller_.tokens * queries) * teller_.element / tp;
    teller_.tell_linear("q up", teller_.tokens, queries, rank, up);
    LayerTeller::Split narrow{};
    narrow.kept = real(teller_.tokens * 2 * model.head_dim) * teller_.element;
    narrow.more_parameters = model.head_dim + model.heads;  // its norm; sinks
    teller_.tell_linear("kv", teller_.tokens, model.head_dim, model.hidden, narrow);
    double keys = real(std::min(model.compression.window, teller_.setting.seq_len));
    if (const std::int64_t ratio = ratio_of(teller_.kind.mixer); ratio > 0) {
      tell_compressor("compressor", ratio, model.head_dim);
      const std::int64_t compressed = teller_.setting.seq_len / ratio;
      if (teller_.kind.mixer == Mixer::compressed) {
        tell_indexer_scores(compressed, ratio);
        keys += real(std::min(model.indexer.top_k, compressed));
      } else {
        keys += real(compressed) / 2;
      }
    }
    const double pass = real(queries + model.head_dim) / real(model.hidden);
    teller_.tell_pointwise("heads", Module::other, 2 * pass, 3 * pass, tp);
    tell_key_gather(model.head_dim);
    tell_chosen(keys, model.head_dim, model.head_dim);
    tell_context();
    const CompressedAttention& out = model.compression;
    LayerTeller::Split groups{.ranks = teller_.setting.tp};
    groups.kept = real(teller_.tokens * out.out_groups * out.out_rank) * teller_.element / tp;
    teller_.tell_linear("output down", teller_.tokens, out.out_groups * out.out_rank,
                        queries / out.out_groups, groups);
    teller_.tell_linear("projection", teller_.tokens, model.hidden, out.out_groups * out.out_rank,
                        LayerTeller::Split{.inputs = true, .ranks = teller_.setting.tp});
  }

 private:
  /// Tokens that become one key.
  [[nodiscard]] static std::int64_t ratio_of(Mixer mixer) {
    return mixer == Mixer::compressed ? 4 : mixer == Mixer::compressed_far ? 128 : 0;
  }

  /// Keys made of `ratio` tokens each; those of few tokens overlap, so that there are two weights.
  void tell_compressor(std::string_view name, std::int64_t ratio, std::int64_t size) {
    const std::int64_t copies = ratio == 4 ? 2 : 1;
    LayerTeller::Split split{};
    split.kept = real(teller_.tokens * 2 * copies * size) * teller_.element;
    split.more_parameters = ratio * copies * size + size;
    teller_.tell_linear(name, teller_.tokens, 2 * copies * size, teller_.model.hidden, split);
  }

  /// Tells the choice among compressed keys: queries of the narrow vector, keys of its own size.
  void tell_indexer_scores(std::int64_t keys, std::int64_t ratio) {
    const Indexer& indexer = teller_.model.indexer;
    tell_index_queries();
    tell_compressor("index compressor", ratio, indexer.head_dim);
    tell_scores(real(keys) / 2);
  }

  void tell_index_queries() {
    const Indexer& indexer = teller_.model.indexer;
    const auto product = [&](std::string_view name, std::int64_t outputs, std::int64_t inputs) {
      teller_.tell(
          {name, LinearLayer{teller_.tokens, outputs, inputs, teller_.setting.precision, 0, true},
           Module::other, outputs * inputs, false,
           real(teller_.tokens * outputs) * teller_.element});
    };
    const std::int64_t rank = teller_.model.latent.q_rank;
    product("index queries", indexer.heads * indexer.head_dim,
            rank > 0 ? rank : teller_.model.hidden);
    // Heads of blocks choose for themselves; others have a weight each in one sum.
    if (teller_.kind.mixer == Mixer::block_sparse) return;
    product("index weights", indexer.heads, teller_.model.hidden);
  }

  /// Scores of all pairs of the causal half, and the best of them; all heads on each tensor rank,
  /// as their sum counts.
  void tell_scores(double keys) {
    const Indexer& indexer = teller_.model.indexer;
    const auto queries = real(teller_.tokens);
    SparseAttention scores{queries, keys, indexer.heads, indexer.head_dim, 0, true};
    teller_.tell({"index scores", scores, Module::other});
    teller_.tell({"index top-k",
                  PointwiseKernels{StreamKind::fused_pointwise,
                                   2 * queries * keys * 4 / real(indexer.block), 0},
                  Module::other});
  }

  /// DeepSeek-V3.2's and MiniMax-M3's: its inputs get no gradient, so its products have a weight
  /// gradient alone. With the keys come two vectors: the norm of keys, or one of queries, too.
  void tell_indexer() {
    const Indexer& indexer = teller_.model.indexer;
    tell_index_queries();
    teller_.tell({"index keys",
                  LinearLayer{teller_.tokens, indexer.head_dim, teller_.model.hidden,
                              teller_.setting.precision, 0, true},
                  Module::other, (teller_.model.hidden + 2) * indexer.head_dim, false,
                  real(teller_.tokens * indexer.head_dim) * teller_.element});
    tell_key_gather(indexer.head_dim);
    tell_scores(real(teller_.setting.seq_len) / 2);
  }

  /// Keys of all context ranks: no ring.
  void tell_key_gather(std::int64_t width) {
    if (teller_.setting.cp == 1) return;
    const double bytes = real(teller_.tokens * teller_.setting.cp * width) * teller_.element;
    teller_.tell_collective("context gather", GroupAxis::context, bytes, CollectiveOp::all_gather,
                            CollectiveOp::reduce_scatter);
  }

  void tell_chosen(double keys, std::int64_t key_dim, std::int64_t value_dim) {
    const SparseAttention core{real(teller_.tokens), keys, shape_.heads / teller_.setting.tp,
                               key_dim, value_dim};
    teller_.tell({"attention", core, Module::core_attention});
  }
  void tell_chosen(std::int64_t keys, std::int64_t key_dim, std::int64_t value_dim) {
    tell_chosen(real(keys), key_dim, value_dim);
  }

  /// Tells chosen attention without a kernel of its own (Megatron's `--dsa-kernel-backend none`):
  /// scores of all pairs in fp32, masked but for the chosen ones. The loss of an indexer learns
  /// from the heads' softmax, which is made once more for it.
  void tell_masked(std::int64_t key_dim, std::int64_t value_dim) {
    // Bytes of a score beside the products
    // (core/transformer/experimental_attention_variant/dsa.py): scale, mask and softmax read and
    // write 4 each, and a copy in 16 bits. The loss has no copy, but a sum over heads. Backward the
    // copy, the softmax (two read, one written) and the scale.
    constexpr double kForward = 30, kTargets = 28, kBackward = 26, kWide = 4;
    const LayerSetting& at = teller_.setting;
    const std::int64_t heads = shape_.heads / at.tp;
    AttentionCore core;
    core.kind = AttentionKind::unfused;
    core.shape = {at.mbs, at.seq_len, heads, heads, key_dim};
    core.shape.value_dim = value_dim;
    core.shape.kv_seq = at.seq_len;
    core.shape.precision = at.precision;
    core.score_precision = Precision::fp32;
    core.targets = teller_.kind.mixer == Mixer::sparse ? 1 : 0;
    const double scores = real(at.mbs * heads) * real(at.seq_len) * real(at.seq_len);
    core.score_forward_bytes = (kForward + kTargets * real(core.targets)) * scores;
    core.score_backward_bytes = kBackward * scores;
    teller_.tell(
        {"attention", core, Module::core_attention, 0, false, (kWide + teller_.element) * scores});
  }

  /// A sigmoid of the token beside the result: two are read, one written.
  void tell_gate() {
    if (!shape_.gated) return;
    const double width = real(shape_.width()) / real(teller_.setting.tp);
    if (teller_.model.is_latent()) {
      LayerTeller::Split split = teller_.split_outputs();
      split.kept = real(teller_.tokens) * width * teller_.element;
      teller_.tell_linear("gate", teller_.tokens, shape_.width(), teller_.model.hidden, split);
    }
    const double pass = real(teller_.tokens) * width * teller_.element *
                        teller_.software.kernels.pointwise_traffic(teller_.setting.compiled);
    teller_.tell({"output gate", PointwiseKernels{StreamKind::fused_pointwise, 3 * pass, 5 * pass},
                  Module::other, 0, false, real(teller_.tokens) * width * teller_.element});
  }

  /// The fourth product, after queries, keys and values.
  void tell_projection() {
    LayerTeller::Split split = teller_.split_inputs();
    split.operator_share = 1;
    split.adapters = teller_.adapters_of({{AdapterTarget::o, teller_.model.hidden}});
    split.module = Module::out_projection;
    teller_.tell_linear("projection", teller_.tokens, teller_.model.hidden, shape_.width(), split);
  }

  /// Returns the bytes of an element of queries, keys and values as attention keeps them: MLPerf's
  /// logged peaks of LoRA with attention in fp8 are met with these in 8 bits, its result in 16.
  [[nodiscard]] double core_element() const {
    return teller_.setting.fp8_attention ? bytes_per_element(Precision::fp8) : teller_.element;
  }

  /// Elements that copies of keys and values for each query head have more.
  [[nodiscard]] double repeated_keys() const {
    if (!teller_.keeps(KeptCopy::repeated_keys)) return 0;
    return real(teller_.tokens * (shape_.heads - shape_.kv_heads) *
                (shape_.key_dim + shape_.value_dim));
  }

  void tell_qkv() {
    const auto tp = real(teller_.setting.tp);
    const double elements = real(teller_.tokens * shape_.qkv_width()) / tp;
    LayerTeller::Split split = teller_.split_outputs();
    split.bias = teller_.model.qkv_bias;
    split.module = Module::qkv_projection;
    split.kept = (elements + repeated_keys() / tp) * core_element();
    split.feeds = OffloadModule::core_attn;
    // Queries, keys and values are a product each; every second one is that of keys.
    const double keys = real(shape_.kv_heads * shape_.key_dim);
    split.operator_share = keys / real(shape_.qkv_width());
    using enum AdapterTarget;
    const std::int64_t values = shape_.keys_are_values ? 0 : shape_.kv_heads * shape_.value_dim;
    split.adapters = teller_.adapters_of(
        {{q, shape_.heads * shape_.key_dim}, {k, shape_.kv_heads * shape_.key_dim}, {v, values}},
        AdapterTarget::qkv, shape_.qkv_width());
    teller_.tell_linear("qkv", teller_.tokens, shape_.qkv_width(), teller_.model.hidden, split);
    teller_.tell_cast("qkv cast", Module::other, 0, elements);
    // Splitting into heads and merging; rotary positions read and write all once more.
    const double width = real(shape_.qkv_width()) / real(teller_.model.hidden);
    const double passes = teller_.model.position == PositionEmbedding::rope ? 2 * width : width;
    const double part =
        real((shape_.heads + shape_.kv_heads) * shape_.key_dim) / real(teller_.model.hidden);
    const bool copied =
        teller_.model.position == PositionEmbedding::rope && teller_.keeps(KeptCopy::rotated);
    teller_.tell_pointwise("heads", Module::other, passes, passes + 1, tp,
                           copied ? part * teller_.token_bytes / tp : 0);
    if (teller_.model.qk_norm) {
      teller_.tell_pointwise("query and key norms", Module::norm, 2 * part, 5 * part, tp,
                             part * teller_.token_bytes / tp, 2 * shape_.key_dim);
    }
  }

  /// Down to the latent vectors, and up to heads again (arXiv 2405.04434, section 2.1).
  void tell_latent_projections() {
    const LatentAttention& latent = teller_.model.latent;
    const auto tp = real(teller_.setting.tp);
    const std::int64_t queries = shape_.heads * shape_.key_dim;
    const std::int64_t down = latent.q_rank + latent.kv_rank + latent.rope;
    const std::int64_t up = shape_.heads * (latent.nope + latent.value);
    const auto bytes = [&](std::int64_t width) {
      return real(teller_.tokens * width) * teller_.element;
    };
    const LayerTeller::Split whole{};
    LayerTeller::Split heads{.ranks = teller_.setting.tp,
                             .module = Module::mla_up_projection,
                             .feeds = OffloadModule::core_attn};

    heads.adapters = teller_.adapters_of({{AdapterTarget::q, queries}});
    LayerTeller::Split narrow = whole;
    narrow.adapters = teller_.adapters_of({{AdapterTarget::k, latent.kv_rank + latent.rope}});
    narrow.kept = bytes(2 * latent.kv_rank + latent.rope);  // before its norm and behind
    if (latent.q_rank > 0) {
      LayerTeller::Split query = whole;
      query.kept = bytes(2 * latent.q_rank);
      query.adapters = teller_.adapters_of({{AdapterTarget::q, latent.q_rank}});
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
    heads.kept = bytes(shape_.heads * shape_.key_dim + up) / tp;
    heads.adapters = teller_.adapters_of({{AdapterTarget::v, up}});
    teller_.tell_linear("kv up", teller_.tokens, up, latent.kv_rank, heads);
    teller_.tell_cast("latent casts", Module::other,
                      real(teller_.tokens * (latent.q_rank + latent.kv_rank)),
                      real(teller_.tokens) * (real(down) + real(queries + up) / tp));
    // Norms of the narrow vectors; queries, keys and values to heads, keys repeated.
    const double of_hidden = 1.0 / real(teller_.model.hidden);
    const double norms = 2 * real(latent.q_rank + latent.kv_rank) * of_hidden;
    teller_.tell_pointwise("latent norms", Module::norm, norms, 2.5 * norms, 1, 0,
                           latent.q_rank + latent.kv_rank);
    const double copies = (4 * real(queries) + 2 * real(shape_.heads * latent.value)) * of_hidden;
    teller_.tell_pointwise("heads", Module::mla_up_projection, copies, copies, tp);
  }

  /// Tells the operators that selective recompute repeats: scores, softmax, dropout, context.
  void tell_attention_core() {
    const auto cp = real(teller_.setting.cp);
    const std::int64_t heads = shape_.heads / teller_.setting.tp;
    const std::int64_t kv_heads = std::max<std::int64_t>(1, shape_.kv_heads / teller_.setting.tp);
    AttentionCore core;
    core.kind = teller_.setting.attention;
    core.shape = {teller_.setting.mbs, teller_.setting.seq_len / teller_.setting.cp, heads,
                  kv_heads, shape_.key_dim};
    core.shape.value_dim = shape_.value_dim;
    core.shape.kv_seq = teller_.setting.seq_len;
    core.shape.window = teller_.kind.mixer == Mixer::block_sparse    ? teller_.model.indexer.top_k
                        : teller_.kind.span == AttentionSpan::window ? teller_.model.window
                                                                     : 0;
    core.shape.chunk =
        teller_.kind.span == AttentionSpan::chunk ? teller_.model.chunk : teller_.setting.seen_len;
    core.shape.precision =
        teller_.setting.fp8_attention ? Precision::fp8 : teller_.setting.precision;
    core.score_precision = core.shape.precision;
    const double scores = real(teller_.setting.mbs * heads) * real(teller_.setting.seq_len) *
                          real(teller_.setting.seq_len) / cp;
    double kept = 0;
    if (teller_.setting.attention != AttentionKind::flash) {
      const double traffic = score_traffic(teller_.setting, teller_.software) * scores;
      const double forward = teller_.software.common.score_forward_share;
      core.score_forward_bytes = forward * traffic;
      core.score_backward_bytes = (1.0 - forward) * traffic;
      if (teller_.model.score_cap) {
        core.score_forward_bytes += kCapForward * teller_.element * scores;
        core.score_backward_bytes += kCapBackward * teller_.element * scores;
      }
      // A dropout keeps its mask and what it leaves.
      const double all = teller_.software.memory.score_bytes;
      kept = (teller_.model.score_dropout ? all : std::min(all, teller_.element)) * scores;
      if (teller_.model.score_cap) kept += teller_.element * scores;
    }
    tell_context_exchange();
    const std::int64_t sinks = teller_.model.attention_sinks ? shape_.heads : 0;
    if (teller_.kind.span == AttentionSpan::window && sinks > 0 &&
        teller_.setting.attention == AttentionKind::flash) {
      tell_sink_gradients(heads);
    }
    LayerPiece piece{"attention", core, Module::core_attention,  sinks, false,
                     kept,        0,    OffloadModule::core_attn};
    piece.result =
        real(teller_.tokens * shape_.width()) / real(teller_.setting.tp) * context_bytes();
    teller_.tell(std::move(piece));
    tell_context();
  }

  /// The context is kept for the projection whether or not the core is repeated.
  void tell_context() {
    const double context = real(teller_.tokens * shape_.width()) / real(teller_.setting.tp);
    teller_.tell({"context", PointwiseKernels{}, Module::other, 0, false, context * context_bytes(),
                  0, OffloadModule::attn_proj});
    teller_.tell_cast("context cast", Module::other, context,
                      real(teller_.tokens * teller_.model.hidden));
  }

  /// Attention's own backward reads it where a flash kernel is used.
  [[nodiscard]] double context_bytes() const {
    if (!teller_.keeps_input_of({AdapterTarget::o})) {
      return teller_.setting.attention == AttentionKind::flash ? teller_.element : 0;
    }
    const bool twice =
        teller_.setting.attention == AttentionKind::flash && teller_.operand != teller_.element;
    return teller_.operand + (twice ? teller_.element : 0);
  }

  /// Tells the bytes that builds without a windowed kernel for sinks move beside it.
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
    const std::int64_t heads = std::max(shape_.kv_heads, teller_.setting.tp);
    const double widths = real(shape_.key_dim + shape_.value_dim);
    const double kv = real(teller_.tokens * heads) * widths / tp * teller_.element;
    switch (teller_.setting.context_comm) {
      case ContextComm::p2p:
      case ContextComm::a2a_p2p: tell_context_ring(heads, widths / tp); break;
      case ContextComm::all_gather:
        teller_.tell_collective("context gather", GroupAxis::context, kv * real(teller_.setting.cp),
                                CollectiveOp::all_gather, CollectiveOp::reduce_scatter);
        break;
      case ContextComm::a2a: {
        const double q_and_out =
            real(teller_.tokens * shape_.heads) * widths / tp * teller_.element;
        // Each rank gets a head of keys and values at least, if need be a copy.
        const double copies = std::max(1.0, tp * real(teller_.setting.cp) / real(heads));
        teller_.tell_collective("context exchange", GroupAxis::context, copies * kv + q_and_out,
                                CollectiveOp::all_to_all, CollectiveOp::all_to_all);
        break;
      }
    }
  }

  /// Tells a ring of context ranks, of so many heads of keys and values a step. Each step adds its
  /// context to that of earlier ones: Transformer Engine's reads and writes it in fp32, and
  /// backward gradients in 16 bits. PyTorch's repeats keys and values for each query head
  /// beforehand, has gradients in fp32 and merges by separate kernels, counted in PyTorch 2.6
  /// (torch/distributed/tensor/experimental/_attention.py): 32 bytes an element, and 60 backward.
  void tell_context_ring(std::int64_t kv_heads, double widths) {
    const bool fused = teller_.software.kernels.transformer_engine;
    const double elements = real(teller_.tokens * (fused ? kv_heads : shape_.heads)) * widths;
    const double gradient = fused ? teller_.element : 4.0;
    const double forward = fused ? 8.0 : 32.0, backward = fused ? 4.0 : 60.0;
    teller_.tell({"context ring", KeyValueRing{{elements * teller_.element}, {elements * gradient}},
                  Module::core_attention});
    const double results =
        real(teller_.tokens * shape_.width()) / real(teller_.setting.tp) * real(teller_.setting.cp);
    teller_.tell(
        {"context merge",
         PointwiseKernels{StreamKind::fused_pointwise, forward * results, backward * results},
         Module::core_attention});
  }

  LayerTeller& teller_;
  const Heads shape_;
};

}  // namespace

void tell_attention(LayerTeller& teller) {
  AttentionTeller(teller).tell();
}

void tell_sparse_attention(LayerTeller& teller) {
  AttentionTeller(teller).tell_sparse();
}

void tell_block_attention(LayerTeller& teller) {
  AttentionTeller(teller).tell_blocks();
}

void tell_compressed_attention(LayerTeller& teller) {
  AttentionTeller(teller).tell_compressed();
}

}  // namespace prequel
