#pragma once

/// Works that a back end may be asked to measure, and their form in a measurement file.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// `bytes` in the convention of nccl-tests: the whole buffer of all_gather and reduce_scatter.
struct CollectiveWork {
  CollectiveOp op{};
  int ranks{};
  int nodes{1};
  Bytes bytes{};
  int groups{1};  ///< that do the same at once
};

/// Between host and device.
struct HostCopy {
  bool to_device{true};
  bool pinned{true};
  Bytes bytes{};
};

/// One empty kernel, launched by itself or as a node of a graph.
struct KernelLaunch {
  bool graph{};
};

/// Attention without a fused kernel, forward: scores, softmax under a causal mask, context, as
/// three kernels in a row.
struct AttentionChain {
  std::int64_t batch{};
  std::int64_t seq{};
  std::int64_t heads{};
  std::int64_t head_dim{};
};

/// The norm of all gradients, in fp32.
struct GradientNorm {
  Bytes bytes{};
};

/// A product while a collective runs beside it from the beginning to the end.
struct GemmBeside {
  Gemm gemm;
  CollectiveWork collective;
};

using Work = std::variant<Gemm, GroupedGemm, Stream, FusedAttention, CollectiveWork, HostCopy,
                          KernelLaunch, AttentionChain, GradientNorm, GemmBeside>;

/// Returns the kind of memory-bound kernels of that name in files.
std::optional<StreamKind> stream_kind(std::string_view text);

/// The fields that say which work it is, as a JSON object: {"op":"gemm","m":…,"layout":"TN"}. Two
/// works are the same when these are.
std::string work_text(const Work& work);

/// The inverse of `work_text`, a line a work; empty lines are passed over. Throws InputError with
/// `file`, the line and the JSON pointer.
std::vector<Work> read_works(const std::string& file, const std::string& lines);

/// The works, each once, in an order of which any beginning covers the grid evenly; the order is
/// the same every time.
std::vector<Work> spread(const std::vector<Work>& grid);

}  // namespace prequel
