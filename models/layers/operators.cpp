#include "models/layers/operators.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace prequel {
namespace {

enum class Pass : std::uint8_t { forward, backward };

/// Products of experts in 8 and 4 bits take rows in multiples of MXFP8's blocks.
constexpr std::int64_t kNarrowRows = 32;

/// Lists the operators of pieces as they are read.
class Lister {
 public:
  Lister(Pass pass, const Software& software)
      : backward_(pass == Pass::backward), software_(software) {}

  /// Adds a share of a product's outputs, or the whole of any other piece.
  void add(const LayerPiece& piece, double share) {
    if (share <= 0) return;
    const auto* linear = std::get_if<LinearLayer>(&piece.what);
    if (!linear || share >= 1) return add(piece);
    enter(piece);
    LinearLayer part = *linear;
    part.outputs = std::llround(share * static_cast<double>(linear->outputs));
    add(part);
  }

  void add(const LayerPiece& piece) {
    enter(piece);
    std::visit([this](const auto& work) { add(work); }, piece.what);
  }

  Operators list() && {
    if (pointwise_ > 0) {
      list_.push_back({"pointwise", Stream{.kind = StreamKind::fused_pointwise,
                                           .bytes = {pointwise_},
                                           .handed = {handed_},
                                           .tensor = {tensor_}}});
    }
    return std::move(list_);
  }

 private:
  template <class What>
  void push(const What& what) {
    push(name_, what);
  }
  template <class What>
  void push(std::string_view name, const What& what) {
    list_.push_back({name, what, module_});
  }

  void enter(const LayerPiece& piece) {
    name_ = piece.name;
    module_ = piece.module;
    learns_ = piece.learns;
  }

  void add(const LinearLayer& linear) {
    if (!backward_) return add_product(linear, GemmPass::forward);
    if (!linear.detached) add_product(linear, GemmPass::dgrad);
    if (learns_) add_product(linear, GemmPass::wgrad);
  }

  void add_product(const LinearLayer& linear, GemmPass pass) {
    const auto& [rows, outputs, inputs, precision, experts, detached] = linear;
    if (experts > 0) {
      const KernelStack& stack = software_.kernels;
      const std::int64_t padding = is_quantized(precision) ? kNarrowRows : 1;
      push(GroupedGemm{experts, rows, outputs, inputs, precision, pass, padding,
                       stack.grouped_products});
      return;
    }
    switch (pass) {
      case GemmPass::forward: return push(Gemm{rows, outputs, inputs, 1, precision, pass});
      case GemmPass::dgrad: return push(Gemm{rows, inputs, outputs, 1, precision, pass});
      case GemmPass::wgrad: return push(Gemm{outputs, inputs, rows, 1, precision, pass});
    }
  }

  void add(const AttentionCore& attention) {
    FusedAttention shape = attention.shape;
    shape.backward = backward_;
    if (attention.kind == AttentionKind::flash) return push(shape);
    const std::int64_t batch = shape.batch * shape.heads;
    const auto scores = [&](std::int64_t n, std::int64_t k, GemmPass pass) {
      push("scores", Gemm{shape.seq, n, k, batch, attention.score_precision, pass});
    };
    const auto context = [&](std::int64_t n, std::int64_t k, GemmPass pass) {
      push("context", Gemm{shape.seq, n, k, batch, shape.precision, pass});
    };
    const auto passes_over_scores = [&](double bytes) {
      push("softmax", Stream{StreamKind::softmax, {bytes}});
    };
    if (!backward_) {
      for (std::int64_t time = 0; time <= attention.targets; ++time) {
        scores(shape.keys(), shape.head_dim, GemmPass::forward);
      }
      passes_over_scores(attention.score_forward_bytes);
      context(shape.value_size(), shape.keys(), GemmPass::forward);
    } else {
      context(shape.keys(), shape.value_size(), GemmPass::dgrad);
      context(shape.value_size(), shape.keys(), GemmPass::dgrad);
      passes_over_scores(attention.score_backward_bytes);
      scores(shape.head_dim, shape.keys(), GemmPass::dgrad);
      scores(shape.head_dim, shape.keys(), GemmPass::dgrad);
    }
  }

  /// Scans and sparse attention, whose backward pass is the same kernel's other half.
  template <class Mixing>
  requires(std::is_same_v<Mixing, Scan> ||
           std::is_same_v<Mixing, SparseAttention>) void add(Mixing mixing) {
    mixing.backward = backward_;
    push(mixing);
  }

  void add(const PointwiseKernels& work) {
    const double bytes = backward_ ? work.backward : work.forward;
    if (work.kind == StreamKind::fused_pointwise) {
      pointwise_ += bytes;
      handed_ += work.handed * bytes;
      tensor_ = std::max(tensor_, work.tensor);
    } else {
      push(Stream{work.kind, {bytes}});
    }
  }

  void add(const Casts& cast) {
    const double elements = backward_ ? cast.backward : cast.forward;
    if (elements > 0) {
      push(Cast{.recipe = cast.recipe, .elements = elements, .both_orders = cast.both_orders});
    }
  }

  void add(const LayerCollective& collective) {
    const auto& op = backward_ ? collective.backward : collective.forward;
    if (op) {
      push(GroupCollective{collective.axis, *op, collective.bytes,
                           backward_ && collective.beside_dgrad});
    }
  }

  void add(const KeyValueRing& ring) {
    push(ContextRing{backward_ ? ring.bytes + ring.gradients : ring.bytes, backward_});
  }

  void add(const TokenTransfer& dispatch) {
    Dispatch transfer = dispatch.what;
    transfer.combine = transfer.combine != backward_;
    if (!transfer.combine) transfer.precision = dispatch.to_experts;
    push(transfer);
  }

  bool backward_;
  const Software& software_;
  std::string_view name_;  ///< of the piece at hand, as its module
  Module module_{};
  bool learns_{};
  double pointwise_{};
  double handed_{};  ///< of these, what one kernel leaves to the next
  double tensor_{};
  Operators list_;
};

}  // namespace

Operators forward_operators(const Layer& layer, const Software& software) {
  Lister lister(Pass::forward, software);
  for (const LayerPiece& piece : layer.pieces) lister.add(piece);
  return std::move(lister).list();
}

Operators backward_operators(const Layer& layer, const Software& software) {
  if (layer.detached) return {};
  Lister lister(Pass::backward, software);
  for (auto piece = layer.pieces.rbegin(); piece != layer.pieces.rend(); ++piece) {
    lister.add(*piece);
  }
  return std::move(lister).list();
}

Operators repeated_operators(const Layer& layer, const Software& software,
                             WordSet<Module> repeated) {
  if (layer.detached) return {};
  const bool whole = repeated == WordSet<Module>::all();
  Lister lister(Pass::forward, software);
  for (const LayerPiece& piece : layer.pieces) {
    if (piece.ends_layer && software.kernels.recompute_stops_early) continue;
    lister.add(piece, piece.repeated_share(repeated));
  }
  Operators again = std::move(lister).list();
  if (layer.input_gather.value > 0 && whole) {
    const GroupCollective gather{GroupAxis::tensor, CollectiveOp::all_gather, layer.input_gather};
    again.insert(again.begin(), {"saved input gather", gather});
  }
  return again;
}

}  // namespace prequel
