#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "calibrate/measure/cuda_kernels.hpp"
#include "calibrate/measure/gpu_grid.hpp"
#include "tests/measure/emulated/emulator.hpp"
#include "tests/measure/emulated/guarded_array.hpp"
#include "tests/measure/emulated/reference_formats.hpp"

namespace prequel {
namespace {

using Half = std::uint16_t;

struct Shape {
  std::size_t rows, width;
};

/// One pair, odd numbers of pairs, fewer and more than the threads of a block, more than one turn.
const std::vector<Shape> kShapes{{1, 2}, {1, 30}, {3, 126}, {5, 512}, {2, 514}, {3, 1536}};
/// Shapes of whole blocks of 128.
const std::vector<Shape> kBlocked{{1, 128}, {3, 128}, {1, 384}, {2, 1152}, {7, 512}};

/// The arrays of a kernel over a shape, filled with random bf16 of all sizes, some of them zeros.
class Arrays {
 public:
  Arrays(StreamKind kind, Shape shape) : Arrays(stream_traffic(kind)->arrays, shape) {}
  Arrays(const std::vector<std::size_t>& bytes, Shape shape) {
    std::mt19937 random(static_cast<unsigned>(shape.rows * 31 + shape.width));
    std::normal_distribution<float> spread(0.0F, 3.0F);
    for (const std::size_t each : bytes) {
      arrays_.push_back(std::make_unique<GuardedArray>(each * shape.rows * shape.width));
      GuardedArray& array = *arrays_.back();
      if (each == 4) {
        for (std::size_t i = 0; i < array.bytes() / 4; ++i) array.as<float>()[i] = spread(random);
      } else {
        for (std::size_t i = 0; i < array.bytes() / 2; ++i) {
          const float value = spread(random) * std::exp2(spread(random));
          array.as<Half>()[i] = reference::bf16(i % 17 == 5 ? 0.0F : value);
        }
      }
    }
  }

  [[nodiscard]] std::vector<void*> addresses() const {
    std::vector<void*> all;
    for (const auto& array : arrays_) all.push_back(array->data());
    return all;
  }
  [[nodiscard]] bool are_whole() const {
    return std::ranges::all_of(arrays_, [](const auto& array) { return array->is_whole(); });
  }
  template <typename Value>
  [[nodiscard]] Value* as(std::size_t array) const {
    return arrays_[array]->as<Value>();
  }
  [[nodiscard]] std::vector<float> floats(std::size_t array) const {
    std::vector<float> values;
    for (std::size_t i = 0; i < arrays_[array]->bytes() / 2; ++i) {
      values.push_back(reference::from_bf16(as<Half>(array)[i]));
    }
    return values;
  }

 private:
  std::vector<std::unique_ptr<GuardedArray>> arrays_;
};

void launch(CudaKernel kernel, const Arrays& arrays, Shape shape) {
  const cudaError_t status =
      launch_stream_kernel(kernel, arrays.addresses(), shape.rows, shape.width, nullptr);
  CHECK(status == cudaSuccess);
  CHECK(arrays.are_whole());
}

/// Runs a kernel on each shape and compares its `out`th array with what `wanted` makes of the
/// others, whose values are those before.
using Wanted = std::function<double(const std::vector<std::vector<float>>& in, Shape shape,
                                    std::size_t element)>;
void compare(CudaKernel kernel, StreamKind kind, std::size_t out, const Wanted& wanted,
             double tolerance) {
  for (const Shape shape : kShapes) {
    CAPTURE(shape.rows);
    CAPTURE(shape.width);
    const Arrays arrays(kind, shape);
    std::vector<std::vector<float>> in;
    for (std::size_t i = 0; i < out; ++i) in.push_back(arrays.floats(i));
    launch(kernel, arrays, shape);
    for (std::size_t i = 0; i < shape.rows * shape.width; ++i) {
      const double should = wanted(in, shape, i);
      const float is = reference::from_bf16(arrays.as<Half>(out)[i]);
      if (tolerance == 0.0) {
        if (arrays.as<Half>(out)[i] != reference::bf16(static_cast<float>(should))) FAIL_CHECK(i);
      } else if (std::abs(is - should) > tolerance * (std::abs(should) + 1e-3)) {
        FAIL_CHECK(i, ": ", is, " not ", should);
      }
    }
  }
}

/// Half of the last digit of bf16, and what sums of floats lose.
constexpr double kRounding = 1.0 / 256 + 1e-3;

TEST_CASE("element by element: copies and sums bit by bit, activations to the last digit") {
  compare(
      CudaKernel::copy, StreamKind::copy, 1,
      [](const auto& in, Shape, std::size_t i) { return in[0][i]; }, 0.0);
  compare(
      CudaKernel::residual_add, StreamKind::residual_add, 2,
      [](const auto& in, Shape, std::size_t i) { return in[0][i] + in[1][i]; }, 0.0);
  compare(
      CudaKernel::gelu, StreamKind::gelu, 1,
      [](const auto& in, Shape, std::size_t i) {
        const double x = in[0][i];
        return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
      },
      kRounding);
  compare(
      CudaKernel::swiglu, StreamKind::swiglu, 2,
      [](const auto& in, Shape, std::size_t i) {
        const double gate = in[0][i];
        return gate / (1.0 + std::exp(-gate)) * in[1][i];
      },
      kRounding);
}

TEST_CASE("dropout drops a tenth, adds the bias to the rest, and keeps its mask") {
  const Shape shape{4, 2048};
  const Arrays arrays(StreamKind::fused_pointwise, shape);
  const auto x = arrays.floats(0);
  const auto residual = arrays.floats(1);
  launch(CudaKernel::bias_dropout_add, arrays, shape);
  double kept = 0.0;
  for (std::size_t i = 0; i < shape.rows * shape.width; ++i) {
    const unsigned char mask = arrays.as<unsigned char>(3)[i];
    REQUIRE(mask <= 1);
    kept += mask;
    const float should = mask == 1 ? residual[i] + (x[i] + 0.125F) / 0.9F : residual[i];
    if (arrays.as<Half>(2)[i] != reference::bf16(should)) FAIL_CHECK(i);
  }
  CHECK(kept / 8192.0 == doctest::Approx(0.9).epsilon(0.02));
}

TEST_CASE("norms have mean 0 and variance 1, or a mean square of 1") {
  const auto moment = [](const std::vector<float>& row, Shape shape, std::size_t i, int power) {
    double sum = 0.0;
    for (std::size_t j = 0; j < shape.width; ++j) {
      sum += std::pow(row[i / shape.width * shape.width + j], power);
    }
    return sum / static_cast<double>(shape.width);
  };
  compare(
      CudaKernel::layer_norm, StreamKind::layer_norm, 1,
      [&](const auto& in, Shape shape, std::size_t i) {
        const double mean = moment(in[0], shape, i, 1);
        const double variance = moment(in[0], shape, i, 2) - mean * mean;
        return (in[0][i] - mean) / std::sqrt(variance + 1e-5);
      },
      2e-2);
  compare(
      CudaKernel::rms_norm, StreamKind::rms_norm, 1,
      [&](const auto& in, Shape shape, std::size_t i) {
        return in[0][i] / std::sqrt(moment(in[0], shape, i, 2) + 1e-5);
      },
      kRounding);
}

TEST_CASE("softmax adds up to 1, under a causal mask to its own place") {
  const auto share = [](const std::vector<float>& in, Shape shape, std::size_t i,
                        std::size_t seen) {
    const std::size_t row = i / shape.width * shape.width;
    if (i - row >= seen) return 0.0;
    double sum = 0.0;
    for (std::size_t j = 0; j < seen; ++j) sum += std::exp(double{in[row + j]} - in[i]);
    return 1.0 / sum;
  };
  compare(
      CudaKernel::softmax, StreamKind::softmax, 1,
      [&](const auto& in, Shape shape, std::size_t i) {
        return share(in[0], shape, i, shape.width);
      },
      kRounding);
  compare(
      CudaKernel::causal_softmax, StreamKind::softmax, 1,
      [&](const auto& in, Shape shape, std::size_t i) {
        return share(in[0], shape, i, i / shape.width % shape.width + 1);
      },
      kRounding);
}

TEST_CASE("rows are permuted whole, each from the place that a hash names") {
  for (const Shape shape : {Shape{1, 2}, Shape{7, 126}, Shape{64, 1026}}) {
    const Arrays arrays(StreamKind::embedding, shape);
    launch(CudaKernel::embedding, arrays, shape);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      auto bits = static_cast<std::uint32_t>(row) * 2654435761U;
      bits = (bits ^ bits >> 15) * 2246822519U;
      const std::size_t from = (bits ^ bits >> 13) % shape.rows;
      CHECK(std::memcmp(arrays.as<Half>(1) + row * shape.width,
                        arrays.as<Half>(0) + from * shape.width, 2 * shape.width) == 0);
    }
  }
}

TEST_CASE("Adam's step is Kingma and Ba's without correction of the bias") {
  for (const Shape shape : kShapes) {
    const Arrays arrays(StreamKind::optimizer, shape);
    const std::size_t count = shape.rows * shape.width;
    std::vector<std::vector<double>> before;
    for (std::size_t i = 0; i < 4; ++i) {
      before.emplace_back(arrays.as<float>(i), arrays.as<float>(i) + count);
    }
    launch(CudaKernel::adam, arrays, shape);
    for (std::size_t i = 0; i < count; ++i) {
      const double gradient = before[3][i];
      const double mean = 0.9 * before[1][i] + 0.1 * gradient;
      const double square = 0.95 * std::abs(before[2][i]) + 0.05 * gradient * gradient;
      const double weight = before[0][i] - 1e-4 * mean / (std::sqrt(square) + 1e-8);
      const auto near = [](float is, double should) {
        return std::abs(is - should) <= 1e-5 * std::abs(should) + 1e-6;
      };
      if (!near(arrays.as<float>(1)[i], mean)) FAIL_CHECK(i);
      if (!near(arrays.as<float>(2)[i], square)) FAIL_CHECK(i);
      if (!near(arrays.as<float>(0)[i], weight)) FAIL_CHECK(i);
      if (arrays.as<Half>(4)[i] != reference::bf16(arrays.as<float>(0)[i])) FAIL_CHECK(i);
    }
  }
}

/// Casts a whole array with one factor an element and compares bit by bit.
void compare_casts(const Arrays& arrays, const std::vector<float>& in,
                   const std::function<float(std::size_t element)>& factor) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const unsigned wanted = reference::e4m3().nearest(double{in[i] * factor(i)});
    if (arrays.as<unsigned char>(1)[i] != wanted) FAIL_CHECK(i);
  }
}

float largest(const std::vector<float>& values, std::size_t begin, std::size_t count) {
  float most = 0.0F;
  for (std::size_t i = begin; i < begin + count; ++i) most = std::max(most, std::abs(values[i]));
  return most;
}

TEST_CASE("casts to e4m3 with a known scale and one a row are right bit by bit") {
  for (const Shape shape : kShapes) {
    const Arrays known(StreamKind::quantize, shape);
    const auto in = known.floats(0);
    launch(CudaKernel::cast, known, shape);
    compare_casts(known, in, [](std::size_t) { return 2.0F; });
    const Arrays rows(StreamKind::quantize_row, shape);
    const auto values = rows.floats(0);
    launch(CudaKernel::cast_rows, rows, shape);
    compare_casts(rows, values, [&](std::size_t i) {
      return 448.0F / largest(values, i / shape.width * shape.width, shape.width);
    });
  }
}

TEST_CASE("casts with scales of blocks write them, and numbers that are right bit by bit") {
  for (const Shape shape : kBlocked) {
    const std::size_t count = shape.rows * shape.width;
    const Arrays blocks(StreamKind::quantize_block, shape);
    const auto in = blocks.floats(0);
    launch(CudaKernel::cast_blocks, blocks, shape);
    compare_casts(blocks, in,
                  [&](std::size_t i) { return 448.0F / largest(in, i / 128 * 128, 128); });
    for (std::size_t group = 0; group < count / 128; ++group) {
      // The array has a byte an element: its scales are the first fp32.
      const float factor = 448.0F / largest(in, group * 128, 128);
      CHECK(blocks.as<float>(2)[group] == 1.0F / factor);
    }
    const Arrays small(StreamKind::quantize_mxfp8, shape);
    const auto values = small.floats(0);
    launch(CudaKernel::cast_mxfp8, small, shape);
    const auto power = [&](std::size_t i) {
      const double factor = 448.0F / largest(values, i / 32 * 32, 32);
      return static_cast<float>(std::exp2(std::floor(std::log2(factor))));
    };
    compare_casts(small, values, power);
    for (std::size_t group = 0; group < count / 32; ++group) {
      CHECK(std::exp2(small.as<unsigned char>(2)[group] - 127) == 1.0 / power(group * 32));
    }
  }
}

TEST_CASE("casts to e2m1 have a scale a tensor and one of 16 elements, bit by bit") {
  // The largest value of a tensor is kept between launches, as training keeps it: the first shape
  // has it.
  float tensor = 0.0F;
  for (const Shape shape : {Shape{7, 512}, Shape{1, 128}, Shape{3, 128}, Shape{2, 1152}}) {
    const Arrays arrays(StreamKind::quantize_nvfp4, shape);
    const auto in = arrays.floats(0);
    tensor = std::max(tensor, largest(in, 0, in.size()));
    launch(CudaKernel::cast_nvfp4, arrays, shape);
    const float whole = tensor / (448.0F * 6.0F);
    for (std::size_t group = 0; group < in.size() / 16; ++group) {
      const float most = largest(in, 16 * group, 16);
      const unsigned scale = reference::e4m3().nearest(double{most / (6.0F * whole)});
      CHECK(arrays.as<unsigned char>(2)[group] == scale);
      const auto stored = static_cast<float>(reference::e4m3().value(scale));
      const float factor = 1.0F / std::max(stored * whole, 1e-12F);
      for (std::size_t i = 0; i < 16; ++i) {
        const unsigned pair = arrays.as<unsigned char>(1)[8 * group + i / 2];
        const unsigned code = i % 2 == 0 ? pair & 0xfU : pair >> 4;
        const double number = double{in[16 * group + i] * factor};
        if (code != reference::e2m1().nearest(number)) FAIL_CHECK(group, " ", i);
      }
    }
  }
}

TEST_CASE("a cast by the largest value of its tensor makes that the largest number") {
  const Shape shape{5, 512};
  const Arrays arrays(StreamKind::quantize_absmax, shape);
  for (std::size_t i = 0; i < 5 * 512; ++i) arrays.as<Half>(0)[i] = reference::bf16(1e30F);
  arrays.as<Half>(0)[100] = reference::bf16(-2e30F);
  const auto in = arrays.floats(0);
  launch(CudaKernel::cast_absmax, arrays, shape);
  compare_casts(arrays, in, [&](std::size_t) { return 448.0F / largest(in, 0, in.size()); });
  CHECK(arrays.as<unsigned char>(1)[100] == 0xfe);
}

TEST_CASE("sums of squares of fours, random numbers within their range, and waits") {
  const GuardedArray data(4 * 5000);
  double wanted = 0.0;
  for (int i = 0; i < 5000; ++i) {
    data.as<float>()[i] = 0.001F * static_cast<float>(i);
    wanted += 1e-6 * i * i;
  }
  float sum = 0.0F;
  CHECK(launch_sum_of_squares(data.data(), 5000, &sum, nullptr) == cudaSuccess);
  CHECK(sum == doctest::Approx(wanted).epsilon(1e-5));
  const GuardedArray numbers(2 * 4099);
  CHECK(fill_random(numbers.data(), numbers.bytes(), RandomNumbers::bf16, nullptr) == cudaSuccess);
  double mean = 0.0;
  for (int i = 0; i < 4099; ++i) {
    const float value = reference::from_bf16(numbers.as<Half>()[i]);
    REQUIRE(std::abs(value) <= 1.0F);
    mean += value / 4099.0;
  }
  CHECK(std::abs(mean) < 0.05);
  CHECK(fill_random(numbers.data(), numbers.bytes(), RandomNumbers::fp8, nullptr) == cudaSuccess);
  for (std::size_t i = 0; i < numbers.bytes(); ++i) {
    const unsigned code = numbers.as<unsigned char>()[i];
    REQUIRE(code % 128 < reference::e4m3().values().size());
    CHECK(std::abs(reference::e4m3().value(code)) < 2.0);
    CHECK(code != 0x80);
  }
  CHECK(launch_empty_kernel(nullptr) == cudaSuccess);
  CHECK(launch_delay(1000, nullptr) == cudaSuccess);
}

TEST_CASE("launches of the whole grid are within what GPUs take") {
  // CUDA C++ Programming Guide, technical specifications; HIP's are no smaller.
  unsigned launches = 0;
  emulated::watch([&](unsigned blocks, unsigned threads) {
    ++launches;
    CHECK(blocks >= 1);
    CHECK(blocks <= 2147483647U);
    CHECK((threads == 1 || threads == 256));
  });
  const std::vector<void*> arrays(5);
  for (const int capability : {80, 90, 100}) {
    for (const Work& work : gpu_grid(nvidia_abilities(capability, true))) {
      if (const auto* norm = std::get_if<GradientNorm>(&work)) {
        (void)launch_sum_of_squares(nullptr, static_cast<std::size_t>(norm->bytes.value) / 4,
                                    nullptr, nullptr);
      }
      const auto* stream = std::get_if<Stream>(&work);
      if (!stream) continue;
      const StreamTraffic traffic = *stream_traffic(stream->kind);
      const StreamShape shape = stream_shape(*stream, traffic.bytes_per_element);
      CHECK(shape.width % 2 == 0);
      CHECK(shape.rows <= 2147483647U);
      for (int kernel = 0; kernel <= static_cast<int>(CudaKernel::cast_nvfp4); ++kernel) {
        (void)launch_stream_kernel(static_cast<CudaKernel>(kernel), arrays, shape.rows, shape.width,
                                   nullptr);
      }
    }
  }
  emulated::watch({});
  CHECK(launches > 1000);
}

TEST_CASE("the emulator tells threads that leave a barrier, and lanes that go apart") {
  CHECK_THROWS_AS(emulated::run(1, 64,
                                [] {
                                  if (emulated::here().thread.x < 32) emulated::barrier();
                                }),
                  std::runtime_error);
  CHECK_THROWS_AS(emulated::run(1, 32,
                                [] {
                                  if (emulated::here().thread.x != 7) {
                                    (void)emulated::exchanged(1.0F,
                                                              [](unsigned lane) { return lane; });
                                  }
                                }),
                  std::runtime_error);
}

}  // namespace
}  // namespace prequel
