#pragma once

/// The pieces that all kinds of sublayers are told with.

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/layers/adapter.hpp"
#include "models/layers/layer.hpp"

namespace prequel {

/// A linear layer with `outputs` rows over `inputs`, and its bias.
constexpr std::int64_t linear_parameters(std::int64_t outputs, std::int64_t inputs, bool bias) {
  return outputs * inputs + (bias ? outputs : 0);
}

/// Writes down the pieces of one layer, in the order of the forward pass.
class LayerTeller {
 public:
  LayerTeller(const Transformer& of_model, LayerKind of_kind, const LayerSetting& at,
              const Software& by)
      : model(of_model),
        kind(of_kind),
        setting(at),
        software(by),
        tokens(at.tokens()),
        shared_tokens(tokens / at.token_split()),
        element(bytes_per_element(stream_precision(at, by))),
        operand(bytes_per_element(at.products)),
        token_bytes(real(tokens * of_model.hidden) * element) {}

  /// How a linear layer is split over the tensor group, and what it belongs to.
  struct Split {
    bool inputs{};  ///< else outputs are, unless neither is
    std::int64_t ranks{1};
    bool bias{};
    Module module{Module::other};
    double kept{};
    double operator_share{0.5};  ///< every second product
    std::optional<OffloadModule> feeds{};
    bool ends_layer{};
    std::int64_t more_parameters{};        ///< beside the product's
    std::vector<std::int64_t> adapters{};  ///< outputs of each, of the whole matrix
  };
  [[nodiscard]] Split split_outputs() const {
    return {.ranks = setting.tp, .bias = model.linear_bias};
  }
  [[nodiscard]] Split split_inputs() const {
    return {.inputs = true, .ranks = setting.tp, .bias = model.linear_bias};
  }

  /// Tells the layer's input, with Megatron's --distribute-saved-activations or DeepSpeed's
  /// partition_activations where the plan has them.
  void tell_input();

  [[nodiscard]] bool keeps(KeptCopy copy) const {
    return software.memory.keeps_copies.has(copy) &&
           !(copy == KeptCopy::rotated && software.kernels.fuses(setting.compiled));
  }

  /// Tells a piece of the model; adapters are others.
  void tell(LayerPiece piece) {
    piece.learns = setting.learning.model_learns();
    layer_.pieces.push_back(std::move(piece));
  }
  /// Tells the pieces of one adapter (models/layers/adapter.hpp).
  void tell_adapter(const AdaptedMatrix& matrix) {
    prequel::tell_adapter(layer_, matrix, setting, software);
  }
  /// Outputs of the adapters of matrices that are one product: one of all of them where `fused` is
  /// a target, else one each.
  struct Target {
    AdapterTarget word;
    std::int64_t outputs;
  };
  [[nodiscard]] std::vector<std::int64_t> adapters_of(std::initializer_list<Target> each,
                                                      std::optional<AdapterTarget> fused = {},
                                                      std::int64_t fused_outputs = 0) const;
  /// Tests whether weight gradients read the input of a matrix of these targets: its own, or those
  /// of an adapter that reads the same tensor.
  [[nodiscard]] bool keeps_input_of(std::initializer_list<AdapterTarget> targets) const;
  [[nodiscard]] bool keeps_mixer_input() const;
  [[nodiscard]] bool keeps_feed_input() const;
  void tell_linear(std::string_view name, std::int64_t rows, std::int64_t outputs,
                   std::int64_t inputs, const Split& split);
  /// Weights of the product that follows, where each pass casts them: once for its forward product,
  /// and once in the order in which the input's gradient needs them. Those that were gathered in
  /// their format need no cast, and those that are frozen in another one are widened.
  void tell_weight_cast(double weights, Module module, double operator_share);
  /// Returns the share of a stack's pointwise traffic beyond what one kernel would move: tensors
  /// that kernels leave to the next.
  [[nodiscard]] static double handed_share(double traffic);
  /// Pointwise kernels over the hidden states: `forward` and `backward` in passes over them (a
  /// pass is one read or write of every element).
  void tell_pointwise(std::string_view name, Module module, double forward, double backward,
                      double ranks, double kept = 0, std::int64_t parameters = 0,
                      std::optional<OffloadModule> feeds = {});
  /// Casts of activations forward and of gradients backward, in elements. Weight gradients read
  /// them in the other order, too.
  void tell_cast(std::string_view name, Module module, double forward, double backward);
  /// Tells what graphs of single modules copy (`graph_copies`).
  void tell_graph_copies();
  void tell_collective(std::string_view name, GroupAxis axis, double bytes,
                       std::optional<CollectiveOp> forward, std::optional<CollectiveOp> backward,
                       bool ends_layer = false);

  /// Norms read and write once forward; backward two kernels make five passes. Their result is
  /// written in the format of products that read it, and kept where a weight gradient reads it.
  void tell_norm(bool is_kept, std::optional<OffloadModule> feeds = {});
  /// Before a sublayer: its sum of residual streams (hyper-connections, arXiv 2409.19606, whose
  /// mixing matrices 20 rounds bring to equal sums), or of what blocks before it gave.
  void tell_streams_in(bool first);
  /// The sum with what came in: three passes, and with dropout a mask of one byte, half a pass.
  /// The last sum is the next layer's input.
  void tell_residual(bool last);

  /// With sequence parallelism what weight gradients read is gathered once more, where the stack
  /// knows how beside the dgrad of the same layer (arXiv 2205.05198, section 4.2.2).
  void tell_input_gather();
  /// The collective that ends a tensor-parallel pair of products: one all-reduce, or with sequence
  /// parallelism a reduce-scatter here and an all-gather at the start of the next pair. With
  /// `ends_layer` the backward pass needs no result of what is summed.
  void tell_tensor_sum(std::string_view name, bool scatter, bool gather, bool ends_layer = false);
  /// Sums of a product that is split by its inputs. Backward both other products read the gathered
  /// gradient.
  void tell_scatter(std::string_view name, bool ends_layer = false);
  /// Inputs of a product that is split by its outputs.
  void tell_gather(std::string_view name, bool ends_layer = false);

  [[nodiscard]] Layer layer() && { return std::move(layer_); }

  const Transformer& model;
  const LayerKind kind;
  const LayerSetting& setting;
  const Software& software;
  const std::int64_t tokens;
  const std::int64_t shared_tokens;  ///< of the rank where tensor ranks share them
  const double element;              ///< bytes of an activation
  const double operand;              ///< bytes of an operand of products
  const double token_bytes;          ///< of the hidden states

 private:
  /// Returns the bytes of an element that is gathered for a product; sums are scattered in the
  /// format of activations. Formats with a scale for each few elements have two `copies` of what
  /// two products read, by rows and by columns.
  [[nodiscard]] double gathered_bytes(int copies) const;

  Layer layer_;
};

/// Tells projections, core and output of softmax attention, plain or latent.
void tell_attention(LayerTeller& teller);
/// Tells latent attention over chosen keys, with the indexer that chooses them.
void tell_sparse_attention(LayerTeller& teller);
/// Tells attention over a window and compressed keys.
void tell_block_attention(LayerTeller& teller);
void tell_compressed_attention(LayerTeller& teller);
/// Tells a state-space layer.
void tell_state_space(LayerTeller& teller);
/// Tells a gated delta net, Kimi delta attention, lightning attention or a short convolution.
void tell_linear_attention(LayerTeller& teller);

/// Tells an MLP.
void tell_mlp(LayerTeller& teller);
/// Tells router, dispatch, the experts' two products, combine; and the experts that all tokens
/// pass.
void tell_experts(LayerTeller& teller);

}  // namespace prequel
