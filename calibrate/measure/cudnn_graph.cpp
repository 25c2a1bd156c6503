#include "calibrate/measure/cudnn_graph.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace prequel {
namespace {

std::vector<std::int64_t> packed(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::size_t bytes_of(cudnnDataType_t type) {
  if (type == CUDNN_DATA_FP8_E4M3 || type == CUDNN_DATA_FP8_E5M2) return 1;
  return type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
}

/// Type in which an operation computes: comparisons and indices in that of their results.
cudnnDataType_t computed_in(cudnnPointwiseMode_t mode) {
  if (mode == CUDNN_POINTWISE_CMP_GE) return CUDNN_DATA_BOOLEAN;
  return mode == CUDNN_POINTWISE_GEN_INDEX ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT;
}

CudnnDescriptor pointwise_operation(cudnnPointwiseMode_t mode,
                                    std::initializer_list<CudnnTensor> inputs, const CudnnTensor& y,
                                    std::optional<std::int64_t> dimension = std::nullopt) {
  CudnnDescriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, computed_in(mode));
  if (dimension) what.set(CUDNN_ATTR_POINTWISE_AXIS, *dimension);
  what.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
  static constexpr std::array kRoles{CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                     CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                     CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  std::size_t place = 0;
  for (const CudnnTensor& input : inputs) operation.set(kRoles.at(place++), input.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor);
  return operation;
}

/// The engines' configurations that the heuristics name, the one expected to be fastest first.
std::vector<CudnnDescriptor> configurations(const CudnnDescriptor& graph,
                                            const CudnnDescriptor& device) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  heuristics.finalize();
  const auto get = [&](std::vector<cudnnBackendDescriptor_t> into) {
    std::int64_t count = 0;
    check_cudnn(cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                         static_cast<std::int64_t>(into.size()), &count,
                                         into.empty() ? nullptr : into.data()),
                "cudnnBackendGetAttribute");
    return static_cast<std::size_t>(count);
  };
  std::vector<CudnnDescriptor> found;
  for (std::size_t i = get({}); i > 0; --i) {
    found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  }
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& one : found) raw.push_back(one.raw());
  if (raw.empty()) return {};
  // The first count is of all that were thought of, this one of those that can do it.
  return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(get(raw))};
}

CudnnDescriptor compile(const CudnnGraph& graph, const CudnnDescriptor& device) {
  CudnnDescriptor operations(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  operations.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, graph.operations());
  operations.finalize();
  std::string why = "cuda: cuDNN has no kernel for this shape";
  for (const CudnnDescriptor& configuration : configurations(operations, device)) {
    try {
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
      plan.finalize();
      return plan;
    } catch (const OutOfMemory&) {
      throw;
    } catch (const SkippedPoint& error) {
      why = error.what();
    }
  }
  throw SkippedPoint(why);
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check_cudnn(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
  descriptor_ = {made, [](void* descriptor) { cudnnBackendDestroyDescriptor(descriptor); }};
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                          std::size_t count, const void* values) {
  check_cudnn(
      cudnnBackendSetAttribute(raw(), attribute, type, static_cast<std::int64_t>(count), values),
      "cudnnBackendSetAttribute");
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t attribute, const CudnnDescriptor& other) {
  set(attribute, std::vector<CudnnDescriptor>{other});
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t attribute,
                          const std::vector<CudnnDescriptor>& others) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& other : others) raw.push_back(other.raw());
  set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw.size(), raw.data());
}

void CudnnDescriptor::finalize() {
  check_cudnn(cudnnBackendFinalize(raw()), "cudnnBackendFinalize");
}

std::int64_t CudnnDescriptor::integer(cudnnBackendAttributeName_t attribute) const {
  std::int64_t count = 0;
  std::int64_t value = 0;
  check_cudnn(cudnnBackendGetAttribute(raw(), attribute, CUDNN_TYPE_INT64, 1, &count, &value),
              "cudnnBackendGetAttribute");
  return value;
}

CudnnDescriptor cudnn_device(int number) {
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, std::int32_t{number});
  device.finalize();
  return device;
}

CudnnTensor CudnnGraph::tensor(const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& strides, cudnnDataType_t type,
                               Place place) {
  CudnnDescriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, ++last_id_);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{place == Place::constant ? 4 : 16});
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, place == Place::between);
  made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, place == Place::constant);
  made.finalize();
  return {sizes, strides, made};
}

CudnnTensor CudnnGraph::stored(std::size_t array, const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& strides, cudnnDataType_t type) {
  std::size_t bytes = bytes_of(type);
  for (const std::int64_t size : sizes) bytes *= static_cast<std::size_t>(size);
  if (arrays_.size() <= array) arrays_.resize(array + 1);
  arrays_[array] = std::max(arrays_[array], bytes);
  CudnnTensor made = tensor(sizes, strides, type, Place::stored);
  bindings_.push_back({last_id_, array});
  return made;
}

CudnnTensor CudnnGraph::constant(float value) {
  CudnnTensor made = tensor({1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, Place::constant);
  constants_.push_back({last_id_, value});
  return made;
}

CudnnTensor CudnnGraph::between(const std::vector<std::int64_t>& sizes, cudnnDataType_t type,
                                const std::vector<std::int64_t>& strides) {
  return tensor(sizes, strides.empty() ? packed(sizes) : strides, type, Place::between);
}

void CudnnGraph::add(CudnnDescriptor operation) {
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void CudnnGraph::multiply(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& c) {
  CudnnDescriptor what(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, what);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor);
  add(operation);
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<CudnnTensor> inputs,
                           const CudnnTensor& y) {
  add(pointwise_operation(mode, inputs, y));
}

CudnnTensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode,
                                  std::initializer_list<CudnnTensor> inputs, cudnnDataType_t type) {
  CudnnTensor y = between(inputs.begin()->sizes, type);
  pointwise(mode, inputs, y);
  return y;
}

CudnnTensor CudnnGraph::index(const CudnnTensor& x, std::int64_t dimension) {
  CudnnTensor y = between(x.sizes, CUDNN_DATA_INT32);
  add(pointwise_operation(CUDNN_POINTWISE_GEN_INDEX, {x}, y, dimension));
  return y;
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t by, const CudnnTensor& x, const CudnnTensor& y) {
  CudnnDescriptor what(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  what.set(CUDNN_ATTR_REDUCTION_OPERATOR, by);
  what.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor);
  add(operation);
}

CudnnTensor CudnnGraph::transposed(const CudnnTensor& x, cudnnDataType_t type) {
  auto sizes = x.sizes;
  auto strides = x.strides;
  std::swap(sizes[2], sizes[3]);
  std::swap(strides[2], strides[3]);
  CudnnTensor y = between(sizes, type, strides);
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y.descriptor);
  add(operation);
  return y;
}

CudnnDescriptor CudnnGraph::bind(const std::vector<void*>& arrays, void* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<void*> addresses;
  for (const Binding& binding : bindings_) {
    ids.push_back(binding.id);
    addresses.push_back(arrays.at(binding.array));
  }
  for (Constant& constant : constants_) {
    ids.push_back(constant.id);
    addresses.push_back(&constant.value);
  }
  CudnnDescriptor bound(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  bound.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  bound.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses);
  bound.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  bound.finalize();
  return bound;
}

CudnnPlan::CudnnPlan(const CudnnGraph& graph, const CudnnDescriptor& device)
    : plan_(compile(graph, device)) {}

std::size_t CudnnPlan::workspace_bytes() const {
  return static_cast<std::size_t>(plan_.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

void CudnnPlan::run(cudnnHandle_t handle, const CudnnDescriptor& bound) const {
  check_cudnn(cudnnBackendExecute(handle, plan_.raw(), bound.raw()), "cudnnBackendExecute");
}

}  // namespace prequel
