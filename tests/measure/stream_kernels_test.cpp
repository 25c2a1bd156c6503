#include "calibrate/measure/stream_kernels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

namespace prequel {
namespace {

StreamArrays ran(StreamKind kind, double rows, double width) {
  StreamArrays arrays = make_stream({kind, {4.0 * stream_passes(kind) * rows * width}, rows});
  run_stream(kind, arrays);
  return arrays;
}

double sum(const std::vector<float>& values, std::size_t begin, std::size_t count) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0);
}

TEST_CASE("arrays have the rows asked for, and the traffic") {
  const StreamArrays arrays = ran(StreamKind::optimizer, 8, 100);
  CHECK(arrays.arrays.size() == 4);
  CHECK(arrays.rows == 8);
  CHECK(arrays.width == 100);
}

TEST_CASE("every row of a softmax adds up to one") {
  const StreamArrays arrays = ran(StreamKind::softmax, 33, 257);
  for (std::size_t row = 0; row < 33; ++row) {
    CHECK(sum(arrays.arrays[1], row * 257, 257) == doctest::Approx(1.0));
  }
}

TEST_CASE("every row of a layer norm has mean zero and variance one") {
  const StreamArrays arrays = ran(StreamKind::layer_norm, 5, 4000);
  for (std::size_t row = 0; row < 5; ++row) {
    CHECK(std::abs(sum(arrays.arrays[1], row * 4000, 4000)) / 4000 < 1e-3);
  }
  double squares = 0;
  for (const float value : arrays.arrays[1]) squares += value * value;
  CHECK(squares / 20000 == doctest::Approx(1.0).epsilon(1e-3));
}

TEST_CASE("copy and addition touch every element") {
  const StreamArrays copied = ran(StreamKind::copy, 3, 1000);
  CHECK(copied.arrays[1] == copied.arrays[0]);
  const StreamArrays added = ran(StreamKind::residual_add, 3, 1000);
  for (std::size_t i = 0; i < 3000; ++i) {
    REQUIRE(added.arrays[2][i] == added.arrays[0][i] + added.arrays[1][i]);
  }
}

TEST_CASE("Adam moves every weight against its gradient") {
  StreamArrays arrays = make_stream({StreamKind::optimizer, {28.0 * 1000}, 1});
  const std::vector<float> before = arrays.arrays[0];
  run_stream(StreamKind::optimizer, arrays);
  for (std::size_t i = 0; i < 1000; ++i) REQUIRE(arrays.arrays[0][i] < before[i]);
}

}  // namespace
}  // namespace prequel
