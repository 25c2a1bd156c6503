#ifdef __HIP_PLATFORM_AMD__
#include <hip/hip_bf16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>
#else
#include <cuda_bf16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#endif

#include "calibrate/measure/cuda_kernels.hpp"

namespace prequel {
namespace {

/// What CUDA and HIP have by different names.
#ifdef __HIP_PLATFORM_AMD__
using Bf16 = __hip_bfloat16;
using Bf16Pair = __hip_bfloat162;
using Fp8Pair = __hip_fp8x2_storage_t;

/// e4m3 of MI300X has no infinities and half the range of the standard's.
#if defined __gfx940__ || defined __gfx941__ || defined __gfx942__
constexpr float kMostE4m3 = 240.0F;
constexpr auto kE4m3 = __HIP_E4M3_FNUZ;
#else
constexpr float kMostE4m3 = 448.0F;
constexpr auto kE4m3 = __HIP_E4M3;
#endif

__device__ Fp8Pair to_fp8(float2 value, float scale) {
  return __hip_cvt_float2_to_fp8x2(float2{value.x * scale, value.y * scale}, __HIP_SATFINITE,
                                   kE4m3);
}
/// A clock of 100 MHz, whatever those of the cores are.
__device__ unsigned long long nanoseconds_now() {
  return static_cast<unsigned long long>(wall_clock64()) * 10;
}
/// Among 32 lanes, half of a wave.
__device__ float from_lane_above(float value, unsigned distance) {
  return __shfl_down(value, distance, 32);
}
__device__ float from_lane_across(float value, unsigned distance) {
  return __shfl_xor(value, static_cast<int>(distance), 32);
}
#else
using Bf16 = __nv_bfloat16;
using Bf16Pair = __nv_bfloat162;
using Fp8Pair = __nv_fp8x2_storage_t;

constexpr float kMostE4m3 = 448.0F;

__device__ Fp8Pair to_fp8(float2 value, float scale) {
  return __nv_cvt_float2_to_fp8x2(float2{value.x * scale, value.y * scale}, __NV_SATFINITE,
                                  __NV_E4M3);
}
__device__ unsigned long long nanoseconds_now() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__device__ float from_lane_above(float value, unsigned distance) {
  return __shfl_down_sync(0xffffffffU, value, distance);
}
__device__ float from_lane_across(float value, unsigned distance) {
  return __shfl_xor_sync(0xffffffffU, value, static_cast<int>(distance));
}
#endif

__device__ Bf16Pair to_bf16(float x, float y) {
  return __float22bfloat162_rn(float2{x, y});
}

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

/// A hash of the index: as random as the multiplier's power draw needs.
__device__ unsigned hash(std::size_t i) {
  unsigned bits = static_cast<unsigned>(i ^ (i >> 32)) * 2654435761U;
  bits ^= bits >> 15;
  bits *= 2246822519U;
  return bits ^ (bits >> 13);
}

__global__ void fill_bf16(Bf16* data, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    data[i] = __float2bfloat16(static_cast<float>(hash(i) % 2048U) / 1024.0F - 1.0F);
  }
}

/// Without its highest bit the exponent of e4m3 stays below infinity and what is no number, and
/// there is no minus zero, which MI300X takes for no number.
__global__ void fill_fp8(unsigned char* data, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    const unsigned bits = hash(i) & 0xbfU;
    data[i] = static_cast<unsigned char>(bits == 0x80U ? 0U : bits);
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
    const float2 x = __bfloat1622float2(a[i]);
    const float2 y = Two ? __bfloat1622float2(b[i]) : float2{0.0F, 0.0F};
    c[i] = to_bf16(operation(x.x, y.x), operation(x.y, y.y));
  }
}

/// c = residual + dropout(x + bias), a tenth dropped; the mask is kept for the backward pass.
__global__ void bias_dropout_add(const Bf16Pair* x, const Bf16Pair* residual, Bf16Pair* c,
                                 uchar2* mask, std::size_t pairs) {
  constexpr float kBias = 0.125F;
  constexpr unsigned kDropped = 429496729U;  // a tenth of 2^32
  for (std::size_t i = first_index(); i < pairs; i += stride()) {
    const float2 in = __bfloat1622float2(x[i]);
    const float2 add = __bfloat1622float2(residual[i]);
    const bool keep_x = hash(2 * i) >= kDropped;
    const bool keep_y = hash(2 * i + 1) >= kDropped;
    c[i] = to_bf16(add.x + (keep_x ? (in.x + kBias) / 0.9F : 0.0F),
                   add.y + (keep_y ? (in.y + kBias) / 0.9F : 0.0F));
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
    const float value = __bfloat162float(in[i]);
    sum += value;
    squares += value * value;
  }
  const float count = static_cast<float>(width);
  const float mean = Centred ? over_block<Sum>(sum) / count : 0.0F;
  const float scale = rsqrtf(over_block<Sum>(squares) / count - mean * mean + 1e-5F);
  for (std::size_t i = threadIdx.x; i < width; i += kThreads) {
    out[i] = __float2bfloat16((__bfloat162float(in[i]) - mean) * scale);
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
    float2 value = __bfloat1622float2(in[i]);
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
  const Bf16Pair* in = a + (hash(blockIdx.x) % gridDim.x) * pairs;
  Bf16Pair* out = c + blockIdx.x * pairs;
  for (std::size_t i = threadIdx.x; i < pairs; i += kThreads) out[i] = in[i];
}

__global__ void adam(float* weights, float* first, float* second, const float* gradients,
                     Bf16* copy, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    const float gradient = gradients[i];
    const float mean = 0.9F * first[i] + 0.1F * gradient;
    const float square = 0.95F * fabsf(second[i]) + 0.05F * gradient * gradient;
    const float weight = weights[i] - 1e-4F * mean / (sqrtf(square) + 1e-8F);
    first[i] = mean;
    second[i] = square;
    weights[i] = weight;
    copy[i] = __float2bfloat16(weight);
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
    most = larger(most, __bfloat1622float2(a[i]));
  }
  const float all = over_block<Most>(most);
  if (threadIdx.x == 0) atomicMax(&absmax_bits, __float_as_uint(all));
}

/// `Found`: the scale is that of the largest value, else it is known.
template <bool Found>
__global__ void cast(const Bf16Pair* a, Fp8Pair* c, std::size_t pairs) {
  const float scale = Found ? kMostE4m3 / fmaxf(__uint_as_float(absmax_bits), 1e-12F) : 2.0F;
  for (std::size_t i = first_index(); i < pairs; i += stride()) {
    c[i] = to_fp8(__bfloat1622float2(a[i]), scale);
  }
}

/// One block a row; it is read once, and once more, mostly from the cache, to be cast.
__global__ void cast_rows(const Bf16Pair* a, Fp8Pair* c, std::size_t pairs) {
  const Bf16Pair* in = a + blockIdx.x * pairs;
  Fp8Pair* out = c + blockIdx.x * pairs;
  float most = 0.0F;
  for (std::size_t i = threadIdx.x; i < pairs; i += kThreads) {
    most = larger(most, __bfloat1622float2(in[i]));
  }
  const float scale = kMostE4m3 / fmaxf(over_block<Most>(most), 1e-12F);
  for (std::size_t i = threadIdx.x; i < pairs; i += kThreads) {
    out[i] = to_fp8(__bfloat1622float2(in[i]), scale);
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
      values[i] =
          inside ? __bfloat1622float2(a[(group * Each + i) * Lanes + lane]) : float2{0.0F, 0.0F};
      most = larger(most, values[i]);
    }
    for (unsigned distance = Lanes / 2; distance > 0; distance /= 2) {
      most = fmaxf(most, from_lane_across(most, distance));
    }
    if (!inside) continue;
    float scale = kMostE4m3 / fmaxf(most, 1e-12F);
    if (sizeof(Scale) == 1) scale = exp2f(floorf(log2f(scale)));
    for (unsigned i = 0; i < Each; ++i) {
      c[(group * Each + i) * Lanes + lane] = to_fp8(values[i], scale);
    }
    if (lane == 0) {
      scales[group] = sizeof(Scale) == 1 ? static_cast<Scale>(127.0F - log2f(scale))
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
  const float tensor = fmaxf(__uint_as_float(absmax_bits), 1e-12F) / (kMostE4m3 * kMostE2m1);
  for (std::size_t group = first_index(); group < groups; group += stride()) {
    const uint4 halves[2] = {a[2 * group], a[2 * group + 1]};
    const auto* const pairs = reinterpret_cast<const Bf16Pair*>(halves);
    float most = 0.0F;
    for (unsigned i = 0; i < 8; ++i) most = larger(most, __bfloat1622float2(pairs[i]));
    const __nv_fp8_e4m3 scale(most / (kMostE2m1 * tensor));
    const float factor = 1.0F / fmaxf(static_cast<float>(scale) * tensor, 1e-12F);
    unsigned long long narrow = 0;
    for (unsigned i = 0; i < 8; ++i) {
      const float2 value = __bfloat1622float2(pairs[i]);
      const __nv_fp4x2_storage_t two = __nv_cvt_float2_to_fp4x2(
          float2{value.x * factor, value.y * factor}, __NV_E2M1, cudaRoundNearest);
      narrow |= static_cast<unsigned long long>(two) << (8 * i);
    }
    c[group] = narrow;
    scales[group] = scale.__x;
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

}  // namespace

cudaError_t fill_random(void* data, std::size_t bytes, RandomNumbers numbers, cudaStream_t stream) {
  if (numbers == RandomNumbers::fp8) {
    fill_fp8<<<blocks_for(bytes), kThreads, 0, stream>>>(static_cast<unsigned char*>(data), bytes);
  } else {
    fill_bf16<<<blocks_for(bytes / 2), kThreads, 0, stream>>>(static_cast<Bf16*>(data), bytes / 2);
  }
  return cudaGetLastError();
}

cudaError_t launch_stream_kernel(CudaKernel kernel, const std::vector<void*>& arrays,
                                 std::size_t rows, std::size_t width, cudaStream_t stream) {
  const std::size_t row_pairs = width / 2;
  const std::size_t pairs = rows * row_pairs;
  const unsigned blocks = blocks_for(pairs);
  const auto row_blocks = static_cast<unsigned>(rows);
  const auto pairs_of = [&](std::size_t i) { return static_cast<Bf16Pair*>(arrays[i]); };
  const auto halves_of = [&](std::size_t i) { return static_cast<Bf16*>(arrays[i]); };
  const auto fp8_of = [&](std::size_t i) { return static_cast<Fp8Pair*>(arrays[i]); };
  const auto floats_of = [&](std::size_t i) { return static_cast<float*>(arrays[i]); };
  switch (kernel) {
    case CudaKernel::copy:
      pointwise<Copy, false>
          <<<blocks, kThreads, 0, stream>>>(pairs_of(0), nullptr, pairs_of(1), pairs);
      break;
    case CudaKernel::gelu:
      pointwise<Gelu, false>
          <<<blocks, kThreads, 0, stream>>>(pairs_of(0), nullptr, pairs_of(1), pairs);
      break;
    case CudaKernel::residual_add:
      pointwise<Add, true>
          <<<blocks, kThreads, 0, stream>>>(pairs_of(0), pairs_of(1), pairs_of(2), pairs);
      break;
    case CudaKernel::swiglu:
      pointwise<Swiglu, true>
          <<<blocks, kThreads, 0, stream>>>(pairs_of(0), pairs_of(1), pairs_of(2), pairs);
      break;
    case CudaKernel::bias_dropout_add:
      bias_dropout_add<<<blocks, kThreads, 0, stream>>>(pairs_of(0), pairs_of(1), pairs_of(2),
                                                        static_cast<uchar2*>(arrays[3]), pairs);
      break;
    case CudaKernel::layer_norm:
      normalise<true><<<row_blocks, kThreads, 0, stream>>>(halves_of(0), halves_of(1), width);
      break;
    case CudaKernel::rms_norm:
      normalise<false><<<row_blocks, kThreads, 0, stream>>>(halves_of(0), halves_of(1), width);
      break;
    case CudaKernel::softmax:
      softmax<false><<<row_blocks, kThreads, 0, stream>>>(pairs_of(0), pairs_of(1), row_pairs);
      break;
    case CudaKernel::causal_softmax:
      softmax<true><<<row_blocks, kThreads, 0, stream>>>(pairs_of(0), pairs_of(1), row_pairs);
      break;
    case CudaKernel::embedding:
      gather_rows<<<row_blocks, kThreads, 0, stream>>>(pairs_of(0), pairs_of(1), row_pairs);
      break;
    case CudaKernel::adam:
      adam<<<blocks_for(rows * width), kThreads, 0, stream>>>(
          floats_of(0), floats_of(1), floats_of(2), floats_of(3), halves_of(4), rows * width);
      break;
    case CudaKernel::cast:
      cast<false><<<blocks, kThreads, 0, stream>>>(pairs_of(0), fp8_of(1), pairs);
      break;
    case CudaKernel::cast_absmax:
      find_absmax<<<blocks, kThreads, 0, stream>>>(pairs_of(0), pairs);
      cast<true><<<blocks, kThreads, 0, stream>>>(pairs_of(0), fp8_of(1), pairs);
      break;
    case CudaKernel::cast_rows:
      cast_rows<<<row_blocks, kThreads, 0, stream>>>(pairs_of(0), fp8_of(1), row_pairs);
      break;
    case CudaKernel::cast_blocks:
      cast_groups<32, 2>
          <<<blocks, kThreads, 0, stream>>>(pairs_of(0), fp8_of(1), floats_of(2), pairs / 64);
      break;
    case CudaKernel::cast_mxfp8:
      cast_groups<16, 1><<<blocks, kThreads, 0, stream>>>(
          pairs_of(0), fp8_of(1), static_cast<unsigned char*>(arrays[2]), pairs / 16);
      break;
    case CudaKernel::cast_nvfp4:
#ifdef __HIP_PLATFORM_AMD__
      return cudaErrorNotSupported;
#else
      find_absmax<<<blocks, kThreads, 0, stream>>>(pairs_of(0), pairs);
      cast_nvfp4<<<blocks_for(pairs / 8), kThreads, 0, stream>>>(
          static_cast<const uint4*>(arrays[0]), static_cast<unsigned long long*>(arrays[1]),
          static_cast<unsigned char*>(arrays[2]), pairs / 8);
      break;
#endif
  }
  return cudaGetLastError();
}

cudaError_t launch_sum_of_squares(const void* data, std::size_t count, float* sum,
                                  cudaStream_t stream) {
  sum_of_squares<<<blocks_for(count / 4), kThreads, 0, stream>>>(static_cast<const float4*>(data),
                                                                 count / 4, sum);
  return cudaGetLastError();
}

cudaError_t launch_empty_kernel(cudaStream_t stream) {
  empty<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_delay(unsigned nanoseconds, cudaStream_t stream) {
  delay<<<1, 1, 0, stream>>>(nanoseconds);
  return cudaGetLastError();
}

}  // namespace prequel
