#include "calibrate/measurement.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/collectives/collective.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

const std::string* cell(const Fields& fields, const std::string& key) {
  const auto found = fields.find(key);
  return found == fields.end() || found->second.empty() ? nullptr : &found->second;
}

double positive(const Fields& fields, const std::string& key) {
  const std::string* text = cell(fields, key);
  if (!text) throw InputError(fmt::format("no {}", key));
  const auto value = parse_number(*text);
  if (!value || *value <= 0.0 || *value > 1e18) {
    throw InputError(fmt::format("{}: expected a positive number, got {}", key, in_quotes(*text)));
  }
  return *value;
}

std::int64_t whole(const Fields& fields, const std::string& key,
                   std::optional<std::int64_t> otherwise = std::nullopt) {
  if (otherwise && !cell(fields, key)) return *otherwise;
  const double value = positive(fields, key);
  if (value != std::floor(value) || value > 1e12) {
    throw InputError(
        fmt::format("{}: expected a whole number, got {}", key, in_quotes(*cell(fields, key))));
  }
  return static_cast<std::int64_t>(value);
}

Seconds measured_time(const Fields& fields) {
  if (cell(fields, "time_s")) return {positive(fields, "time_s")};
  return {positive(fields, "time_us") * 1e-6};
}

Precision precision(const Fields& fields) {
  const std::string* text = cell(fields, "dtype");
  if (!text) return Precision::bf16;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    if (*text == name(static_cast<Precision>(i))) return static_cast<Precision>(i);
  }
  throw InputError(
      fmt::format("dtype: expected fp32, tf32, fp16, bf16 or fp8, got {}", in_quotes(*text)));
}

/// cuBLAS' column-major layouts: TN is the forward product, NN dgrad, NT wgrad.
GemmPass gemm_pass(const Fields& fields) {
  const std::string* layout = cell(fields, "layout");
  const std::string* a = cell(fields, "transA");
  const std::string* b = cell(fields, "transB");
  const std::string text = layout ? *layout : (a && b ? *a + *b : std::string("TN"));
  if (text == "NN") return GemmPass::dgrad;
  if (text == "NT") return GemmPass::wgrad;
  return GemmPass::forward;
}

Gemm gemm(const Fields& fields) {
  return {whole(fields, "m"),        whole(fields, "n"), whole(fields, "k"),
          whole(fields, "batch", 1), precision(fields),  gemm_pass(fields)};
}

MeasuredAttention attention(const Fields& fields) {
  MeasuredAttention measured;
  FusedAttention& what = measured.attention;
  what.batch = whole(fields, "batch", 1);
  what.seq = whole(fields, "seq");
  what.heads = whole(fields, "heads");
  what.kv_heads = whole(fields, "kv_heads", what.heads);
  // Latent attention has values narrower than its keys; the FLOP are those of the mean.
  what.head_dim = cell(fields, "head_dim")
                      ? whole(fields, "head_dim")
                      : (whole(fields, "qk_head_dim") + whole(fields, "v_head_dim")) / 2;
  const std::string* causal = cell(fields, "causal");
  what.causal = !causal || *causal == "1" || *causal == "true";
  const std::string* pass = cell(fields, "pass");
  what.backward = pass && *pass == "bwd";
  const std::string* kernel = cell(fields, "kernel");
  measured.kernel = kernel ? *kernel : "flash-2";
  return measured;
}

MeasuredCollective collective(const Fields& fields) {
  const std::string* op = cell(fields, "op");
  const auto known = op ? collective_op(*op) : std::nullopt;
  if (!known) {
    throw InputError(fmt::format("op: {} is not a collective", in_quotes(op ? *op : "")));
  }
  return {*known,
          static_cast<int>(whole(fields, "ranks")),
          static_cast<int>(whole(fields, "nodes", 1)),
          {positive(fields, "bytes")},
          static_cast<int>(whole(fields, "groups", 1))};
}

/// Names of kernels in profiles (Vidur's) besides those of StreamKind.
std::optional<std::pair<StreamKind, double>> stream_kind(std::string_view op) {
  static constexpr std::pair<std::string_view, StreamKind> kProfiled[] = {
      {"add", StreamKind::residual_add},      {"layernorm", StreamKind::layer_norm},
      {"rmsnorm", StreamKind::rms_norm},      {"mlp_act_gelu", StreamKind::gelu},
      {"mlp_act_swiglu", StreamKind::swiglu}, {"attn_rope", StreamKind::rope},
      {"emb", StreamKind::embedding}};
  if (op == "add_x2") return std::pair{StreamKind::residual_add, 2.0};
  for (const auto& [text, kind] : kProfiled) {
    if (op == text) return std::pair{kind, 1.0};
  }
  for (std::size_t i = 0; i < kStreamKinds; ++i) {
    const auto kind = static_cast<StreamKind>(i);
    if (op == name(kind)) return std::pair{kind, 1.0};
  }
  return std::nullopt;
}

MeasuredStream stream(const Fields& fields) {
  const std::string* op = cell(fields, "op");
  const auto kind = op ? stream_kind(*op) : std::nullopt;
  if (!kind) throw InputError(fmt::format("op: {} is not known", in_quotes(op ? *op : "")));
  const double rows = cell(fields, "tokens") ? positive(fields, "tokens") : 0.0;
  return {{kind->first, {positive(fields, "bytes") / kind->second}, rows}, kind->second};
}

MeasuredCopy copy(const Fields& fields, bool to_device) {
  const std::string* pinned = cell(fields, "pinned");
  return {to_device, pinned && (*pinned == "1" || *pinned == "true"), {positive(fields, "bytes")}};
}

bool is_other(std::string_view op) {
  return op == "attention_chain" || op == "gradient_norm" || op == "kernel_launch" ||
         op == "graph_launch";
}

/// "10^9..10^10 FLOP": the decade that the size of the work is in.
std::string decade(double size, std::string_view unit) {
  const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
  return fmt::format("10^{}..10^{} {}", exponent, exponent + 1, unit);
}

}  // namespace

Measurement read_measurement(Fields fields) {
  Measurement point;
  point.time = measured_time(fields);
  std::string kind;
  std::string size;
  const std::string op = cell(fields, "op") ? *cell(fields, "op") : "";
  if (is_other(op)) {
    kind = op;
    size = "any";
    point.what = MeasuredOther{op};
  } else if (op == "host_to_device" || op == "device_to_host") {
    const MeasuredCopy what = copy(fields, op == "host_to_device");
    kind = op;
    size = decade(what.bytes.value, "B");
    point.what = what;
  } else if (op == "gemm_beside_collective") {
    const MeasuredBeside what{gemm(fields)};
    kind = op;
    size = decade(flops(what.gemm).value, "FLOP");
    point.what = what;
  } else if (cell(fields, "ranks")) {
    const MeasuredCollective what = collective(fields);
    kind = name(what.op);
    size = decade(what.bytes.value, "B");
    point.what = what;
  } else if (cell(fields, "m") && cell(fields, "n") && cell(fields, "k")) {
    const Gemm what = gemm(fields);
    kind = "gemm";
    size = decade(flops(what).value, "FLOP");
    point.what = what;
  } else if (cell(fields, "seq") && cell(fields, "heads")) {
    const MeasuredAttention what = attention(fields);
    kind = "attention";
    size = decade(static_cast<double>(what.attention.seq), "tokens");
    point.what = what;
  } else {
    const MeasuredStream what = stream(fields);
    kind = name(what.stream.kind);
    size = decade(what.stream.bytes.value, "B");
    point.what = what;
  }
  fields.emplace("operator", kind);
  fields.emplace("size_class", size);
  point.fields = std::move(fields);
  return point;
}

}  // namespace prequel
