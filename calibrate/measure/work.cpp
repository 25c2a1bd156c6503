#include "calibrate/measure/work.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"
#include "hw/collectives/collective.hpp"
#include "hw/device.hpp"
#include "hw/kernels/memory_bound.hpp"

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

/// As tables of training stacks name the passes of grouped products, and as `library` says how
/// they were launched.
constexpr std::array kGroupedPasses{"fwd", "bwd_grad_act", "bwd_grad_w"};
constexpr const char* kBatched = "batched";
constexpr const char* kOneAnExpert = "a product an expert";

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
  ordered_json operator()(const GroupedGemm& what) const {
    return {{"op", "grouped_gemm"},
            {"groups", what.groups},
            {"m_per_group", what.rows / what.groups},
            {"n", what.outputs},
            {"k", what.inputs},
            {"dtype", name(what.precision)},
            {"pass", kGroupedPasses.at(static_cast<std::size_t>(what.pass))},
            {"library", what.one_launch ? kBatched : kOneAnExpert}};
  }
  ordered_json operator()(const Stream& stream) const {
    ordered_json fields{{"op", name(stream.kind)}, {"bytes", whole(stream.bytes)}};
    if (stream.rows > 0.0) fields["tokens"] = static_cast<std::int64_t>(stream.rows);
    return fields;
  }
  ordered_json operator()(const FusedAttention& what) const {
    ordered_json fields{{"op", "attention"},         {"batch", what.batch},
                        {"seq", what.seq},           {"heads", what.heads},
                        {"kv_heads", what.kv_heads}, {"head_dim", what.head_dim},
                        {"causal", what.causal},     {"pass", what.backward ? "bwd" : "fwd"}};
    if (is_quantized(what.precision)) fields["dtype"] = name(what.precision);
    return fields;
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
  ordered_json operator()(const AttentionChain& what) const {
    return {{"op", "attention_chain"},
            {"batch", what.batch},
            {"seq", what.seq},
            {"heads", what.heads},
            {"head_dim", what.head_dim}};
  }
  ordered_json operator()(const GradientNorm& what) const {
    return {{"op", "gradient_norm"}, {"bytes", whole(what.bytes)}};
  }
  ordered_json operator()(const GemmBeside& what) const {
    ordered_json fields = (*this)(what.gemm);
    fields["op"] = "gemm_beside_collective";
    fields["beside"] = (*this)(what.collective);
    return fields;
  }
};

constexpr std::int64_t kMost = std::int64_t{1} << 40;

std::int64_t number(const Cursor& cursor, const char* key, std::int64_t otherwise) {
  const auto found = cursor.find(key);
  return found ? found->integer(1, kMost) : otherwise;
}

bool flag(const Cursor& cursor, const char* key, bool otherwise) {
  const auto found = cursor.find(key);
  return found ? found->boolean() : otherwise;
}

Bytes bytes(const Cursor& cursor) {
  return {static_cast<double>(cursor.at("bytes").integer(1, kMost))};
}

Gemm read_gemm(const Cursor& cursor) {
  Gemm gemm{cursor.at("m").count(), cursor.at("n").count(), cursor.at("k").count(),
            number(cursor, "batch", 1)};
  if (const auto dtype = cursor.find("dtype")) {
    gemm.precision = dtype->word<Precision>();
  }
  if (const auto layout = cursor.find("layout")) {
    gemm.pass = static_cast<GemmPass>(layout->choice({"TN", "NN", "NT"}));
  }
  return gemm;
}

GroupedGemm read_grouped(const Cursor& cursor) {
  GroupedGemm what;
  what.groups = cursor.at("groups").integer(1, 1 << 20);
  what.rows = what.groups * cursor.at("m_per_group").integer(1, 1 << 30);
  what.outputs = cursor.at("n").count();
  what.inputs = cursor.at("k").count();
  if (const auto dtype = cursor.find("dtype")) what.precision = dtype->word<Precision>();
  if (const auto pass = cursor.find("pass")) {
    what.pass = static_cast<GemmPass>(
        pass->choice({kGroupedPasses[0], kGroupedPasses[1], kGroupedPasses[2]}));
  }
  const auto library = cursor.find("library");
  what.one_launch = !library || library->text().find("an expert") == std::string::npos;
  return what;
}

CollectiveWork read_collective(const Cursor& cursor, CollectiveOp op) {
  return {op, static_cast<int>(cursor.at("ranks").integer(2, 1 << 20)),
          static_cast<int>(number(cursor, "nodes", 1)), bytes(cursor),
          static_cast<int>(number(cursor, "groups", 1))};
}

GemmBeside read_gemm_beside(const Cursor& cursor) {
  const Cursor beside = cursor.at("beside");
  const std::string text = beside.at("op").text();
  const auto op = collective_op(text);
  if (!op) beside.at("op").problem("expected a collective, got " + in_quotes(text));
  return {read_gemm(cursor), read_collective(beside, op.value_or(CollectiveOp{}))};
}

Work read_work(const Cursor& cursor) {
  const std::string op = cursor.at("op").text();
  if (op == "gemm") return read_gemm(cursor);
  if (op == "grouped_gemm") return read_grouped(cursor);
  if (op == "gemm_beside_collective") return read_gemm_beside(cursor);
  if (op == "attention") {
    const std::int64_t heads = cursor.at("heads").count();
    FusedAttention what{number(cursor, "batch", 1),
                        cursor.at("seq").count(),
                        heads,
                        number(cursor, "kv_heads", heads),
                        cursor.at("head_dim").count(),
                        flag(cursor, "causal", true),
                        cursor.at("pass").choice({"fwd", "bwd"}) == 1};
    if (const auto dtype = cursor.find("dtype")) what.precision = dtype->word<Precision>();
    return what;
  }
  if (op == "attention_chain") {
    return AttentionChain{number(cursor, "batch", 1), cursor.at("seq").count(),
                          cursor.at("heads").count(), cursor.at("head_dim").count()};
  }
  if (op == "gradient_norm") return GradientNorm{bytes(cursor)};
  if (op == "host_to_device" || op == "device_to_host") {
    return HostCopy{op == "host_to_device", flag(cursor, "pinned", true), bytes(cursor)};
  }
  if (op == "kernel_launch" || op == "graph_launch") return KernelLaunch{op == "graph_launch"};
  if (const auto collective = collective_op(op)) return read_collective(cursor, *collective);
  if (const auto kind = stream_kind(op)) {
    return Stream{*kind, bytes(cursor), static_cast<double>(number(cursor, "tokens", 0))};
  }
  cursor.at("op").problem(in_quotes(op) + " is not known");
  return {};
}

}  // namespace

std::optional<StreamKind> stream_kind(std::string_view text) {
  for (std::size_t i = 0; i < kStreamKinds; ++i) {
    if (text == name(static_cast<StreamKind>(i))) return static_cast<StreamKind>(i);
  }
  return std::nullopt;
}

std::string work_text(const Work& work) {
  return std::visit(Fields{}, work).dump();
}

std::vector<Work> read_works(const std::string& file, const std::string& lines) {
  std::vector<Work> works;
  std::istringstream in(lines);
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (trimmed(line).empty()) continue;
    const Document document = Document::parse(fmt::format("{}:{}", file, number), line);
    works.push_back(read_work(document.root()));
    document.finish();
  }
  return works;
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
