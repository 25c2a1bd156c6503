#include "hw/kernels/quantize.hpp"

#include <doctest/doctest.h>

namespace prequel {
namespace {

double bytes(CastRecipe recipe, bool in_any_order) {
  return traffic({recipe, 1.0}, in_any_order).value;
}

TEST_CASE("bytes of a cast for both orders, per element, are those of Transformer Engine") {
  constexpr bool kHopper = false;
  constexpr bool kBlackwell = true;
  CHECK(bytes(CastRecipe::delayed, kHopper) == 4.0);
  CHECK(bytes(CastRecipe::delayed, kBlackwell) == 3.0);
  CHECK(bytes(CastRecipe::current, kHopper) == 6.0);
  CHECK(bytes(CastRecipe::current, kBlackwell) == 5.0);
  CHECK(bytes(CastRecipe::block, kHopper) == 2.0 + 2.0 * (1.0 + 4.0 / 128));
  CHECK(bytes(CastRecipe::mxfp8, kBlackwell) == 2.0 + 2.0 * (1.0 + 1.0 / 32));
  CHECK(bytes(CastRecipe::nvfp4, kBlackwell) == 4.0 + 2.0 * (0.5 + 1.0 / 16));
}

TEST_CASE("scales of rows and of columns take a kernel each, of which the second looks first") {
  CHECK(bytes(CastRecipe::row, false) == 3 * 2.0 + 2 * 1.0);
  CHECK(bytes(CastRecipe::row, true) == 3 * 2.0 + 2 * 1.0);
}

TEST_CASE("a cast that is part of another kernel only writes, and one order is one copy") {
  CHECK(traffic({CastRecipe::mxfp8, 10.0, 0.0, false}, true).value == 10.0 * (1.0 + 1.0 / 32));
  CHECK(traffic({CastRecipe::row, 10.0, 2.0, false}, false).value == 30.0);
}

TEST_CASE("a cast is a stream of its recipe's kind") {
  const Stream stream = stream_of({CastRecipe::nvfp4, 1e6}, true);
  CHECK(stream.kind == StreamKind::quantize_nvfp4);
  CHECK(stream.bytes == traffic({CastRecipe::nvfp4, 1e6}, true));
}

}  // namespace
}  // namespace prequel
