#pragma once

/// cuDNN's graph interface as values: tensors and the operations between them, which cuDNN compiles
/// into as few kernels as it can. None of it needs a GPU until a plan runs (cuDNN 9.8 and later).
/// Source of the operations' meaning: NVIDIA, "cuDNN Backend API", chapter cudnn_graph.

#include <cudnn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/measure/backend.hpp"

namespace prequel {

/// Throws OutOfMemory where memory was asked for in vain, SkippedPoint for what cuDNN does not take
/// or do, else DeviceError; each with the call's name and cuDNN's reason.
inline void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> reason{};
  cudnnGetLastErrorString(reason.data(), reason.size() - 1);
  const std::string text = std::string("cuda: ") + call + ": " + cudnnGetErrorString(status) +
                           (reason[0] != '\0' ? ": " : "") + reason.data();
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) throw OutOfMemory(text);
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  if (category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM) {
    throw SkippedPoint(text);
  }
  throw DeviceError(text);
}

// How cuDNN calls the types of the attributes that are set here.
constexpr auto cudnn_type(std::int32_t) {
  return CUDNN_TYPE_INT32;
}
constexpr auto cudnn_type(std::int64_t) {
  return CUDNN_TYPE_INT64;
}
constexpr auto cudnn_type(bool) {
  return CUDNN_TYPE_BOOLEAN;
}
constexpr auto cudnn_type(char) {
  return CUDNN_TYPE_CHAR;
}
constexpr auto cudnn_type(void*) {
  return CUDNN_TYPE_VOID_PTR;
}
constexpr auto cudnn_type(cudnnDataType_t) {
  return CUDNN_TYPE_DATA_TYPE;
}
constexpr auto cudnn_type(cudnnPointwiseMode_t) {
  return CUDNN_TYPE_POINTWISE_MODE;
}
constexpr auto cudnn_type(cudnnReduceTensorOp_t) {
  return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
}
constexpr auto cudnn_type(cudnnBackendHeurMode_t) {
  return CUDNN_TYPE_HEUR_MODE;
}

/// One descriptor of the backend interface; copies are the same descriptor. All throw as
/// `check_cudnn` does.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

  template <typename Value>
  void set(cudnnBackendAttributeName_t attribute, const Value& value) {
    set(attribute, cudnn_type(value), 1, &value);
  }
  template <typename Value>
  void set(cudnnBackendAttributeName_t attribute, const std::vector<Value>& values) {
    set(attribute, cudnn_type(Value{}), values.size(), values.data());
  }
  void set(cudnnBackendAttributeName_t attribute, const CudnnDescriptor& other);
  void set(cudnnBackendAttributeName_t attribute, const std::vector<CudnnDescriptor>& others);
  void finalize();

  [[nodiscard]] std::int64_t integer(cudnnBackendAttributeName_t attribute) const;
  /// How the library knows it.
  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return descriptor_.get(); }

 private:
  void set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
           std::size_t count, const void* values);

  std::shared_ptr<void> descriptor_;
};

/// The properties of a device, by its number in this process.
CudnnDescriptor cudnn_device(int number);

/// A four-dimensional array of a graph: sizes and strides in elements.
struct CudnnTensor {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  CudnnDescriptor descriptor;
};

/// Operations in the order in which they were added. Results that are only in between ("virtual")
/// stay inside the kernels, as fp32 unless a type is named.
class CudnnGraph {
 public:
  /// A tensor at the beginning of the array of that number in device memory; several may lie in one
  /// array, as a matrix and its transpose do.
  CudnnTensor stored(std::size_t array, const std::vector<std::int64_t>& sizes,
                     const std::vector<std::int64_t>& strides, cudnnDataType_t type);
  /// A number in fp32.
  CudnnTensor constant(float value);
  /// A result in between; packed in the order of its dimensions where no strides are given.
  CudnnTensor between(const std::vector<std::int64_t>& sizes,
                      cudnnDataType_t type = CUDNN_DATA_FLOAT,
                      const std::vector<std::int64_t>& strides = {});

  /// c = a·b over the last two dimensions; of the others, smaller ones are repeated in groups.
  void multiply(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& c);
  /// y = mode(x), mode(x, b) or, for a selection, t ? x : b, element by element.
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<CudnnTensor> inputs,
                 const CudnnTensor& y);
  /// y = mode(x, b) in between, of the sizes of x.
  CudnnTensor pointwise(cudnnPointwiseMode_t mode, std::initializer_list<CudnnTensor> inputs,
                        cudnnDataType_t type = CUDNN_DATA_FLOAT);
  /// Each element's index along a dimension of x.
  CudnnTensor index(const CudnnTensor& x, std::int64_t dimension);
  /// Reduces the dimensions that are 1 in y, or groups where they are a divisor.
  void reduce(cudnnReduceTensorOp_t by, const CudnnTensor& x, const CudnnTensor& y);
  /// The same elements with the last two dimensions exchanged.
  CudnnTensor transposed(const CudnnTensor& x, cudnnDataType_t type = CUDNN_DATA_BFLOAT16);

  /// Bytes of each array in device memory.
  [[nodiscard]] const std::vector<std::size_t>& arrays() const { return arrays_; }
  [[nodiscard]] const std::vector<CudnnDescriptor>& operations() const { return operations_; }

  /// Returns the variant pack that a plan runs on: the arrays, at these addresses on the device,
  /// and its workspace. It refers to this graph, which must outlive it and get no more constants.
  [[nodiscard]] CudnnDescriptor bind(const std::vector<void*>& arrays, void* workspace);

 private:
  enum class Place : std::uint8_t { stored, constant, between };
  struct Binding {
    std::int64_t id{};
    std::size_t array{};
  };
  struct Constant {
    std::int64_t id{};
    float value{};
  };

  CudnnTensor tensor(const std::vector<std::int64_t>& sizes,
                     const std::vector<std::int64_t>& strides, cudnnDataType_t type, Place place);
  void add(CudnnDescriptor operation);

  std::int64_t last_id_{};
  std::vector<std::size_t> arrays_;
  std::vector<Binding> bindings_;
  std::vector<Constant> constants_;
  std::vector<CudnnDescriptor> operations_;
};

/// A graph compiled for a device.
class CudnnPlan {
 public:
  /// By the first engine, in the order of cuDNN's heuristics, that takes the graph. Throws
  /// SkippedPoint with cuDNN's reason where none does, DeviceError.
  CudnnPlan(const CudnnGraph& graph, const CudnnDescriptor& device);

  [[nodiscard]] std::size_t workspace_bytes() const;
  /// Puts the kernels on the handle's stream.
  void run(cudnnHandle_t handle, const CudnnDescriptor& bound) const;

 private:
  CudnnDescriptor plan_;
};

}  // namespace prequel
