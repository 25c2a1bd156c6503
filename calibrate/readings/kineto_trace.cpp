#include "calibrate/readings/kineto_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "calibrate/statistics/error_statistics.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/lower_case.hpp"

namespace prequel {
namespace {
/// Names of traces; those of tables beside them are much the same.
namespace kineto {

using nlohmann::json;
using Dims = std::vector<std::int64_t>;

/// Deeper nesting than a trace has.
constexpr std::size_t kDeepest = 16;

/// An operator of the host, by the number under which its kernels know it.
struct Operator {
  std::string name;
  std::vector<Dims> dims, strides;
  std::vector<std::string> types, values;
  std::int64_t thread{};
  Seconds device{};  ///< of its kernels together
  std::size_t kernels{};
  bool tf32{};
};

/// A kernel, copy or fill of the device.
struct DeviceEvent {
  std::string name, category;
  Seconds time{};
  std::int64_t operation{-1};  ///< that launched it
  std::int64_t bytes{};
  std::string collective, dtype, ranks;  ///< since PyTorch 2.2
  std::int64_t in_elements{}, out_elements{}, group{};
};

/// The first of these members that is of such a kind; null: none.
const json* member(const json& object, std::initializer_list<const char*> keys,
                   bool (json::*is)() const noexcept) {
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && ((*found).*is)()) return &*found;
  }
  return nullptr;
}

std::int64_t whole_in(const json& object, std::initializer_list<const char*> keys,
                      std::int64_t otherwise) {
  const json* found = member(object, keys, &json::is_number_integer);
  return found ? found->get<std::int64_t>() : otherwise;
}

std::string text_in(const json& object, std::initializer_list<const char*> keys) {
  const json* found = member(object, keys, &json::is_string);
  return found ? found->get<std::string>() : std::string();
}

/// Lists of numbers; what is no list (a number, a list of tensors) counts as an empty one.
std::vector<Dims> lists_in(const json& object, std::initializer_list<const char*> keys) {
  std::vector<Dims> lists;
  const json* found = member(object, keys, &json::is_array);
  for (const json& each : found ? *found : json::array()) {
    Dims& dims = lists.emplace_back();
    for (const json& size : each.is_array() ? each : json::array()) {
      if (size.is_number_integer()) dims.push_back(size.get<std::int64_t>());
    }
  }
  return lists;
}

std::vector<std::string> texts_in(const json& object, const char* key) {
  std::vector<std::string> texts;
  const json* found = member(object, {key}, &json::is_array);
  for (const json& each : found ? *found : json::array()) {
    texts.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  }
  return texts;
}

bool contains(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// Returns the kind of a kernel, by its operator where that tells it, else by its own name. Names
/// are those of PyTorch, cuBLAS, CUTLASS, FlashAttention, NCCL, Triton and Transformer Engine.
std::string kind_of(const DeviceEvent& event, const Operator* by) {
  const std::string name = lower_case(event.name);
  const std::string op = by ? lower_case(by->name) : "";
  if (contains(event.category, {"memset", "Memset"})) return "memset";
  if (contains(event.category, {"memcpy", "Memcpy"})) return "copy";
  if (contains(name, {"nccl", "rccl"})) return "collective";
  if (contains(op, {"attention", "flash_attn"}) ||
      contains(name, {"flash_fwd", "flash_bwd", "fmha", "sdpa", "flash::"})) {
    return "attention";
  }
  if (contains(name, {"adam", "multi_tensor_apply"}) || contains(op, {"_foreach", "adam"})) {
    return "optimizer";
  }
  if (contains(name, {"gemm", "cutlass", "xmma", "cublas", "nvjet", "matmul", "splitkreduce"}) ||
      contains(op, {"aten::mm", "aten::addmm", "aten::bmm", "aten::_scaled_mm"})) {
    return "gemm";
  }
  if (contains(op, {"softmax", "cross_entropy", "nll_loss"}) || contains(name, {"softmax"})) {
    return "softmax";
  }
  if (contains(op, {"norm"}) || contains(name, {"layer_norm", "layernorm", "rms", "norm_kernel"})) {
    return "norm";
  }
  if (contains(op, {"gelu", "silu", "swiglu"}) || contains(name, {"gelu", "silu", "swiglu"})) {
    return "activation";
  }
  if (contains(op, {"embedding", "index", "gather", "scatter"})) return "embedding";
  if (contains(name, {"elementwise", "triton", "vectorized"})) return "pointwise";
  return "other";
}

/// Gathers what of a trace is needed, event by event, so that no more of it is kept.
class Reader {
 public:
  void take(const json& event) {
    const auto phase = event.find("ph");
    if (phase == event.end() || *phase != "X") return;
    const std::string category = lower_case(text_in(event, {"cat"}));
    const auto args = event.find("args");
    const json none = json::object();
    const json& about = args != event.end() && args->is_object() ? *args : none;
    if (category == "cpu_op" || category == "operator") return take_operator(event, about);
    if (category == "kernel" || category == "gpu_memcpy" || category == "memcpy" ||
        category == "gpu_memset" || category == "memset") {
      take_device_event(event, about, category);
    }
  }

  [[nodiscard]] std::vector<DeviceEvent>& events() { return events_; }
  [[nodiscard]] bool is_backward(const Operator& op) const { return backward_.contains(op.thread); }

  Operator* operator_of(const DeviceEvent& event) {
    const auto found = operators_.find(event.operation);
    return found == operators_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const std::map<std::int64_t, Operator>& operators() const { return operators_; }

 private:
  static std::int64_t thread_of(const json& event) { return whole_in(event, {"tid"}, -1); }

  void take_operator(const json& event, const json& about) {
    Operator op;
    op.name = text_in(event, {"name"});
    op.thread = thread_of(event);
    if (op.name.starts_with("autograd::engine")) backward_.insert(op.thread);
    op.dims = lists_in(about, {"Input Dims", "Input dims"});
    op.strides = lists_in(about, {"Input Strides"});
    op.types = texts_in(about, "Input type");
    op.values = texts_in(about, "Concrete Inputs");
    const std::int64_t number = whole_in(about, {"External id", "external id"}, -1);
    if (number >= 0) operators_[number] = std::move(op);
  }

  void take_device_event(const json& event, const json& about, const std::string& category) {
    const auto duration = event.find("dur");
    if (duration == event.end() || !duration->is_number() || *duration < 0) return;
    events_.push_back({.name = text_in(event, {"name"}),
                       .category = category,
                       .time = {duration->get<double>() * 1e-6},
                       .operation = whole_in(about, {"External id", "external id"}, -1),
                       .bytes = whole_in(about, {"bytes"}, 0),
                       .collective = lower_case(text_in(about, {"Collective name"})),
                       .dtype = text_in(about, {"dtype"}),
                       .ranks = text_in(about, {"Process Group Ranks"}),
                       .in_elements = whole_in(about, {"In msg nelems", "In msg size"}, 0),
                       .out_elements = whole_in(about, {"Out msg nelems", "Out msg size"}, 0),
                       .group = whole_in(about, {"Group size"}, 0)});
  }

  std::map<std::int64_t, Operator> operators_;
  std::vector<DeviceEvent> events_;
  std::set<std::int64_t> backward_;  ///< threads on which autograd runs
};

double elements_of(const Dims& dims) {
  double count = 1.0;
  for (const std::int64_t size : dims) count *= static_cast<double>(size);
  return count;
}

/// "c10::BFloat16" to "bf16"; empty for what is no number of a kernel.
std::string dtype_of(const Operator& op, std::size_t input) {
  const std::string type = input < op.types.size() ? lower_case(op.types[input]) : "";
  if (contains(type, {"bfloat16"})) return "bf16";
  if (contains(type, {"half"})) return "fp16";
  if (contains(type, {"float8"})) return "fp8";
  if (type == "float") return op.tf32 ? "tf32" : "fp32";
  return {};
}

double bytes_of(std::string_view dtype) {
  return dtype == "fp8" ? 1.0 : dtype == "bf16" || dtype == "fp16" ? 2.0 : 4.0;
}

/// Rows of a table, by the operator; nothing where it is none that a fit has a model of, or the
/// trace does not say enough.
class Points {
 public:
  explicit Points(const Reader& reader) : reader_(reader) {}

  std::optional<Fields> operator()(const Operator& op) const {
    const std::string& name = op.name;
    if (name == "aten::mm" || name == "aten::_scaled_mm") return product(op, 0);
    if (name == "aten::addmm" || name == "aten::addmm_") return product(op, 1);
    if (name == "aten::bmm") return product(op, 0);
    if (name == "aten::baddbmm") return product(op, 1);
    if (name == "aten::_flash_attention_forward") return attention(op, 0, false, "flash-2", 8);
    if (name == "aten::_flash_attention_backward") return attention(op, 1, true, "flash-2", 12);
    if (name == "flash_attn::_flash_attn_forward") return attention(op, 0, false, "flash-2", 5);
    if (name == "flash_attn::_flash_attn_backward") return attention(op, 1, true, "flash-2", 12);
    if (name == "aten::native_layer_norm") return stream(op, "layer_norm", 2.0, true);
    if (name == "aten::_fused_rms_norm") return stream(op, "rms_norm", 2.0, true);
    if (name == "aten::_softmax") return stream(op, "softmax", 2.0, true);
    if (name == "aten::gelu") return stream(op, "gelu", 2.0, false);
    if (name == "aten::add" || name == "aten::add_") return sum(op);
    return std::nullopt;
  }

 private:
  static const Dims* dims(const Operator& op, std::size_t input) {
    return input < op.dims.size() && !op.dims[input].empty() ? &op.dims[input] : nullptr;
  }

  /// Matrices, or batches of them. Forward products are with a weight [out, in]; backward, what is
  /// transposed tells gradients of weights from those of inputs.
  std::optional<Fields> product(const Operator& op, std::size_t first) const {
    const Dims* a = dims(op, first);
    const Dims* b = dims(op, first + 1);
    const std::string dtype = dtype_of(op, first);
    if (!a || !b || dtype.empty() || a->size() != b->size()) return std::nullopt;
    const std::size_t rank = a->size();
    if ((rank != 2 && rank != 3) || (*a)[rank - 1] != (*b)[rank - 2]) return std::nullopt;
    std::string layout = "TN";
    if (reader_.is_backward(op)) {
      if (first >= op.strides.size() || op.strides[first].size() != rank) return std::nullopt;
      const Dims& stride = op.strides[first];
      layout = stride[rank - 1] > stride[rank - 2] ? "NT" : "NN";
    }
    Fields fields{{"op", "gemm"},
                  {"m", fmt::format("{}", (*a)[rank - 2])},
                  {"n", fmt::format("{}", (*b)[rank - 1])},
                  {"k", fmt::format("{}", (*a)[rank - 1])},
                  {"dtype", dtype},
                  {"layout", layout}};
    if (rank == 3) fields["batch"] = fmt::format("{}", (*a)[0]);
    return fields;
  }

  /// Batch, position, head, element. Which kernel it is and whether it is causal the trace says by
  /// the operator and by its values.
  static std::optional<Fields> attention(const Operator& op, std::size_t first, bool backward,
                                         const char* kernel, std::size_t causal) {
    const Dims* q = dims(op, first);
    const Dims* k = dims(op, first + 1);
    const std::string dtype = dtype_of(op, first);
    if (!q || !k || q->size() != 4 || k->size() != 4 || dtype.empty()) return std::nullopt;
    if (causal >= op.values.size()) return std::nullopt;
    const std::string value = lower_case(op.values[causal]);
    if (value != "true" && value != "false") return std::nullopt;
    return Fields{{"op", "attention"},
                  {"batch", fmt::format("{}", (*q)[0])},
                  {"seq", fmt::format("{}", (*q)[1])},
                  {"kv_seq", fmt::format("{}", (*k)[1])},
                  {"heads", fmt::format("{}", (*q)[2])},
                  {"kv_heads", fmt::format("{}", (*k)[2])},
                  {"head_dim", fmt::format("{}", (*q)[3])},
                  {"dtype", dtype},
                  {"causal", value == "true" ? "1" : "0"},
                  {"pass", backward ? "bwd" : "fwd"},
                  {"kernel", kernel}};
  }

  static std::optional<Fields> stream(const Operator& op, const char* kind, double passes,
                                      bool rows) {
    const Dims* x = dims(op, 0);
    const std::string dtype = dtype_of(op, 0);
    if (!x || dtype.empty()) return std::nullopt;
    const double elements = elements_of(*x);
    Fields fields{{"op", kind},
                  {"bytes", fmt::format("{:.0f}", passes * elements * bytes_of(dtype))}};
    if (rows) {
      fields["tokens"] = fmt::format("{:.0f}", elements / static_cast<double>(x->back()));
    }
    return fields;
  }

  static std::optional<Fields> sum(const Operator& op) {
    const Dims* a = dims(op, 0);
    const Dims* b = dims(op, 1);
    if (!a || !b || *a != *b || dtype_of(op, 0) != dtype_of(op, 1)) return std::nullopt;
    return stream(op, "add", 3.0, false);
  }

  const Reader& reader_;
};

/// How nccl-tests call it, and whose elements it counts.
struct Collective {
  const char* in_trace;
  const char* op;
  bool by_result;
};
constexpr std::array<Collective, 12> kCollectives{
    {{"allreduce", "all_reduce", false},
     {"all_reduce", "all_reduce", false},
     {"_allgather_base", "all_gather", true},
     {"allgather_into_tensor", "all_gather", true},
     {"all_gather", "all_gather", true},
     {"allgather", "all_gather", true},
     {"_reduce_scatter_base", "reduce_scatter", false},
     {"reduce_scatter", "reduce_scatter", false},
     {"all_to_all", "all_to_all", false},
     {"all_to_allv", "all_to_all", false},
     {"alltoall_base", "all_to_all", false},
     {"broadcast", "broadcast", false}}};

double bytes_of_element(const std::string& dtype) {
  const std::string type = lower_case(dtype);
  if (contains(type, {"bfloat16", "half"})) return 2.0;
  if (contains(type, {"float8", "byte", "char"})) return 1.0;
  if (contains(type, {"double", "long"})) return 8.0;
  return 4.0;
}

/// Nodes that a group spans: by its ranks, "[0, 8]", and how many devices a node has; 0: unknown.
int nodes_of(const std::string& ranks, std::int64_t group, std::int64_t per_node) {
  if (per_node <= 0) return 0;
  std::set<std::int64_t> nodes;
  std::int64_t rank = -1;
  for (const char c : ranks + "]") {
    if (c >= '0' && c <= '9') {
      rank = std::max<std::int64_t>(rank, 0) * 10 + (c - '0');
    } else if (rank >= 0) {
      nodes.insert(rank / per_node);
      rank = -1;
    }
  }
  // PyTorch shortens long lists by "...": then the group is taken as one of neighbours.
  if (nodes.empty() || ranks.find("...") != std::string::npos) {
    return static_cast<int>((group + per_node - 1) / per_node);
  }
  return static_cast<int>(nodes.size());
}

std::optional<Fields> collective(const DeviceEvent& event, std::int64_t per_node) {
  const auto known = std::ranges::find_if(
      kCollectives, [&](const Collective& one) { return event.collective == one.in_trace; });
  const std::int64_t elements = known == kCollectives.end() ? 0
                                : known->by_result          ? event.out_elements
                                                            : event.in_elements;
  if (elements <= 0 || event.group < 2) return std::nullopt;
  const int nodes = nodes_of(event.ranks, event.group, per_node);
  if (nodes == 0) return std::nullopt;
  return Fields{{"op", known->op},
                {"ranks", fmt::format("{}", event.group)},
                {"nodes", fmt::format("{}", nodes)},
                {"bytes", fmt::format("{:.0f}", static_cast<double>(elements) *
                                                    bytes_of_element(event.dtype))}};
}

std::optional<Fields> copy(const DeviceEvent& event) {
  const bool up = contains(event.name, {"HtoD"});
  if (event.bytes <= 0 || (!up && !contains(event.name, {"DtoH"}))) return std::nullopt;
  return Fields{{"op", up ? "host_to_device" : "device_to_host"},
                {"bytes", fmt::format("{}", event.bytes)},
                {"pinned", contains(event.name, {"Pinned"}) ? "1" : "0"}};
}

/// Points of the same row are one.
class Shapes {
 public:
  void add(const Fields& fields, Seconds time) { times_[fields].push_back(time.value); }

  void write(MeasurementFile& file, const std::string& path) const {
    for (const auto& [fields, times] : times_) {
      Fields row = fields;
      const bool waits = row.contains("ranks");
      row["time_s"] = fmt::format("{:.9g}", quantile(times, waits ? 0.1 : 0.5));
      row["p10_s"] = fmt::format("{:.9g}", quantile(times, 0.1));
      row["p90_s"] = fmt::format("{:.9g}", quantile(times, 0.9));
      row["samples"] = fmt::format("{}", times.size());
      row["source"] = "PyTorch's profiler";
      try {
        file.points.push_back(read_measurement(std::move(row)));
      } catch (const InputError& error) {
        file.unread.push_back(fmt::format("{}: {}", path, error.what()));
      }
    }
  }

 private:
  std::map<Fields, std::vector<double>> times_;
};

KinetoTrace read(std::istream& in, const std::string& file) {
  Reader reader;
  // Events are taken as they are read, and none of them is kept.
  std::vector<std::string> keys(kDeepest);
  bool too_deep = false;
  const auto take = [&](int depth, json::parse_event_t event, json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (level + 1 >= kDeepest) {
      too_deep = true;
      return false;
    }
    if (event == json::parse_event_t::key) keys[level] = parsed.get<std::string>();
    if (event != json::parse_event_t::object_end || depth != 2 || keys[1] != "traceEvents") {
      return true;
    }
    reader.take(parsed);
    return false;
  };
  const json rest = json::parse(in, take, false);
  if (!rest.is_object() || !rest.contains("traceEvents")) {
    throw InputError(fmt::format(
        "{}: {}", file,
        too_deep ? "nested more deeply than a profiler's trace"
                 : "no trace of PyTorch's profiler, or one that is cut off (gunzip FILE.json.gz "
                   "first)"));
  }
  KinetoTrace trace;
  std::int64_t per_node = 0;
  if (const auto devices = rest.find("deviceProperties");
      devices != rest.end() && devices->is_array() && !devices->empty()) {
    per_node = static_cast<std::int64_t>(devices->size());
    trace.file.context["device"] = text_in(devices->front(), {"name"});
  }
  std::map<std::string, KernelSum> sums;
  Shapes shapes;
  for (const DeviceEvent& event : reader.events()) {
    Operator* const by = reader.operator_of(event);
    const std::string kind = kind_of(event, by);
    KernelSum& sum = sums.try_emplace(kind, KernelSum{kind}).first->second;
    sum.time += event.time;
    ++sum.count;
    if (kind == "copy") {
      if (const auto row = copy(event)) shapes.add(*row, event.time);
    } else if (kind == "collective") {
      if (const auto row = collective(event, per_node)) shapes.add(*row, event.time);
    } else if (by && kind != "memset") {
      by->device += event.time;
      ++by->kernels;
      by->tf32 = by->tf32 || contains(lower_case(event.name), {"tf32"});
    }
  }
  const Points point_of(reader);
  for (const auto& [number, op] : reader.operators()) {
    if (op.kernels == 0) continue;
    if (const auto row = point_of(op)) shapes.add(*row, op.device);
  }
  shapes.write(trace.file, file);
  Seconds all;
  for (const auto& [kind, sum] : sums) {
    trace.sums.push_back(sum);
    all += sum.time;
  }
  std::ranges::stable_sort(trace.sums, [](const KernelSum& a, const KernelSum& b) {
    return a.time.value > b.time.value;
  });
  if (trace.sums.empty()) {
    throw InputError(
        fmt::format("{}: a trace without kernels; ProfilerActivity.CUDA was not profiled", file));
  }
  std::string text = fmt::format("{}: {:.3f} ms of kernels and copies: ", file, 1e3 * all.value);
  for (const KernelSum& sum : trace.sums) {
    text += fmt::format("{}{} {:.3f} ms ({})", &sum == &trace.sums.front() ? "" : ", ", sum.kind,
                        1e3 * sum.time.value, sum.count);
  }
  trace.file.notes.push_back(std::move(text));
  const bool shaped = std::ranges::any_of(
      reader.operators(), [](const auto& each) { return !each.second.dims.empty(); });
  if (!shaped) {
    trace.file.notes.push_back(
        fmt::format("{}: it names no shapes: profile with record_shapes=True, so that products, "
                    "attention and norms count, too",
                    file));
  }
  return trace;
}

}  // namespace kineto
}  // namespace

KinetoTrace read_kineto_trace(std::istream& in, const std::string& file) {
  return kineto::read(in, file);
}

}  // namespace prequel
