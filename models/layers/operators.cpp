#include "models/layers/operators.hpp"

#include "hw/base/errors.hpp"

namespace prequel {
namespace {

/// The shapes that all operators of one setting share.
struct Shapes {
  Shapes(const Transformer& model, const LayerSetting& setting)
      : tokens(setting.mbs * setting.seq_len),
        token_bytes(static_cast<double>(tokens * model.hidden) *
                    bytes_per_element(setting.precision)),
        tp(static_cast<double>(setting.tp)) {}

  std::int64_t tokens;  ///< of one micro batch
  double token_bytes;   ///< of the hidden states of one micro batch
  double tp;
};

Gemm linear(const LayerSetting& setting, std::int64_t tokens, std::int64_t outputs,
            std::int64_t inputs, GemmPass pass) {
  switch (pass) {
    case GemmPass::forward: return {tokens, outputs, inputs, 1, setting.precision, pass};
    case GemmPass::dgrad: return {tokens, inputs, outputs, 1, setting.precision, pass};
    case GemmPass::wgrad: return {outputs, inputs, tokens, 1, setting.precision, pass};
  }
  return {};
}

/// dgrad and wgrad of a linear layer.
void add_linear_backward(Operators& list, std::string_view name, const LayerSetting& setting,
                         std::int64_t tokens, std::int64_t outputs, std::int64_t inputs) {
  list.push_back({name, linear(setting, tokens, outputs, inputs, GemmPass::dgrad)});
  list.push_back({name, linear(setting, tokens, outputs, inputs, GemmPass::wgrad)});
}

/// The collective that ends a tensor-parallel pair of products: one all-reduce, or with sequence
/// parallelism a reduce-scatter here and an all-gather at the start of the next pair.
void add_tensor_collective(Operators& list, std::string_view name, const LayerSetting& setting,
                           double token_bytes) {
  if (setting.tp == 1) return;
  if (setting.sequence_parallel) {
    list.push_back({name, TensorCollective{CollectiveOp::reduce_scatter, {token_bytes}}});
    list.push_back({name, TensorCollective{CollectiveOp::all_gather, {token_bytes}}});
  } else {
    list.push_back({name, TensorCollective{CollectiveOp::all_reduce, {token_bytes}}});
  }
}

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

/// The part of attention that selective recompute repeats: scores, softmax, dropout, context.
void add_attention_core(Operators& list, const Transformer& model, const LayerSetting& setting,
                        const Software& software, bool backward) {
  const std::int64_t heads = model.heads / setting.tp;
  const std::int64_t seq = setting.seq_len;
  const std::int64_t dim = model.head_dim;
  if (setting.attention == AttentionKind::flash) {
    list.push_back({"attention", FusedAttention{setting.mbs, seq, heads,
                                                model.kv_heads / setting.tp, dim, true, backward}});
    return;
  }
  const std::int64_t batch = setting.mbs * heads;
  const Precision precision = setting.precision;
  const ScoreTraffic& traffic = score_traffic(setting, software);
  const double elements = static_cast<double>(batch) * static_cast<double>(seq * seq);
  const GemmPass forward_pass = GemmPass::forward;
  if (!backward) {
    list.push_back({"scores", Gemm{seq, seq, dim, batch, precision, forward_pass}});
    list.push_back({"softmax", Stream{StreamKind::softmax, {traffic.forward_bytes * elements}}});
    if (traffic.forward_time.value > 0) {
      list.push_back({"softmax", traffic.forward_time * elements});
    }
    list.push_back({"context", Gemm{seq, dim, seq, batch, precision, forward_pass}});
    return;
  }
  list.push_back({"context", Gemm{seq, seq, dim, batch, precision, GemmPass::dgrad}});
  list.push_back({"context", Gemm{seq, dim, seq, batch, precision, GemmPass::dgrad}});
  list.push_back({"softmax", Stream{StreamKind::softmax, {traffic.backward_bytes * elements}}});
  if (traffic.backward_time.value > 0) {
    list.push_back({"softmax", traffic.backward_time * elements});
  }
  list.push_back({"scores", Gemm{seq, dim, seq, batch, precision, GemmPass::dgrad}});
  list.push_back({"scores", Gemm{seq, dim, seq, batch, precision, GemmPass::dgrad}});
}

/// Compulsory traffic of the pointwise kernels of a block, in passes over the hidden states of the
/// micro batch (a pass is one read or write of every element). Forward: two norms (2 each), two
/// bias-dropout-adds (3.5 each, the mask is one byte), 3 to split and merge heads, the activation.
struct PointwisePasses {
  double replicated;  ///< on every tensor rank, unless sequence-parallel
  double split;       ///< on 1/tp of the elements
};
PointwisePasses forward_passes(const Transformer& model) {
  const double inner = static_cast<double>(model.ffn_hidden) / static_cast<double>(model.hidden);
  return {2 * 2 + 2 * 3.5, 3 + (model.mlp == Mlp::swiglu ? 3 : 2) * inner};
}
/// Backward: two norms (5 each, two kernels), two bias-dropout-adds (3.5 each), 4 for the heads.
PointwisePasses backward_passes(const Transformer& model) {
  const double inner = static_cast<double>(model.ffn_hidden) / static_cast<double>(model.hidden);
  return {2 * 5 + 2 * 3.5, 4 + (model.mlp == Mlp::swiglu ? 5 : 3) * inner};
}

Operator pointwise(const Shapes& shapes, const LayerSetting& setting, const Software& software,
                   PointwisePasses passes) {
  const double share = setting.sequence_parallel ? shapes.tp : 1.0;
  const double total = passes.replicated / share + passes.split / shapes.tp;
  return {"pointwise",
          Stream{StreamKind::fused_pointwise,
                 {total * shapes.token_bytes * software.kernels.pointwise_traffic_factor}}};
}

}  // namespace

Operators block_forward(const Transformer& model, const LayerSetting& setting,
                        const Software& software) {
  const Shapes shapes(model, setting);
  const auto product = [&](std::int64_t outputs, std::int64_t inputs) {
    return linear(setting, shapes.tokens, outputs, inputs, GemmPass::forward);
  };
  Operators list;
  list.push_back({"qkv", product(model.qkv_width() / setting.tp, model.hidden)});
  add_attention_core(list, model, setting, software, false);
  list.push_back({"projection", product(model.hidden, model.attention_width() / setting.tp)});
  add_tensor_collective(list, "attention all-reduce", setting, shapes.token_bytes);
  list.push_back({"mlp in", product(model.mlp_in_width() / setting.tp, model.hidden)});
  list.push_back({"mlp out", product(model.hidden, model.ffn_hidden / setting.tp)});
  add_tensor_collective(list, "mlp all-reduce", setting, shapes.token_bytes);
  list.push_back(pointwise(shapes, setting, software, forward_passes(model)));
  return list;
}

Operators block_backward(const Transformer& model, const LayerSetting& setting,
                         const Software& software) {
  const Shapes shapes(model, setting);
  const auto add_product = [&](Operators& list, std::string_view name, std::int64_t outputs,
                               std::int64_t inputs) {
    add_linear_backward(list, name, setting, shapes.tokens, outputs, inputs);
  };
  Operators list;
  add_product(list, "mlp out", model.hidden, model.ffn_hidden / setting.tp);
  add_product(list, "mlp in", model.mlp_in_width() / setting.tp, model.hidden);
  add_tensor_collective(list, "mlp all-reduce", setting, shapes.token_bytes);
  add_product(list, "projection", model.hidden, model.attention_width() / setting.tp);
  add_attention_core(list, model, setting, software, true);
  add_product(list, "qkv", model.qkv_width() / setting.tp, model.hidden);
  add_tensor_collective(list, "attention all-reduce", setting, shapes.token_bytes);
  if (setting.sequence_parallel && setting.tp > 1) {
    // The weight gradients need the whole sequence again, once a pair of products.
    for (int pair = 0; pair < 2; ++pair) {
      list.push_back(
          {"input all-gather", TensorCollective{CollectiveOp::all_gather, {shapes.token_bytes}}});
    }
  }
  list.push_back(pointwise(shapes, setting, software, backward_passes(model)));
  return list;
}

Operators block_recompute(const Transformer& model, const LayerSetting& setting,
                          const Software& software, Recompute mode) {
  Operators list;
  if (mode == Recompute::full) return block_forward(model, setting, software);
  if (mode == Recompute::selective) {
    add_attention_core(list, model, setting, software, false);
  }
  return list;
}

Operators embedding_forward(const Transformer& model, const LayerSetting& setting) {
  const Shapes shapes(model, setting);
  Operators list;
  list.push_back({"embedding", Stream{StreamKind::embedding, {2 * shapes.token_bytes}}});
  add_tensor_collective(list, "embedding all-reduce", setting, shapes.token_bytes);
  return list;
}

Operators embedding_backward(const Transformer& model, const LayerSetting& setting) {
  const Shapes shapes(model, setting);
  return {{"embedding", Stream{StreamKind::embedding, {3 * shapes.token_bytes}}}};
}

Operators head_forward(const Transformer& model, const LayerSetting& setting,
                       const Software& software) {
  const Shapes shapes(model, setting);
  const std::int64_t vocab =
      padded_vocab(model.vocab, setting.tp, software.vocab_multiple) / setting.tp;
  const double logits = static_cast<double>(shapes.tokens) * static_cast<double>(vocab);
  return {{"logits", linear(setting, shapes.tokens, vocab, model.hidden, GemmPass::forward)},
          {"cross-entropy", Stream{StreamKind::cross_entropy,
                                   {software.kernels.cross_entropy_forward_bytes * logits}}}};
}

Operators head_backward(const Transformer& model, const LayerSetting& setting,
                        const Software& software) {
  const Shapes shapes(model, setting);
  const std::int64_t vocab =
      padded_vocab(model.vocab, setting.tp, software.vocab_multiple) / setting.tp;
  const double logits = static_cast<double>(shapes.tokens) * static_cast<double>(vocab);
  Operators list;
  list.push_back(
      {"cross-entropy", Stream{StreamKind::cross_entropy,
                               {software.kernels.cross_entropy_backward_bytes * logits}}});
  add_linear_backward(list, "logits", setting, shapes.tokens, vocab, model.hidden);
  add_tensor_collective(list, "logits all-reduce", setting, shapes.token_bytes);
  return list;
}

}  // namespace prequel
