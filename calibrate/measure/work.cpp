#include "calibrate/measure/work.hpp"

#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <utility>

#include "hw/collective.hpp"
#include "hw/device.hpp"
#include "hw/memory_bound.hpp"

namespace prequel {
namespace {

using nlohmann::ordered_json;

/// cuBLAS' column-major terms.
const char* layout(GemmPass pass) {
  switch (pass) {
    case GemmPass::forward: return "TN";
    case GemmPass::dgrad: return "NN";
    case GemmPass::wgrad: return "NT";
  }
  return "";
}

std::int64_t whole(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.value);
}

struct Fields {
  ordered_json operator()(const Gemm& gemm) const {
    return {{"op", "gemm"},
            {"m", gemm.m},
            {"n", gemm.n},
            {"k", gemm.k},
            {"batch", gemm.batch},
            {"dtype", name(gemm.precision)},
            {"layout", layout(gemm.pass)}};
  }
  ordered_json operator()(const Stream& stream) const {
    ordered_json fields{{"op", name(stream.kind)}, {"bytes", whole(stream.bytes)}};
    if (stream.rows > 0.0) fields["tokens"] = static_cast<std::int64_t>(stream.rows);
    return fields;
  }
  ordered_json operator()(const FusedAttention& what) const {
    return {{"op", "attention"},         {"batch", what.batch},
            {"seq", what.seq},           {"heads", what.heads},
            {"kv_heads", what.kv_heads}, {"head_dim", what.head_dim},
            {"causal", what.causal},     {"pass", what.backward ? "bwd" : "fwd"}};
  }
  ordered_json operator()(const CollectiveWork& what) const {
    ordered_json fields{{"op", name(what.op)},
                        {"ranks", what.ranks},
                        {"nodes", what.nodes},
                        {"bytes", whole(what.bytes)}};
    if (what.groups > 1) fields["groups"] = what.groups;
    return fields;
  }
  ordered_json operator()(const HostCopy& what) const {
    return {{"op", what.to_device ? "host_to_device" : "device_to_host"},
            {"pinned", what.pinned},
            {"bytes", whole(what.bytes)}};
  }
  ordered_json operator()(const KernelLaunch& what) const {
    return {{"op", what.graph ? "graph_launch" : "kernel_launch"}};
  }
};

}  // namespace

std::string work_text(const Work& work) {
  return std::visit(Fields{}, work).dump();
}

std::vector<Work> spread(const std::vector<Work>& grid) {
  std::set<std::string> seen;
  std::vector<Work> order;
  for (const Work& work : grid) {
    if (seen.insert(work_text(work)).second) order.push_back(work);
  }
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same order every time, for --resume
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace prequel
