#pragma once

/// The language of device code on a processor: threads of a block are taken up in turn until each
/// stands at the same barrier or exchange, blocks run one after another. As gpu_language.hpp of
/// calibrate/measure, whose place it takes when kernels are compiled for this test.

#include <cmath>
#include <cstdint>

#include "tests/measure/emulated/emulator.hpp"
#include "tests/measure/emulated/narrow_formats.hpp"

#define __global__
#define __device__
#define __shared__ static
#define blockIdx (prequel::emulated::here().block)
#define threadIdx (prequel::emulated::here().thread)
#define gridDim (prequel::emulated::here().blocks)
#define blockDim (prequel::emulated::here().threads)
#define __syncthreads prequel::emulated::barrier
#define __expf expf

struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
struct uchar2 {
  unsigned char x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};

inline float rsqrtf(float x) {
  return 1.0F / sqrtf(x);
}
template <typename Value>
Value atomicMax(Value* at, Value value) {
  const Value before = *at;
  if (value > before) *at = value;
  return before;
}
template <typename Value>
Value atomicAdd(Value* at, Value value) {
  const Value before = *at;
  *at += value;
  return before;
}

namespace prequel {
namespace {

struct Bf16 {
  std::uint16_t bits;
};
struct Bf16Pair {
  Bf16 x, y;
};
using Fp8Pair = std::uint16_t;

constexpr float kMostE4m3 = 448.0F;

inline Bf16 to_bf16(float x) {
  return {static_cast<std::uint16_t>(to_narrow(x, kBf16))};
}
inline Bf16Pair to_bf16(float x, float y) {
  return {to_bf16(x), to_bf16(y)};
}
inline float from_bf16(Bf16 x) {
  return from_narrow(x.bits, kBf16);
}
inline float2 from_bf16(Bf16Pair x) {
  return {from_bf16(x.x), from_bf16(x.y)};
}
inline unsigned char to_e4m3(float value) {
  return static_cast<unsigned char>(to_narrow(value, kE4m3));
}
inline float from_e4m3(unsigned char code) {
  return from_narrow(code, kE4m3);
}
inline unsigned char to_e2m1(float2 value) {
  return static_cast<unsigned char>(to_narrow(value.x, kE2m1) | to_narrow(value.y, kE2m1) << 4);
}
inline Fp8Pair to_fp8(float2 value, float scale) {
  return static_cast<Fp8Pair>(to_e4m3(value.x * scale) | to_e4m3(value.y * scale) << 8);
}
inline unsigned long long nanoseconds_now() {
  return emulated::nanoseconds();
}
inline float from_lane_above(float value, unsigned distance) {
  return emulated::exchanged(value, [distance](unsigned lane) { return lane + distance; });
}
inline float from_lane_across(float value, unsigned distance) {
  return emulated::exchanged(value, [distance](unsigned lane) { return lane ^ distance; });
}

template <typename... Parameters, typename Stream, typename... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, Stream,
            Arguments... arguments) {
  emulated::run(blocks, threads, [=] { kernel(arguments...); });
}

}  // namespace
}  // namespace prequel
