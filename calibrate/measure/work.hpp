#pragma once

/// What a back end may be asked to measure, and how a measurement file tells it.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/operators.hpp"

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

using Work = std::variant<Gemm, Stream, FusedAttention, CollectiveWork, HostCopy, KernelLaunch>;

/// The fields that say which work it is, as a JSON object: {"op":"gemm","m":…,"layout":"TN"}. Two
/// works are the same when these are.
std::string work_text(const Work& work);

/// The works, each once, in an order of which any beginning covers the grid evenly; the order is
/// the same every time.
std::vector<Work> spread(const std::vector<Work>& grid);

}  // namespace prequel
