#pragma once

/// Names in device code that differ between CUDA and HIP. A test brings the same for a processor
/// (tests/measure/emulated).

#ifdef __HIP_PLATFORM_AMD__
#include <hip/hip_bf16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>
#else
#include <cuda_bf16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#endif

namespace prequel {
namespace {

#ifdef __HIP_PLATFORM_AMD__
using Bf16 = __hip_bfloat16;
using Bf16Pair = __hip_bfloat162;
using Fp8Pair = __hip_fp8x2_storage_t;

/// e4m3 of MI300X has no infinities and half the range of the standard's.
#if defined __gfx940__ || defined __gfx941__ || defined __gfx942__
constexpr float kMostE4m3 = 240.0F;
constexpr auto kFp8 = __HIP_E4M3_FNUZ;
#else
constexpr float kMostE4m3 = 448.0F;
constexpr auto kFp8 = __HIP_E4M3;
#endif

__device__ Fp8Pair to_fp8(float2 value, float scale) {
  return __hip_cvt_float2_to_fp8x2(float2{value.x * scale, value.y * scale}, __HIP_SATFINITE, kFp8);
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
__device__ unsigned char to_e4m3(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}
__device__ float from_e4m3(unsigned char code) {
  __nv_fp8_e4m3 number;
  number.__x = code;
  return static_cast<float>(number);
}
/// The first in the lower four bits.
__device__ unsigned char to_e2m1(float2 value) {
  return __nv_cvt_float2_to_fp4x2(value, __NV_E2M1, cudaRoundNearest);
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

__device__ Bf16 to_bf16(float x) {
  return __float2bfloat16(x);
}
__device__ Bf16Pair to_bf16(float x, float y) {
  return __float22bfloat162_rn(float2{x, y});
}
__device__ float from_bf16(Bf16 x) {
  return __bfloat162float(x);
}
__device__ float2 from_bf16(Bf16Pair x) {
  return __bfloat1622float2(x);
}

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            Arguments... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

}  // namespace
}  // namespace prequel
