/// cuDNN's graph interface by the told machine: descriptors keep what is set, heuristics name as
/// many engines as the machine was told, of which the first may fail, and a run is the attention
/// that its graph says.

#include <cudnn.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/measure/told/machine.hpp"

using prequel::told::machine;

namespace {

#define PREQUEL_ENTER(function)                         \
  if (const int status = machine().enter(function)) {   \
    return refused(static_cast<cudnnStatus_t>(status)); \
  }

struct Descriptor;
using Shared = std::shared_ptr<Descriptor>;

struct Descriptor {
  cudnnBackendDescriptorType_t type{};
  bool finalized{};
  std::map<cudnnBackendAttributeName_t, std::vector<char>> values;
  std::map<cudnnBackendAttributeName_t, std::vector<Shared>> others;
  int engine{};  ///< of a configuration
};

struct Handle {
  cudaStream_t stream{};
};

std::string& reason() {
  static std::string text;
  return text;
}

cudnnStatus_t refused(cudnnStatus_t status, const std::string& why = "as it was told") {
  if (status != CUDNN_STATUS_SUCCESS) reason() = why;
  return status;
}

Shared& shared(cudnnBackendDescriptor_t raw) {
  return *static_cast<Shared*>(raw);
}

template <typename Value>
std::vector<Value> values_of(const Descriptor& from, cudnnBackendAttributeName_t name) {
  const auto found = from.values.find(name);
  if (found == from.values.end()) return {};
  std::vector<Value> values(found->second.size() / sizeof(Value));
  std::memcpy(values.data(), found->second.data(), found->second.size());
  return values;
}

const Descriptor& other_of(const Descriptor& from, cudnnBackendAttributeName_t name) {
  return *from.others.at(name).front();
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    default: return 4;
  }
}

using Sizes = std::vector<std::int64_t>;

Sizes sizes_of(const Descriptor& tensor) {
  return values_of<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
}

std::size_t bytes_of(const Descriptor& tensor) {
  const auto type = values_of<cudnnDataType_t>(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE).front();
  std::size_t bytes = type == CUDNN_DATA_BFLOAT16                                  ? 2
                      : type == CUDNN_DATA_FP8_E4M3 || type == CUDNN_DATA_FP8_E5M2 ? 1
                                                                                   : 4;
  for (const std::int64_t size : sizes_of(tensor)) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

/// The tensors of a graph that lie in memory, by their number.
std::map<std::int64_t, std::size_t> stored(const Descriptor& graph) {
  std::map<std::int64_t, std::size_t> found;
  for (const Shared& operation : graph.others.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    for (const auto& [name, tensors] : operation->others) {
      const Descriptor& tensor = *tensors.front();
      if (tensor.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
      if (values_of<char>(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL).front() != 0) continue;
      const bool constant = values_of<char>(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE).front() != 0;
      const std::int64_t number =
          values_of<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID).front();
      found[number] = constant ? 0 : bytes_of(tensor);
    }
  }
  return found;
}

/// Two products forward, five backward; keys of the first tell the groups of queries.
prequel::FusedAttention attention_of(const Descriptor& graph) {
  prequel::FusedAttention what;
  int products = 0;
  what.causal = false;
  for (const Shared& operation : graph.others.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR && products++ == 0) {
      const Descriptor& queries = other_of(*operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
      const Sizes a = sizes_of(queries);
      what.batch = a.at(0);
      what.heads = a.at(1);
      what.seq = a.at(2);
      what.head_dim = a.at(3);
      what.kv_heads = sizes_of(other_of(*operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC)).at(1);
      const auto type = values_of<cudnnDataType_t>(queries, CUDNN_ATTR_TENSOR_DATA_TYPE).front();
      if (type == CUDNN_DATA_FP8_E4M3) what.precision = prequel::Precision::fp8;
    }
    if (operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      const Descriptor& how = other_of(*operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
      const auto mode = values_of<cudnnPointwiseMode_t>(how, CUDNN_ATTR_POINTWISE_MODE).front();
      if (mode == CUDNN_POINTWISE_GEN_INDEX) what.causal = true;
    }
  }
  what.backward = products > 2;
  return what;
}

}  // namespace

size_t cudnnGetVersion() {
  return 91000;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "not supported" : "some status";
}

void cudnnGetLastErrorString(char* message, size_t most) {
  std::strncpy(message, reason().c_str(), most);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  PREQUEL_ENTER("cudnnCreate")
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  ++machine().alive;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  --machine().alive;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  PREQUEL_ENTER("cudnnSetStream")
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* made) {
  PREQUEL_ENTER("cudnnBackendCreateDescriptor")
  *made = new Shared(std::make_shared<Descriptor>());
  shared(*made)->type = type;
  ++machine().alive;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Shared*>(descriptor);
  --machine().alive;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  PREQUEL_ENTER("cudnnBackendSetAttribute")
  Descriptor& into = *shared(descriptor);
  if (into.finalized) return refused(CUDNN_STATUS_BAD_PARAM, "set after it was finished");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* const raw = static_cast<const cudnnBackendDescriptor_t*>(values);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!shared(raw[i])->finalized) return refused(CUDNN_STATUS_BAD_PARAM, "not finished");
      into.others[name].push_back(shared(raw[i]));
    }
    return CUDNN_STATUS_SUCCESS;
  }
  const auto* const bytes = static_cast<const char*>(values);
  into.values[name].assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  PREQUEL_ENTER("cudnnBackendFinalize")
  Descriptor& what = *shared(descriptor);
  if (what.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const Descriptor& chosen = other_of(what, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    if (chosen.engine < machine().orders().engines_that_fail) {
      return refused(CUDNN_STATUS_NOT_SUPPORTED, "this engine does not take the graph");
    }
  }
  what.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t* count,
                                       void* values) {
  PREQUEL_ENTER("cudnnBackendGetAttribute")
  const Shared& from = shared(descriptor);
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *count = 1;
    *static_cast<std::int64_t*>(values) = static_cast<std::int64_t>(machine().orders().workspace);
    return CUDNN_STATUS_SUCCESS;
  }
  const int engines = machine().orders().engines;
  // It thinks of one more than it names in the end.
  *count = wanted == 0 ? engines + (engines > 0 ? 1 : 0) : engines;
  const auto* const raw = static_cast<const cudnnBackendDescriptor_t*>(values);
  for (int i = 0; i < engines && i < wanted; ++i) {
    Descriptor& configuration = *shared(raw[i]);
    configuration.engine = i;
    configuration.finalized = true;
    configuration.others[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH] =
        from->others.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t bound) {
  PREQUEL_ENTER("cudnnBackendExecute")
  const Descriptor& configuration =
      other_of(*shared(plan), CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor& graph = other_of(configuration, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const Descriptor& pack = *shared(bound);
  const auto numbers = values_of<std::int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto addresses = values_of<void*>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto tensors = stored(graph);
  if (numbers.size() != addresses.size() || numbers.size() != tensors.size()) {
    machine().complain("cudnnBackendExecute: not every tensor has an address");
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto tensor = tensors.find(numbers[i]);
    if (tensor == tensors.end()) {
      machine().complain("cudnnBackendExecute: an address of a tensor that is not in the graph");
    } else if (tensor->second > 0) {
      machine().check_memory("cudnnBackendExecute", addresses[i], tensor->second);
    }
  }
  const auto workspace = values_of<void*>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  machine().check_memory("cudnnBackendExecute: workspace", workspace.at(0),
                         machine().orders().workspace);
  auto* const stream = reinterpret_cast<Handle*>(handle)->stream;
  machine().submit(*reinterpret_cast<prequel::told::Stream*>(stream), attention_of(graph),
                   "cudnnBackendExecute");
  return CUDNN_STATUS_SUCCESS;
}
