#if defined __CUDACC__ || defined __HIPCC__
#include "calibrate/measure/gpu_language.hpp"
#endif  // else it is compiled for a processor, in a test that brings the language

#include "calibrate/measure/cuda_kernels.hpp"
#include "calibrate/measure/kernel_arithmetic.hpp"

namespace prequel {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 65535;

unsigned blocks_for(std::size_t count) {
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

__device__ std::size_t first_index() {
  return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
}
__device__ std::size_t stride() {
  return std::size_t{gridDim.x} * blockDim.x;
}

__global__ void empty() {}

__global__ void delay(unsigned nanoseconds) {
  const unsigned long long start = nanoseconds_now();
  while (nanoseconds_now() - start < nanoseconds) {
  }
}

__global__ void fill_bf16(Bf16* data, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    data[i] = to_bf16(random_number(i));
  }
}

__global__ void fill_fp8(unsigned char* data, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    data[i] = random_e4m3(i);
  }
}

struct Copy {
  __device__ float operator()(float a, float) const { return a; }
};
struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Gelu {
  __device__ float operator()(float x, float) const {
    return 0.5F * x * (1.0F + tanhf(0.79788456F * (x + 0.044715F * x * x * x)));
  }
};
struct Swiglu {
  __device__ float operator()(float gate, float x) const {
    return gate / (1.0F + __expf(-gate)) * x;
  }
};

/// Two elements a thread and turn; `Two` says whether b is read.
template <typename Operation, bool Two>
__global__ void pointwise(const Bf16Pair* a, const Bf16Pair* b, Bf16Pair* c, std::size_t pairs) {
  const Operation operation;
  for (std::size_t i = first_index(); i < pairs; i += stride()) {
    const float2 x = from_bf16(a[i]);
    const float2 y = Two ? from_bf16(b[i]) : float2{0.0F, 0.0F};
    c[i] = to_bf16(operation(x.x, y.x), operation(x.y, y.y));
  }
}

/// c = residual + dropout(x + bias), a tenth dropped; the mask is kept for the backward pass.
__global__ void bias_dropout_add(const Bf16Pair* x, const Bf16Pair* residual, Bf16Pair* c,
                                 uchar2* mask, std::size_t pairs) {
  for (std::size_t i = first_index(); i < pairs; i += stride()) {
    const float2 in = from_bf16(x[i]);
    const float2 add = from_bf16(residual[i]);
    const bool keep_x = is_kept(2 * i);
    const bool keep_y = is_kept(2 * i + 1);
    c[i] =
        to_bf16(bias_dropout_add_of(in.x, add.x, keep_x), bias_dropout_add_of(in.y, add.y, keep_y));
    mask[i] = uchar2{keep_x, keep_y};
  }
}

struct Sum {
  __device__ static float of(float a, float b) { return a + b; }
};
struct Most {
  __device__ static float of(float a, float b) { return fmaxf(a, b); }
};

template <typename Combine>
__device__ float over_block(float value) {
  __shared__ float parts[kThreads / 32];
  for (unsigned step = 16; step > 0; step /= 2) {
    value = Combine::of(value, from_lane_above(value, step));
  }
  __syncthreads();  // the parts of an earlier use have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float all = parts[0];
  for (unsigned i = 1; i < kThreads / 32; ++i) all = Combine::of(all, parts[i]);
  return all;
}

/// One block a row, as training stacks do; rms_norm leaves the mean where it is.
template <bool Centred>
__global__ void normalise(const Bf16* a, Bf16* c, std::size_t width) {
  const Bf16* in = a + blockIdx.x * width;
  Bf16* out = c + blockIdx.x * width;
  float sum = 0.0F;
  float squares = 0.0F;
  for (std::size_t i = threadIdx.x; i < width; i += kThreads) {
    const float value = from_bf16(in[i]);
    sum += value;
    squares += value * value;
  }
  const float count = static_cast<float>(width);
  const float mean = Centred ? over_block<Sum>(sum) / count : 0.0F;
  const float scale = rsqrtf(over_block<Sum>(squares) / count - mean * mean + 1e-5F);
  for (std::size_t i = threadIdx.x; i < width; i += kThreads) {
    out[i] = to_bf16((from_bf16(in[i]) - mean) * scale);
  }
}

/// One block a row. The largest value and the sum are found in one pass (as online softmax does),
/// so that a row is read from memory once, and once more, mostly from the cache, to be written.
/// `Causal`: row r of a square matrix has r + 1 elements, the rest of it is written as zeros.
template <bool Causal>
__global__ void softmax(const Bf16Pair* a, Bf16Pair* c, std::size_t pairs) {
  const Bf16Pair* in = a + blockIdx.x * pairs;
  Bf16Pair* out = c + blockIdx.x * pairs;
  const std::size_t seen = Causal ? blockIdx.x % (2 * pairs) + 1 : 2 * pairs;
  const auto at = [&](std::size_t i) {
    float2 value = from_bf16(in[i]);
    if (2 * i >= seen) value.x = -INFINITY;
    if (2 * i + 1 >= seen) value.y = -INFINITY;
    return value;
  };
  float most = -1e30F;
  float sum = 0.0F;
  for (std::size_t i = threadIdx.x; i < (seen + 1) / 2; i += kThreads) {
    const float2 value = at(i);
    const float now = fmaxf(most, fmaxf(value.x, value.y));
    sum = sum * __expf(most - now) + __expf(value.x - now) + __expf(value.y - now);
    most = now;
  }
  const float row_most = over_block<Most>(most);
  const float row_sum = over_block<Sum>(sum * __expf(most - row_most));
  for (std::size_t i = threadIdx.x; i < pairs; i += kThreads) {
    const float2 value = 2 * i < seen ? at(i) : float2{-INFINITY, -INFINITY};
    out[i] = to_bf16(__expf(value.x - row_most) / row_sum, __expf(value.y - row_most) / row_sum);
  }
}

__global__ void gather_rows(const Bf16Pair* a, Bf16Pair* c, std::size_t pairs) {
  const Bf16Pair* in = a + (hash_of_index(blockIdx.x) % gridDim.x) * pairs;
  Bf16Pair* out = c + blockIdx.x * pairs;
  for (std::size_t i = threadIdx.x; i < pairs; i += kThreads) out[i] = in[i];
}

__global__ void adam(float* weights, float* first, float* second, const float* gradients,
                     Bf16* copy, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    const AdamState state = adam_step({weights[i], first[i], second[i]}, gradients[i]);
    first[i] = state.mean;
    second[i] = state.square;
    weights[i] = state.weight;
    copy[i] = to_bf16(state.weight);
  }
}

__device__ float larger(float most, float2 value) {
  return fmaxf(most, fmaxf(fabsf(value.x), fabsf(value.y)));
}

/// Bits of the largest absolute value of a tensor, which order as the values do.
__device__ unsigned absmax_bits;

__global__ void find_absmax(const Bf16Pair* a, std::size_t pairs) {
  float most = 0.0F;
  for (std::size_t i = first_index(); i < pairs; i += stride()) {
    most = larger(most, from_bf16(a[i]));
  }
  const float all = over_block<Most>(most);
  if (threadIdx.x == 0) atomicMax(&absmax_bits, bits_of_float(all));
}

/// `Found`: the scale is that of the largest value, else it is known.
template <bool Found>
__global__ void cast(const Bf16Pair* a, Fp8Pair* c, std::size_t pairs) {
  const float scale = Found ? block_factor(float_of_bits(absmax_bits), kMostE4m3) : 2.0F;
  for (std::size_t i = first_index(); i < pairs; i += stride()) {
    c[i] = to_fp8(from_bf16(a[i]), scale);
  }
}

/// One block a row; it is read once, and once more, mostly from the cache, to be cast.
__global__ void cast_rows(const Bf16Pair* a, Fp8Pair* c, std::size_t pairs) {
  const Bf16Pair* in = a + blockIdx.x * pairs;
  Fp8Pair* out = c + blockIdx.x * pairs;
  float most = 0.0F;
  for (std::size_t i = threadIdx.x; i < pairs; i += kThreads) {
    most = larger(most, from_bf16(in[i]));
  }
  const float scale = block_factor(over_block<Most>(most), kMostE4m3);
  for (std::size_t i = threadIdx.x; i < pairs; i += kThreads) {
    out[i] = to_fp8(from_bf16(in[i]), scale);
  }
}

/// `Lanes` threads a group of elements, `Each` pairs a thread: 32 x 2 for 128, 16 x 1 for 32.
/// Scales are fp32, or the exponent alone.
template <unsigned Lanes, unsigned Each, typename Scale>
__global__ void cast_groups(const Bf16Pair* a, Fp8Pair* c, Scale* scales, std::size_t groups) {
  const unsigned lane = threadIdx.x % Lanes;
  const std::size_t step = stride() / Lanes;
  // All threads of a warp take as many turns: what lies beyond the last group is not written.
  for (std::size_t turn = 0; turn * step < groups; ++turn) {
    const std::size_t group = turn * step + first_index() / Lanes;
    const bool inside = group < groups;
    float2 values[Each];
    float most = 0.0F;
    for (unsigned i = 0; i < Each; ++i) {
      values[i] = inside ? from_bf16(a[(group * Each + i) * Lanes + lane]) : float2{0.0F, 0.0F};
      most = larger(most, values[i]);
    }
    for (unsigned distance = Lanes / 2; distance > 0; distance /= 2) {
      most = fmaxf(most, from_lane_across(most, distance));
    }
    if (!inside) continue;
    float scale = block_factor(most, kMostE4m3);
    if (sizeof(Scale) == 1) scale = power_of_two_below(scale);
    for (unsigned i = 0; i < Each; ++i) {
      c[(group * Each + i) * Lanes + lane] = to_fp8(values[i], scale);
    }
    if (lane == 0) {
      scales[group] = sizeof(Scale) == 1 ? static_cast<Scale>(inverse_as_e8m0(scale))
                                         : static_cast<Scale>(1.0F / scale);
    }
  }
}

#ifndef __HIP_PLATFORM_AMD__
/// A thread a group of 16 elements, whose scale in e4m3 is relative to that of the tensor, so that
/// the largest scale of a group is 448 (NVIDIA, "Pretraining Large Language Models with NVFP4",
/// arXiv:2509.25149, appendix C). Eight pairs are read and written at once.
__global__ void cast_nvfp4(const uint4* a, unsigned long long* c, unsigned char* scales,
                           std::size_t groups) {
  constexpr float kMostE2m1 = 6.0F;
  const float tensor = fmaxf(float_of_bits(absmax_bits), 1e-12F) / (kMostE4m3 * kMostE2m1);
  for (std::size_t group = first_index(); group < groups; group += stride()) {
    const uint4 halves[2] = {a[2 * group], a[2 * group + 1]};
    Bf16Pair pairs[8];
    memcpy(pairs, halves, sizeof pairs);
    float most = 0.0F;
    for (unsigned i = 0; i < 8; ++i) most = larger(most, from_bf16(pairs[i]));
    const unsigned char scale = to_e4m3(most / (kMostE2m1 * tensor));
    const float factor = 1.0F / fmaxf(from_e4m3(scale) * tensor, 1e-12F);
    unsigned long long narrow = 0;
    for (unsigned i = 0; i < 8; ++i) {
      const float2 value = from_bf16(pairs[i]);
      const unsigned char two = to_e2m1(float2{value.x * factor, value.y * factor});
      narrow |= static_cast<unsigned long long>(two) << (8 * i);
    }
    c[group] = narrow;
    scales[group] = scale;
  }
}
#endif

__global__ void sum_of_squares(const float4* data, std::size_t fours, float* sum) {
  float own = 0.0F;
  for (std::size_t i = first_index(); i < fours; i += stride()) {
    const float4 v = data[i];
    own += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  const float all = over_block<Sum>(own);
  if (threadIdx.x == 0) atomicAdd(sum, all);
}

/// An array, of whatever elements the kernel takes it for.
struct Array {
  void* data;
  template <typename Element>
  operator Element*() const {
    return static_cast<Element*>(data);
  }
};

}  // namespace

cudaError_t fill_random(void* data, std::size_t bytes, RandomNumbers numbers, cudaStream_t stream) {
  if (numbers == RandomNumbers::fp8) {
    launch(fill_fp8, blocks_for(bytes), kThreads, stream, static_cast<unsigned char*>(data), bytes);
  } else {
    launch(fill_bf16, blocks_for(bytes / 2), kThreads, stream, static_cast<Bf16*>(data), bytes / 2);
  }
  return cudaGetLastError();
}

cudaError_t launch_stream_kernel(CudaKernel kernel, const std::vector<void*>& arrays,
                                 std::size_t rows, std::size_t width, cudaStream_t stream) {
  const std::size_t row_pairs = width / 2;
  const std::size_t pairs = rows * row_pairs;
  const auto array = [&](std::size_t i) { return Array{i < arrays.size() ? arrays[i] : nullptr}; };
  const Array a = array(0), b = array(1), c = array(2), d = array(3);
  const auto over = [&](std::size_t count, auto device_code, auto... arguments) {
    launch(device_code, blocks_for(count), kThreads, stream, arguments...);
    return cudaGetLastError();
  };
  const auto by_rows = [&](auto device_code, auto... arguments) {
    launch(device_code, static_cast<unsigned>(rows), kThreads, stream, arguments...);
    return cudaGetLastError();
  };
  switch (kernel) {
    case CudaKernel::copy: return over(pairs, pointwise<Copy, false>, a, a, b, pairs);
    case CudaKernel::gelu: return over(pairs, pointwise<Gelu, false>, a, a, b, pairs);
    case CudaKernel::residual_add: return over(pairs, pointwise<Add, true>, a, b, c, pairs);
    case CudaKernel::swiglu: return over(pairs, pointwise<Swiglu, true>, a, b, c, pairs);
    case CudaKernel::bias_dropout_add: return over(pairs, bias_dropout_add, a, b, c, d, pairs);
    case CudaKernel::layer_norm: return by_rows(normalise<true>, a, b, width);
    case CudaKernel::rms_norm: return by_rows(normalise<false>, a, b, width);
    case CudaKernel::softmax: return by_rows(softmax<false>, a, b, row_pairs);
    case CudaKernel::causal_softmax: return by_rows(softmax<true>, a, b, row_pairs);
    case CudaKernel::embedding: return by_rows(gather_rows, a, b, row_pairs);
    case CudaKernel::adam: return over(rows * width, adam, a, b, c, d, array(4), rows * width);
    case CudaKernel::cast: return over(pairs, cast<false>, a, b, pairs);
    case CudaKernel::cast_absmax:
      over(pairs, find_absmax, a, pairs);
      return over(pairs, cast<true>, a, b, pairs);
    case CudaKernel::cast_rows: return by_rows(cast_rows, a, b, row_pairs);
    case CudaKernel::cast_blocks:
      return over(pairs, cast_groups<32, 2, float>, a, b, c, pairs / 64);
    case CudaKernel::cast_mxfp8:
      return over(pairs, cast_groups<16, 1, unsigned char>, a, b, c, pairs / 16);
    case CudaKernel::cast_nvfp4:
#ifndef __HIP_PLATFORM_AMD__
      over(pairs, find_absmax, a, pairs);
      return over(pairs / 8, cast_nvfp4, a, b, c, pairs / 8);
#endif
      break;
  }
  return cudaErrorNotSupported;
}

cudaError_t launch_sum_of_squares(const void* data, std::size_t count, float* sum,
                                  cudaStream_t stream) {
  launch(sum_of_squares, blocks_for(count / 4), kThreads, stream, static_cast<const float4*>(data),
         count / 4, sum);
  return cudaGetLastError();
}

cudaError_t launch_empty_kernel(cudaStream_t stream) {
  launch(empty, 1, 1, stream);
  return cudaGetLastError();
}

cudaError_t launch_delay(unsigned nanoseconds, cudaStream_t stream) {
  launch(delay, 1, 1, stream, nanoseconds);
  return cudaGetLastError();
}

}  // namespace prequel
