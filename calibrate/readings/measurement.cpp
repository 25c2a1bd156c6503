#include "calibrate/readings/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/collectives/collective.hpp"
#include "hw/device.hpp"
#include "hw/dispatch.hpp"
#include "hw/kernels/quantize.hpp"

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
  if (cell(fields, "time_ms")) return {positive(fields, "time_ms") * 1e-3};
  if (cell(fields, "ms")) return {positive(fields, "ms") * 1e-3};
  return {positive(fields, "time_us") * 1e-6};
}

/// Returns the time of work that may be given by its rate instead.
Seconds measured_time(const Fields& fields, Flops flop) {
  const bool by_rate = !cell(fields, "time_s") && !cell(fields, "time_ms") &&
                       !cell(fields, "time_us") && cell(fields, "tflops");
  if (by_rate) return flop / FlopsPerSecond{positive(fields, "tflops") * kTera};
  return measured_time(fields);
}

Precision precision(const Fields& fields) {
  const std::string* text = cell(fields, "dtype");
  if (!text || *text == "bfloat16") return Precision::bf16;
  // Libraries of inference scale rows in the kernels that take one scale as well.
  if (*text == "fp8-tensor" || *text == "fp8-row" || *text == "bf16 (kv fp8)") {
    return Precision::fp8;
  }
  if (const auto known = named<Precision>(*text)) return *known;
  if (*text == "nvfp4") return Precision::fp4;
  if (text->starts_with("fp8+1x128")) return Precision::fp8_block;
  throw InputError(
      fmt::format("dtype: expected fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8 or nvfp4, got {}",
                  in_quotes(*text)));
}

/// Scales of whole tensors that are known, as in layers of experts, not looked for.
constexpr std::string_view kKnownScales = "known scales";

/// How libraries of inference cast activations: with scales that they look for in the same kernels,
/// but NVFP4's scale of the tensor, which they know.
Stream library_cast(std::string_view dtype, double elements) {
  const auto one_order = [elements](CastRecipe recipe) {
    return stream_of({recipe, elements, 2.0, false}, false);
  };
  if (dtype == kKnownScales) return one_order(CastRecipe::delayed);
  if (dtype == "fp8-tensor") return one_order(CastRecipe::absmax);
  if (dtype == "fp8-row") return one_order(CastRecipe::row);
  if (dtype == "fp8-block") return one_order(CastRecipe::block);
  if (dtype == "mxfp8") return one_order(CastRecipe::mxfp8);
  return {StreamKind::quantize_nvfp4, {elements * (2.0 + bytes_per_element(Precision::fp4))}};
}

/// Casts by Transformer Engine's recipes ("fp8-current").
std::optional<CastRecipe> engine_recipe(const std::string& text) {
  if (text == "fp8-delayed") return CastRecipe::delayed;
  if (text == "fp8-current") return CastRecipe::current;
  if (text == "fp8-block") return CastRecipe::block;
  if (text == "mxfp8") return CastRecipe::mxfp8;
  if (text == "nvfp4") return CastRecipe::nvfp4;
  return std::nullopt;
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

/// A product and the casts that its row says to be in its time.
MeasuredKernels cast_and_product(const Fields& fields) {
  const std::string* dtype = cell(fields, "dtype");
  const std::string& recipe = *cell(fields, "recipe");
  Gemm what = gemm(fields);
  const double inputs = static_cast<double>(what.m) * static_cast<double>(what.k);
  if (dtype) return {{library_cast(*dtype, inputs), what}};
  const auto of_engine = engine_recipe(recipe);
  if (!of_engine) return {{what}};  // bf16
  what.precision = format_of(*of_engine);
  const std::string* mode = cell(fields, "mode");
  if (mode && mode->starts_with("operands already")) return {{what}};
  const double weights = static_cast<double>(what.n) * static_cast<double>(what.k);
  const auto cast = [&](double elements) {
    return stream_of({*of_engine, elements, 2.0, false}, false);
  };
  return {{cast(inputs), cast(weights), what}};
}

/// `m_per_group` rows of every group, as the layer's forward pass has them.
GroupedGemm grouped_gemm(const Fields& fields) {
  GroupedGemm what;
  what.groups = whole(fields, "groups");
  what.rows = what.groups * whole(fields, "m_per_group");
  what.outputs = whole(fields, "n");
  what.inputs = whole(fields, "k");
  what.precision = precision(fields);
  const std::string* pass = cell(fields, "pass");
  if (pass && *pass == "bwd_grad_act") what.pass = GemmPass::dgrad;
  if (pass && *pass == "bwd_grad_w") what.pass = GemmPass::wgrad;
  const std::string* library = cell(fields, "library");
  what.one_launch = !library || library->find("an expert") == std::string::npos;
  return what;
}

/// Tokens of which at least one copy stays on a device of `ranks`, where every copy finds its rank
/// by itself; never more than there are copies, nor fewer than copies of whole tokens would be.
double tokens_with_copies(double tokens, double copies, double top_k, double ranks) {
  const double expected = tokens * (1.0 - std::pow(1.0 - 1.0 / ranks, top_k));
  return std::min({tokens, copies, std::max(expected, copies / top_k)});
}

/// Tests whether the library casts a token once, before it is copied for its experts, not each
/// copy: SGLang, and TensorRT-LLM but with a scale for 128 elements.
bool casts_tokens(const std::string& library, Precision precision) {
  const auto has = [&](std::string_view text) { return library.find(text) != std::string::npos; };
  return has("sglang") || (has("trtllm") && precision != Precision::fp8_block);
}

/// Returns the multiple to which a library fills the rows of an expert: DeepGEMM 128;
/// TensorRT-LLM's generated kernels their tile of rows, a power of two from 8 to 64 that holds the
/// mean expert's (as SGLang chooses it, from memory of its source; with 64 the tables are met
/// better than with 128).
std::int64_t row_padding(const std::string& library, const GroupedGemm& product) {
  if (library.starts_with("deepgemm")) return 128;
  if (!library.starts_with("trtllm-gen")) return 1;
  const std::int64_t mean = (product.rows + product.groups - 1) / product.groups;
  const std::uint64_t tile = std::bit_ceil(static_cast<std::uint64_t>(mean));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(tile), 8, 64);
}

/// Experts that have tokens: all, unless the row says how many.
std::int64_t used_experts(const Fields& fields) {
  const std::int64_t all = whole(fields, "experts");
  const std::int64_t used = whole(fields, "used_experts", all);
  if (used <= all) return used;
  throw InputError(fmt::format("used_experts: {} of {} experts; at most all of them", used, all));
}

/// Tests whether experts have a gate beside the up-projection, as is usual.
bool gated(const Fields& fields) {
  const std::string* text = cell(fields, "gated");
  if (!text || *text == "1" || *text == "true") return true;
  if (*text == "0" || *text == "false") return false;
  throw InputError(fmt::format("gated: expected 1 or 0, got {}", in_quotes(*text)));
}

/// A layer of experts forward on one device of a group: tokens into their order, casts, (gated)
/// up-projection, activation, down-projection, and back; without the router. The group's tokens
/// with copies here are read and their copies written; on the way back copies are read and all of
/// the group's tokens written.
MeasuredKernels expert_layer(const Fields& fields) {
  const std::string* dtype = cell(fields, "dtype");
  const double tokens = positive(fields, "tokens");
  const double rows = std::ceil(positive(fields, "local_rows"));
  const std::int64_t hidden = whole(fields, "hidden");
  const std::int64_t inner = whole(fields, "inter") / whole(fields, "tp", 1);
  const std::int64_t ranks = whole(fields, "ep", 1);
  const std::int64_t halves = gated(fields) ? 2 : 1;
  const std::string* kernel = cell(fields, "kernel");
  const std::string library = kernel ? *kernel : "";
  GroupedGemm up;
  up.groups = used_experts(fields) / ranks;
  up.rows = static_cast<std::int64_t>(rows);
  up.outputs = halves * inner;
  up.inputs = hidden;
  up.precision = precision(fields);
  up.padding = row_padding(library, up);
  GroupedGemm down = up;
  down.outputs = hidden;
  down.inputs = inner;
  const auto h = static_cast<double>(hidden);
  const auto i = static_cast<double>(inner);
  const double sent = tokens_with_copies(
      tokens, rows, static_cast<double>(whole(fields, "topk", 1)), static_cast<double>(ranks));
  const auto permute = [h](double bytes_of) {
    return Stream{StreamKind::permute, {2.0 * h * bytes_of}};
  };
  const double activated = 2.0 * (1.0 + static_cast<double>(halves)) * rows * i;
  MeasuredKernels layer{{permute(sent + rows), up, Stream{StreamKind::swiglu, {activated}}, down,
                         permute(rows + tokens)}};
  if (is_quantized(up.precision)) {
    const std::string_view recipe = *dtype == "fp8-tensor" ? kKnownScales : *dtype;
    const double inputs = casts_tokens(library, up.precision) ? tokens : rows;
    layer.kernels.emplace_back(library_cast(recipe, inputs * h));
    layer.kernels.emplace_back(library_cast(recipe, rows * i));
  }
  return layer;
}

MeasuredAttention attention(const Fields& fields) {
  MeasuredAttention measured;
  FusedAttention& what = measured.attention;
  what.batch = whole(fields, "batch", 1);
  what.seq = whole(fields, "seq");
  what.heads = whole(fields, "heads");
  what.kv_heads = whole(fields, "kv_heads", what.heads);
  what.head_dim = whole(fields, cell(fields, "head_dim") ? "head_dim" : "qk_head_dim");
  if (cell(fields, "v_head_dim")) what.value_dim = whole(fields, "v_head_dim");
  if (cell(fields, "kv_seq")) what.kv_seq = whole(fields, "kv_seq");
  const std::string* window = cell(fields, "window");
  if (window && *window != "0") what.window = whole(fields, "window");
  what.precision = precision(fields);
  const std::string* causal = cell(fields, "causal");
  what.causal = !causal || *causal == "1" || *causal == "true";
  const std::string* pass = cell(fields, "pass");
  what.backward = pass && (*pass == "bwd" || *pass == "backward");
  const std::string* kernel = cell(fields, "kernel");
  measured.kernel = kernel ? *kernel : "flash-2";
  return measured;
}

/// Returns the first whole number in a text, as in "topk 2048, keys 32768".
std::int64_t number_in(std::string_view text, std::int64_t otherwise) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return otherwise;
  const std::size_t end = text.find_first_not_of("0123456789", begin);
  return parse_integer(text.substr(begin, end == std::string_view::npos ? end : end - begin))
      .value_or(otherwise);
}

/// Reads a scan, or attention over chosen keys, of whole heads; with its backward pass where the
/// row has that, too.
MeasuredKernels mixer_passes(const Fields& fields, std::string_view kernel) {
  const std::string* text = cell(fields, cell(fields, "pass_") ? "pass_" : "pass");
  const std::string_view pass = text ? std::string_view(*text) : "fwd";
  const std::string* chunk = cell(fields, "chunk");
  MeasuredKernels measured;
  const auto add = [&](auto what) {
    if (pass != "bwd") measured.kernels.emplace_back(what);
    what.backward = true;
    if (pass != "fwd") measured.kernels.emplace_back(what);
  };
  const std::int64_t tokens = whole(fields, "batch", 1) * whole(fields, "seq");
  if (kernel == "sparse-mla") {
    const auto chosen = static_cast<double>(number_in(chunk ? *chunk : "", 2048));
    add(SparseAttention{static_cast<double>(tokens), chosen, whole(fields, "v_heads"),
                        whole(fields, "k_dim"), whole(fields, "v_dim")});
    return measured;
  }
  Scan scan{*named<ScanKind>(kernel), whole(fields, "batch", 1), whole(fields, "seq")};
  scan.heads = whole(fields, "v_heads");
  scan.key_heads = whole(fields, "k_heads", scan.heads);
  scan.key_dim = whole(fields, "k_dim");
  scan.value_dim = whole(fields, "v_dim");
  scan.chunk = number_in(chunk ? *chunk : "", 64);
  add(scan);
  return measured;
}

/// Reads a kernel of a token mixer, which `kernel` names, or beside one: a convolution, of as many
/// channels as `k_heads` says, or a mix of `k_heads` residual streams of width `k_dim`. Kernels
/// that serve (`impl`) and others have no model.
decltype(Measurement::what) mixer(const Fields& fields) {
  const std::string* text = cell(fields, "kernel");
  const std::string kernel = text ? *text : "";
  const std::string* impl = cell(fields, "impl");
  const bool serves = impl && (impl->find("inference") != std::string::npos ||
                               impl->find("sglang") != std::string::npos);
  const auto elements = [&] {
    return static_cast<double>(whole(fields, "batch", 1) * whole(fields, "seq")) *
           static_cast<double>(whole(fields, "k_heads"));
  };
  const auto stream = [](StreamKind kind, double bytes) { return MeasuredStream{{kind, {bytes}}}; };
  constexpr double kElement = 2;
  if (serves) return MeasuredOther{"a kernel that serves (" + kernel + ")"};
  if (kernel == "conv1d") return stream(StreamKind::convolution, 2 * kElement * elements());
  if (kernel == "mhc-pre" || kernel == "mhc-post") {
    const bool before = kernel == "mhc-pre";
    const auto streams = static_cast<double>(whole(fields, "k_heads"));
    const double width = static_cast<double>(whole(fields, "k_dim"));
    const double passes = before ? streams + 1 : 2 * streams + 1;
    return stream(before ? StreamKind::streams_in : StreamKind::streams_out,
                  kElement * passes * width * elements() / streams);
  }
  if (kernel == "sparse-mla" || named<ScanKind>(kernel)) return mixer_passes(fields, kernel);
  return MeasuredOther{kernel.empty() ? "a mixer without a kernel's name" : kernel};
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

constexpr std::string_view kAllToAll = "alltoall_";

/// DeepEP's or HybridEP's kernels, by what the table calls the library. Those of TensorRT-LLM send
/// a copy a rank as DeepEP's do: that model with a factor of its own.
Dispatcher dispatcher(const Fields& fields) {
  const std::string* library = cell(fields, "library");
  const std::string text = library ? *library : "";
  if (text.find("HybridEP") != std::string_view::npos) return Dispatcher::hybridep;
  if (text.find("DeepEP") != std::string_view::npos) return Dispatcher::deepep;
  if (text.find("TRT-LLM") != std::string_view::npos) return Dispatcher::deepep;
  throw InputError(fmt::format("library: expected one of DeepEP, HybridEP and TRT-LLM, got {}",
                               in_quotes(text)));
}

MeasuredDispatch dispatch(const Fields& fields, bool combine) {
  MeasuredDispatch measured;
  Dispatch& what = measured.dispatch;
  what.dispatcher = dispatcher(fields);
  what.combine = combine;
  what.tokens = positive(fields, "tokens");
  what.hidden = whole(fields, "hidden");
  what.top_k = whole(fields, "topk");
  // Tokens in 8 bits go with a scale for 128 of their elements.
  what.precision = precision(fields) == Precision::fp8 ? Precision::fp8_block : precision(fields);
  // TensorRT-LLM's rows name the format of the way there.
  const std::string* op = cell(fields, "op");
  if (combine && op && op->starts_with(kAllToAll)) what.precision = Precision::bf16;
  measured.ranks = static_cast<int>(whole(fields, "ep"));
  measured.nodes = static_cast<int>(whole(fields, "nodes", 1));
  if (cell(fields, "sms")) measured.units = positive(fields, "sms");
  return measured;
}

/// By the time of a call, or by the rate of the copies that a token makes.
Seconds measured_time(const Fields& fields, const MeasuredDispatch& what) {
  if (!cell(fields, "gb_s")) return measured_time(fields);
  const std::string* level = cell(fields, "level");
  const double places = level && *level == "rdma" ? what.nodes : what.ranks;
  const Bytes token{static_cast<double>(what.dispatch.hidden) *
                    bytes_per_element(what.dispatch.precision)};
  return what.dispatch.tokens * hits(places, what.dispatch) * token /
         BytesPerSecond{positive(fields, "gb_s") * 1e9};
}

/// Names of kernels in profiles (Vidur's) besides those of StreamKind.
std::optional<std::pair<StreamKind, double>> profiled_kind(std::string_view op) {
  static constexpr std::pair<std::string_view, StreamKind> kProfiled[] = {
      {"add", StreamKind::residual_add},
      {"layernorm", StreamKind::layer_norm},
      {"rmsnorm", StreamKind::rms_norm},
      {"mlp_act_gelu", StreamKind::gelu},
      {"mlp_act_swiglu", StreamKind::swiglu},
      {"attn_rope", StreamKind::rope},
      {"emb", StreamKind::embedding},
      {"cast_fp8_static", StreamKind::quantize},
      {"cast_fp8_dynamic_tensor", StreamKind::quantize_absmax},
      {"cast_fp8_dynamic_row", StreamKind::quantize_row}};
  if (op == "add_x2") return std::pair{StreamKind::residual_add, 2.0};
  for (const auto& [text, kind] : kProfiled) {
    if (op == text) return std::pair{kind, 1.0};
  }
  if (const auto kind = stream_kind(op)) return std::pair{*kind, 1.0};
  return std::nullopt;
}

MeasuredStream stream(const Fields& fields) {
  const std::string* op = cell(fields, "op");
  const auto kind = op ? profiled_kind(*op) : std::nullopt;
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

/// Arithmetic of attention as papers count it: half of it where it is causal, 2.5 times backward.
Flops paper_flops(const FusedAttention& what) {
  const double pairs = static_cast<double>(what.batch * what.heads) *
                       static_cast<double>(what.seq * what.keys()) * (what.causal ? 0.5 : 1.0);
  return {2.0 * pairs * static_cast<double>(what.head_dim + what.value_size()) *
          (what.backward ? 2.5 : 1.0)};
}

/// "10^9..10^10 FLOP": the decade that the size of the work is in.
std::string decade(double size, std::string_view unit) {
  const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
  return fmt::format("10^{}..10^{} {}", exponent, exponent + 1, unit);
}

/// The measurement of a row, and the classes that it is of.
struct Reading {
  Seconds time{};
  decltype(Measurement::what) what;
  std::string kind, size;
};

Reading reading_of(const Fields& fields) {
  const auto has = [&](const char* key) { return cell(fields, key) != nullptr; };
  const std::string op = has("op") ? *cell(fields, "op") : "";
  const std::string verb = op.starts_with(kAllToAll) ? op.substr(kAllToAll.size()) : op;
  const std::string way = has("phase") ? *cell(fields, "phase") : verb;
  const bool is_product = has("m") && has("n") && has("k");
  const auto size_of = [](const auto& product) { return decade(flops(product).value, "FLOP"); };
  if (is_other(op)) return {measured_time(fields), MeasuredOther{op}, op, "any"};
  if (op == "host_to_device" || op == "device_to_host") {
    return {measured_time(fields), copy(fields, op == "host_to_device"), op,
            decade(positive(fields, "bytes"), "B")};
  }
  if (op == "gemm_beside_collective") {
    return {measured_time(fields), MeasuredBeside{gemm(fields)}, op, size_of(gemm(fields))};
  }
  if (has("topk") && (way == "dispatch" || way == "combine")) {
    const MeasuredDispatch what = dispatch(fields, way == "combine");
    return {measured_time(fields, what), what, way, decade(what.dispatch.tokens, "tokens")};
  }
  if (has("ranks")) {
    const Seconds time = measured_time(fields);
    const MeasuredCollective what = collective(fields);
    return {time, what, std::string(name(what.op)), decade(positive(fields, "bytes"), "B")};
  }
  if (has("m_per_group")) {
    const GroupedGemm what = grouped_gemm(fields);
    return {measured_time(fields, flops(what)), MeasuredKernels{{what}}, "grouped_gemm",
            size_of(what)};
  }
  if (has("local_rows")) {
    return {measured_time(fields), expert_layer(fields), "expert_layer",
            decade(std::ceil(positive(fields, "local_rows")), "rows")};
  }
  if (is_product && has("recipe")) {
    return {measured_time(fields), cast_and_product(fields), "cast_and_gemm",
            size_of(gemm(fields))};
  }
  if (is_product) {
    const Gemm what = gemm(fields);
    return {measured_time(fields, flops(what)), what, "gemm", size_of(what)};
  }
  if (has("seq") && (has("v_heads") || has("k_heads"))) {
    return {measured_time(fields), mixer(fields), has("kernel") ? *cell(fields, "kernel") : "mixer",
            decade(real(whole(fields, "seq")), "tokens")};
  }
  if (has("seq") && has("heads")) {
    const MeasuredAttention what = attention(fields);
    return {measured_time(fields, paper_flops(what.attention)), what, "attention",
            decade(real(whole(fields, "seq")), "tokens")};
  }
  const Seconds time = measured_time(fields);
  const MeasuredStream what = stream(fields);
  return {time, what, std::string(name(what.stream.kind)), decade(what.stream.bytes.value, "B")};
}

}  // namespace

std::vector<Fields> both_ways(Fields fields) {
  if (!cell(fields, "dispatch_us") || !cell(fields, "combine_us")) return {std::move(fields)};
  std::vector<Fields> rows;
  for (const std::string way : {"dispatch", "combine"}) {
    Fields row = fields;
    row["op"] = way;
    row["time_us"] = fields.at(way + "_us");
    if (const std::string* dtype = cell(fields, way + "_dtype")) row["dtype"] = *dtype;
    rows.push_back(std::move(row));
  }
  return rows;
}

Measurement read_measurement(Fields fields) {
  Reading read = reading_of(fields);
  fields.emplace("operator", std::move(read.kind));
  fields.emplace("size_class", std::move(read.size));
  return {std::move(read.what), read.time, std::move(fields)};
}

}  // namespace prequel
