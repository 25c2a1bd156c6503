#pragma once

/// The kernels and collectives of a told layer, pass by pass, in the vocabulary of hw.

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "models/layers/layer.hpp"

namespace prequel {

/// A collective over a group of ranks; bytes in the nccl-tests convention.
struct GroupCollective {
  GroupAxis axis{};
  CollectiveOp op{};
  Bytes bytes{};
  bool beside_dgrad{};  ///< it goes on beside the last dgrad before it
};

/// Keys and values, backward with their gradients, that go round the context ranks, so many bytes a
/// step, behind attention.
struct ContextRing {
  Bytes bytes{};
  bool backward{};
};

struct Operator {
  std::string_view name;
  std::variant<Gemm, GroupedGemm, FusedAttention, Scan, SparseAttention, Stream, Cast,
               GroupCollective, ContextRing, Dispatch, Seconds>
      what;                      ///< Seconds: of the host
  Module module{Module::other};  ///< of the piece that it is of
};

using Operators = std::vector<Operator>;

/// The forward pass. Memory-bound kernels of no special kind come last, as one: stacks fuse them
/// in ways of their own.
Operators forward_operators(const Layer& layer, const Software& software);
/// The backward pass, from the last piece to the first, without what is repeated: dgrad of linear
/// layers and, of those that learn, wgrad; the duals of collectives. Empty for a detached layer, as
/// what is repeated.
Operators backward_operators(const Layer& layer, const Software& software);
/// Returns the operators that the backward pass runs again first: the forward pass of the pieces of
/// `repeated`, and the gather of the layer's input where tensor ranks share it.
Operators repeated_operators(const Layer& layer, const Software& software,
                             WordSet<Module> repeated);

}  // namespace prequel
