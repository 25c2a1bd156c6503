/// The formats of this project against those of NVIDIA's headers, which have them for processors,
/// too; compiled where they are found.

#include <doctest/doctest.h>

#if __has_include(<cuda_fp4.h>)
#include <cuda_bf16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#endif

#include <cmath>
#include <random>

#include "tests/measure/emulated/narrow_formats.hpp"

namespace prequel {
namespace {

TEST_CASE("NVIDIA's conversions to e4m3, e5m2, e2m1 and bf16 give the same bits") {
#if __has_include(<cuda_fp4.h>)
  const auto compare = [](float number) {
    const auto fp8 = [number](__nv_fp8_interpretation_t kind) {
      return unsigned{__nv_cvt_float_to_fp8(number, __NV_SATFINITE, kind)};
    };
    if (fp8(__NV_E4M3) != to_narrow(number, kE4m3)) FAIL_CHECK("e4m3 of ", number);
    if (fp8(__NV_E5M2) != to_narrow(number, kE5m2)) FAIL_CHECK("e5m2 of ", number);
    const unsigned fp4 = __nv_cvt_float_to_fp4(number, __NV_E2M1, cudaRoundNearest);
    if (fp4 != to_narrow(number, kE2m1)) FAIL_CHECK("e2m1 of ", number);
    const __nv_bfloat16 half = __float2bfloat16(number);
    std::uint16_t bits = 0;
    memcpy(&bits, &half, sizeof bits);
    if (bits != to_narrow(number, kBf16)) FAIL_CHECK("bf16 of ", number);
  };
  // Each bf16 of up to 2^60, and the floats beside it.
  for (std::uint32_t half = 0; half < 0x5d80; ++half) {
    for (const std::uint32_t below : {0x0000U, 0x0001U, 0x8000U, 0xffffU}) {
      const float number = float_of_bits(half << 16 | below);
      compare(number);
      compare(-number);
    }
  }
#else
  MESSAGE("skipped: the CUDA toolkit's headers (12.8 or later) are not there");
#endif
}

}  // namespace
}  // namespace prequel
