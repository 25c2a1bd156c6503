#include "calibrate/measure/cudnn_attention.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_memory.hpp"

namespace prequel {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Adds the operations of one pass, step by step as Dao writes them ("FlashAttention-2",
/// arXiv:2307.08691, algorithms 1 and 2), with O = P·V, P = softmax(S), S = Q·Kᵀ / √head_dim. The
/// order and the types of what is in between are those by which cuDNN knows flash attention.
class AttentionBuilder {
 public:
  explicit AttentionBuilder(const FusedAttention& what) : what_(what) {}

  CudnnGraph forward() && {
    if (is_quantized(what_.precision)) return std::move(*this).forward_in_fp8();
    const auto [powers, sums] = softmax();
    const CudnnTensor p =
        graph_.pointwise(CUDNN_POINTWISE_DIV, {powers, sums}, CUDNN_DATA_BFLOAT16);
    graph_.multiply(p, heads(kV, what_.kv_heads), heads(kO, what_.heads));
    return std::move(graph_);
  }

  /// With scales of whole tensors, all 1 or near it: products are divided by those of their
  /// operands, the probabilities and the result are multiplied by theirs, and their largest values
  /// are found for the next step, as Transformer Engine does.
  CudnnGraph forward_in_fp8() && {
    const auto [powers, sums] = softmax();
    const CudnnTensor p = graph_.pointwise(CUDNN_POINTWISE_DIV, {powers, sums});
    graph_.reduce(CUDNN_REDUCE_TENSOR_AMAX, p, factor(kLargestP));
    const CudnnTensor narrow =
        graph_.pointwise(CUDNN_POINTWISE_MUL, {p, factor(kScaleP)}, CUDNN_DATA_FP8_E4M3);
    const CudnnTensor products = graph_.between(sizes_of_heads());
    graph_.multiply(narrow, heads(kV, what_.kv_heads), products);
    const CudnnTensor o = scaled(scaled(products, kUnscaleP), kUnscaleV);
    graph_.reduce(CUDNN_REDUCE_TENSOR_AMAX, o, factor(kLargestO));
    graph_.pointwise(CUDNN_POINTWISE_MUL, {o, factor(kScaleO)}, heads(kO, what_.heads));
    return std::move(graph_);
  }

  CudnnGraph backward() && {
    if (is_quantized(what_.precision)) return std::move(*this).backward_in_fp8();
    const CudnnTensor q = heads(kQ, what_.heads);
    const CudnnTensor d_o = heads(kDO, what_.heads);
    const CudnnTensor row_sums = graph_.between(rows());
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD,
                  graph_.pointwise(CUDNN_POINTWISE_MUL, {d_o, heads(kO, what_.heads)}), row_sums);
    // By one, the scale of a dropout that there is not: else cuDNN keeps the scores in memory.
    const CudnnTensor d_sums =
        graph_.pointwise(CUDNN_POINTWISE_MUL, {row_sums, graph_.constant(1.0F)});

    const CudnnTensor p = graph_.pointwise(
        CUDNN_POINTWISE_EXP, {graph_.pointwise(CUDNN_POINTWISE_SUB, {scores(q), statistics()})});
    multiply_to_group(graph_.transposed(p), d_o, kDV);

    const CudnnTensor d_p = graph_.between(square());
    graph_.multiply(d_o, transposed_heads(kV), d_p);
    const CudnnTensor d_scores = graph_.pointwise(
        CUDNN_POINTWISE_MUL, {graph_.pointwise(CUDNN_POINTWISE_SUB, {d_p, d_sums}), p});
    const CudnnTensor d_s =
        graph_.pointwise(CUDNN_POINTWISE_MUL, {d_scores, scale()}, CUDNN_DATA_BFLOAT16);
    multiply_to_group(graph_.transposed(d_s), q, kDK);

    // Blocks of keys add to dQ one by one; in fp32 and in memory, or Hopper's kernel is not taken.
    const CudnnTensor d_q = graph_.stored(
        kDQSums, q.sizes, strides_of(what_.heads, what_.head_dim, false), CUDNN_DATA_FLOAT);
    graph_.multiply(d_s, heads(kK, what_.kv_heads), d_q);
    graph_.pointwise(CUDNN_POINTWISE_IDENTITY, {d_q}, heads(kDQ, what_.heads));
    return std::move(graph_);
  }

  /// The same with scales of whole tensors as forward, and gradients in e5m2, as Transformer
  /// Engine's hybrid recipe has them.
  CudnnGraph backward_in_fp8() && {
    const CudnnTensor q = heads(kQ, what_.heads);
    const CudnnTensor d_o = heads(kDO, what_.heads, kOfGradients);
    const CudnnTensor row_sums = graph_.between(rows());
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD,
                  graph_.pointwise(CUDNN_POINTWISE_MUL, {d_o, heads(kO, what_.heads)}), row_sums);
    const CudnnTensor d_sums = scaled(scaled(row_sums, kUnscaleDO), kUnscaleO);

    const CudnnTensor p = graph_.pointwise(
        CUDNN_POINTWISE_EXP, {graph_.pointwise(CUDNN_POINTWISE_SUB, {scores(q), statistics()})});
    const CudnnTensor narrow_p =
        graph_.pointwise(CUDNN_POINTWISE_MUL, {p, factor(kScaleP)}, CUDNN_DATA_FP8_E4M3);
    scaled_gradient(graph_.transposed(narrow_p, CUDNN_DATA_FP8_E4M3), d_o, what_.kv_heads,
                    {kDV, kUnscaleP, kUnscaleDO, kScaleDV, kLargestDV});

    const CudnnTensor d_p = graph_.between(square());
    graph_.multiply(d_o, transposed_heads(kV), d_p);
    const CudnnTensor differences =
        graph_.pointwise(CUDNN_POINTWISE_SUB, {scaled(scaled(d_p, kUnscaleDO), kUnscaleV), d_sums});
    const CudnnTensor d_s = graph_.pointwise(
        CUDNN_POINTWISE_MUL, {graph_.pointwise(CUDNN_POINTWISE_MUL, {differences, p}), scale()});
    graph_.reduce(CUDNN_REDUCE_TENSOR_AMAX, d_s, factor(kLargestDS));
    const CudnnTensor narrow_d_s =
        graph_.pointwise(CUDNN_POINTWISE_MUL, {d_s, factor(kScaleDS)}, kOfGradients);
    scaled_gradient(narrow_d_s, heads(kK, what_.kv_heads), what_.heads,
                    {kDQ, kUnscaleDS, kUnscaleK, kScaleDQ, kLargestDQ});
    scaled_gradient(graph_.transposed(narrow_d_s, kOfGradients), q, what_.kv_heads,
                    {kDK, kUnscaleDS, kUnscaleQ, kScaleDK, kLargestDK});
    return std::move(graph_);
  }

 private:
  static constexpr cudnnDataType_t kOfGradients = CUDNN_DATA_FP8_E5M2;

  /// The arrays in memory.
  enum Array : std::uint8_t { kQ, kK, kV, kO, kStatistics, kDO, kDQ, kDK, kDV, kDQSums };
  /// And in fp8, behind those, numbers of fp32; from the sixth on others forward than backward.
  enum Factor : std::uint8_t {
    kUnscaleQ,
    kUnscaleK,
    kUnscaleV,
    kUnscaleP,
    kScaleP,
    kScaleO,
    kLargestP,
    kLargestO,
    kUnscaleO = kScaleO,
    kUnscaleDO,
    kUnscaleDS,
    kScaleDQ,
    kScaleDK,
    kScaleDV,
    kScaleDS,
    kLargestDQ,
    kLargestDK,
    kLargestDV,
    kLargestDS
  };

  CudnnTensor factor(Factor which) {
    const std::size_t others = (what_.backward ? kDV : kStatistics) + 1U;
    return graph_.stored(others + which, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT);
  }
  CudnnTensor scaled(const CudnnTensor& x, Factor by) {
    return graph_.pointwise(CUDNN_POINTWISE_MUL, {x, factor(by)});
  }
  [[nodiscard]] Sizes sizes_of_heads() const {
    return {what_.batch, what_.heads, what_.seq, what_.head_dim};
  }
  [[nodiscard]] cudnnDataType_t type() const {
    return is_quantized(what_.precision) ? CUDNN_DATA_FP8_E4M3 : CUDNN_DATA_BFLOAT16;
  }

  [[nodiscard]] Sizes square() const { return {what_.batch, what_.heads, what_.seq, what_.seq}; }
  [[nodiscard]] Sizes rows() const { return {what_.batch, what_.heads, what_.seq, 1}; }
  /// Returns the strides of the sizes batch, heads, positions, elements.
  [[nodiscard]] Sizes strides_of(std::int64_t heads, std::int64_t width, bool heads_inside) const {
    const std::int64_t batch = heads * what_.seq * width;
    if (heads_inside) return {batch, width, heads * width, 1};
    return {batch, what_.seq * width, width, 1};
  }

  CudnnTensor heads(Array array, std::int64_t count) { return heads(array, count, type()); }
  CudnnTensor heads(Array array, std::int64_t count, cudnnDataType_t type) {
    return graph_.stored(array, {what_.batch, count, what_.seq, what_.head_dim},
                         strides_of(count, what_.head_dim, true), type);
  }
  CudnnTensor transposed_heads(Array array) {
    Sizes strides = strides_of(what_.kv_heads, what_.head_dim, true);
    std::swap(strides[2], strides[3]);
    return graph_.stored(array, {what_.batch, what_.kv_heads, what_.head_dim, what_.seq}, strides,
                         type());
  }
  CudnnTensor statistics() {
    return graph_.stored(kStatistics, rows(), strides_of(what_.heads, 1, false), CUDNN_DATA_FLOAT);
  }
  CudnnTensor scale() {
    return graph_.constant(1.0F / std::sqrt(static_cast<float>(what_.head_dim)));
  }

  /// Exponentials of the scores beside the largest of their row, and the sums of rows of these,
  /// whose logarithms are the statistics.
  struct Softmax {
    CudnnTensor powers, sums;
  };
  Softmax softmax() {
    const CudnnTensor s = scores(heads(kQ, what_.heads));
    const CudnnTensor largest = graph_.between(rows());
    graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, s, largest);
    const CudnnTensor powers = graph_.pointwise(
        CUDNN_POINTWISE_EXP, {graph_.pointwise(CUDNN_POINTWISE_SUB, {s, largest})});
    const CudnnTensor sums = graph_.between(rows());
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sums);
    graph_.pointwise(CUDNN_POINTWISE_ADD, {largest, graph_.pointwise(CUDNN_POINTWISE_LOG, {sums})},
                     statistics());
    return {powers, sums};
  }

  CudnnTensor scores(const CudnnTensor& q) {
    const CudnnTensor products = graph_.between(square());
    graph_.multiply(q, transposed_heads(kK), products);
    CudnnTensor s = graph_.pointwise(CUDNN_POINTWISE_MUL, {products, scale()});
    if (is_quantized(what_.precision)) s = scaled(scaled(s, kUnscaleQ), kUnscaleK);
    if (!what_.causal) return s;
    const CudnnTensor seen = graph_.pointwise(
        CUDNN_POINTWISE_CMP_GE, {graph_.index(s, 2), graph_.index(s, 3)}, CUDNN_DATA_BOOLEAN);
    const CudnnTensor unseen = graph_.constant(std::numeric_limits<float>::lowest());
    return graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {s, unseen, seen});
  }

  /// A product a head; where heads of queries share keys and values, their gradients are added.
  void multiply_to_group(const CudnnTensor& a, const CudnnTensor& b, Array array) {
    const CudnnTensor gradient = heads(array, what_.kv_heads);
    if (what_.kv_heads == what_.heads) return graph_.multiply(a, b, gradient);
    const CudnnTensor each = graph_.between(b.sizes, CUDNN_DATA_BFLOAT16, b.strides);
    graph_.multiply(a, b, each);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, each, gradient);
  }

  /// The same in fp8: without the scales of both operands, in its own, its largest element found.
  struct ScaledGradient {
    Array array{};
    Factor unscale_a{}, unscale_b{}, scale{}, largest{};
  };
  void scaled_gradient(const CudnnTensor& a, const CudnnTensor& b, std::int64_t count,
                       const ScaledGradient& into) {
    CudnnTensor gradient = graph_.between(sizes_of_heads());
    graph_.multiply(a, b, gradient);
    if (count != what_.heads) {
      const CudnnTensor sums = graph_.between({what_.batch, count, what_.seq, what_.head_dim});
      graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, gradient, sums);
      gradient = sums;
    }
    const CudnnTensor unscaled = scaled(scaled(gradient, into.unscale_a), into.unscale_b);
    graph_.reduce(CUDNN_REDUCE_TENSOR_AMAX, unscaled, factor(into.largest));
    graph_.pointwise(CUDNN_POINTWISE_MUL, {unscaled, factor(into.scale)},
                     heads(into.array, count, kOfGradients));
  }

  const FusedAttention& what_;
  CudnnGraph graph_;
};

/// Owns everything that a pass of one shape needs.
class CudnnAttention {
 public:
  CudnnAttention(const FusedAttention& what, cudaStream_t stream)
      : adds_to_last_(what.backward && !is_quantized(what.precision)),
        stream_(stream),
        graph_(attention_graph(what)),
        plan_(graph_, cudnn_device(current_device())),
        operands_(graph_.arrays(),
                  is_quantized(what.precision) ? RandomNumbers::fp8 : RandomNumbers::bf16, stream),
        workspace_(plan_.workspace_bytes()) {
    for (std::size_t set = 0; set < operands_.sets(); ++set) {
      const auto& arrays = operands_.next();
      turns_.push_back({graph_.bind(arrays, workspace_.data()), arrays.back()});
    }
    cudnnHandle_t made{};
    check_cudnn(cudnnCreate(&made), "cudnnCreate");
    handle_.reset(made);
    check_cudnn(cudnnSetStream(made, stream), "cudnnSetStream");
  }

  void launch() {
    const Turn& turn = turns_[turn_++ % turns_.size()];
    if (adds_to_last_) {
      check_cuda(cudaMemsetAsync(turn.last_array, 0, graph_.arrays().back(), stream_),
                 "cudaMemsetAsync");
    }
    plan_.run(handle_.get(), turn.bound);
  }

 private:
  /// One set of operands; bound ahead, as binding takes the host longer than launching.
  struct Turn {
    CudnnDescriptor bound;
    void* last_array{};
  };

  bool adds_to_last_;
  cudaStream_t stream_;
  CudnnGraph graph_;
  CudnnPlan plan_;
  RotatingArrays operands_;
  DeviceBuffer workspace_;
  std::vector<Turn> turns_;
  std::size_t turn_{};
  Owned<cudnnHandle_t, cudnnDestroy> handle_;
};

}  // namespace

CudnnGraph attention_graph(const FusedAttention& attention) {
  if (is_quantized(attention.precision) && attention.precision != Precision::fp8) {
    throw SkippedPoint("cuda: attention in 8 bits is measured with a scale a tensor alone");
  }
  AttentionBuilder builder(attention);
  return attention.backward ? std::move(builder).backward() : std::move(builder).forward();
}

Launch prepare_cuda(const FusedAttention& attention, cudaStream_t stream) {
  return [pass = std::make_shared<CudnnAttention>(attention, stream)] { pass->launch(); };
}

}  // namespace prequel
