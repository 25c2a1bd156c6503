#include <cuda_bf16.h>

#include "calibrate/measure/cuda_kernels.hpp"

namespace prequel {
namespace {

constexpr unsigned kThreads = 256;

unsigned blocks_for(std::size_t count) {
  constexpr std::size_t kMost = 65535;
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

__global__ void empty() {}

/// A hash of the index: as random as the multiplier's power draw needs.
__global__ void fill(__nv_bfloat16* data, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    unsigned bits = static_cast<unsigned>(i) * 2654435761U;
    bits ^= bits >> 15;
    bits *= 2246822519U;
    bits ^= bits >> 13;
    data[i] = __float2bfloat16(static_cast<float>(bits % 2048U) / 1024.0F - 1.0F);
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
__global__ void pointwise(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* c,
                          std::size_t pairs) {
  const Operation operation;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < pairs;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const float2 x = __bfloat1622float2(a[i]);
    const float2 y = Two ? __bfloat1622float2(b[i]) : float2{0.0F, 0.0F};
    c[i] = __floats2bfloat162_rn(operation(x.x, y.x), operation(x.y, y.y));
  }
}

__device__ float block_sum(float value) {
  __shared__ float parts[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffU, value, step);
  __syncthreads();  // the parts of an earlier sum have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0F;
  for (unsigned i = 0; i < kThreads / 32; ++i) sum += parts[i];
  return sum;
}

/// One block a row, as training stacks do; rms_norm leaves the mean where it is.
template <bool Centred>
__global__ void normalise(const __nv_bfloat16* a, __nv_bfloat16* c, std::size_t width) {
  const __nv_bfloat16* in = a + blockIdx.x * width;
  __nv_bfloat16* out = c + blockIdx.x * width;
  float sum = 0.0F;
  float squares = 0.0F;
  for (std::size_t i = threadIdx.x; i < width; i += kThreads) {
    const float value = __bfloat162float(in[i]);
    sum += value;
    squares += value * value;
  }
  const float count = static_cast<float>(width);
  const float mean = Centred ? block_sum(sum) / count : 0.0F;
  const float scale = rsqrtf(block_sum(squares) / count - mean * mean + 1e-5F);
  for (std::size_t i = threadIdx.x; i < width; i += kThreads) {
    out[i] = __float2bfloat16((__bfloat162float(in[i]) - mean) * scale);
  }
}

}  // namespace

cudaError_t fill_random_bf16(void* data, std::size_t count, cudaStream_t stream) {
  fill<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(data), count);
  return cudaGetLastError();
}

cudaError_t launch_stream_kernel(CudaKernel kernel, const void* a, const void* b, void* c,
                                 std::size_t rows, std::size_t width, cudaStream_t stream) {
  const std::size_t pairs = rows * width / 2;
  const unsigned blocks = blocks_for(pairs);
  const auto* a2 = static_cast<const __nv_bfloat162*>(a);
  const auto* b2 = static_cast<const __nv_bfloat162*>(b);
  auto* c2 = static_cast<__nv_bfloat162*>(c);
  const auto* in = static_cast<const __nv_bfloat16*>(a);
  auto* out = static_cast<__nv_bfloat16*>(c);
  const auto row_blocks = static_cast<unsigned>(rows);
  switch (kernel) {
    case CudaKernel::copy:
      pointwise<Copy, false><<<blocks, kThreads, 0, stream>>>(a2, b2, c2, pairs);
      break;
    case CudaKernel::gelu:
      pointwise<Gelu, false><<<blocks, kThreads, 0, stream>>>(a2, b2, c2, pairs);
      break;
    case CudaKernel::residual_add:
      pointwise<Add, true><<<blocks, kThreads, 0, stream>>>(a2, b2, c2, pairs);
      break;
    case CudaKernel::swiglu:
      pointwise<Swiglu, true><<<blocks, kThreads, 0, stream>>>(a2, b2, c2, pairs);
      break;
    case CudaKernel::layer_norm:
      normalise<true><<<row_blocks, kThreads, 0, stream>>>(in, out, width);
      break;
    case CudaKernel::rms_norm:
      normalise<false><<<row_blocks, kThreads, 0, stream>>>(in, out, width);
      break;
  }
  return cudaGetLastError();
}

cudaError_t launch_empty_kernel(cudaStream_t stream) {
  empty<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace prequel
