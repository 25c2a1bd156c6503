#include "calibrate/measure/stream_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "hw/base/parallel.hpp"

namespace prequel {
namespace {

/// Without rows of its own a kernel is dealt out in rows of this many elements.
constexpr std::size_t kChunk = 4096;
/// Random numbers repeat after this many, as making them is slower than any kernel.
constexpr std::size_t kRandomPeriod = 65521;
/// More arrays than this no kernel has.
constexpr std::size_t kMostArrays = 4;

/// The same row of each array.
struct Row {
  float* at[kMostArrays];
  std::size_t width;
};

void copy(const Row& row) {
  std::memcpy(row.at[1], row.at[0], row.width * sizeof(float));
}

void add(const Row& row) {
  for (std::size_t i = 0; i < row.width; ++i) row.at[2][i] = row.at[0][i] + row.at[1][i];
}

/// The tanh form.
float gelu_of(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
}

void gelu(const Row& row) {
  for (std::size_t i = 0; i < row.width; ++i) row.at[1][i] = gelu_of(row.at[0][i]);
}

void swiglu(const Row& row) {
  for (std::size_t i = 0; i < row.width; ++i) {
    const float gate = row.at[0][i];
    row.at[2][i] = gate / (1.0F + std::exp(-gate)) * row.at[1][i];
  }
}

void layer_norm(const Row& row) {
  float sum = 0.0F;
  float squares = 0.0F;
  for (std::size_t i = 0; i < row.width; ++i) {
    sum += row.at[0][i];
    squares += row.at[0][i] * row.at[0][i];
  }
  const float count = static_cast<float>(row.width);
  const float mean = sum / count;
  const float scale = 1.0F / std::sqrt(squares / count - mean * mean + 1e-5F);
  for (std::size_t i = 0; i < row.width; ++i) row.at[1][i] = (row.at[0][i] - mean) * scale;
}

void rms_norm(const Row& row) {
  float squares = 0.0F;
  for (std::size_t i = 0; i < row.width; ++i) squares += row.at[0][i] * row.at[0][i];
  const float scale = 1.0F / std::sqrt(squares / static_cast<float>(row.width) + 1e-5F);
  for (std::size_t i = 0; i < row.width; ++i) row.at[1][i] = row.at[0][i] * scale;
}

/// Also what a cross-entropy does to its logits, row by row.
void softmax(const Row& row) {
  const float most = *std::max_element(row.at[0], row.at[0] + row.width);
  float sum = 0.0F;
  for (std::size_t i = 0; i < row.width; ++i) {
    row.at[1][i] = std::exp(row.at[0][i] - most);
    sum += row.at[1][i];
  }
  for (std::size_t i = 0; i < row.width; ++i) row.at[1][i] /= sum;
}

/// Adam on weight, gradient and two moments.
void adam(const Row& row) {
  for (std::size_t i = 0; i < row.width; ++i) {
    const float gradient = row.at[1][i];
    row.at[2][i] = 0.9F * row.at[2][i] + 0.1F * gradient;
    row.at[3][i] = 0.95F * row.at[3][i] + 0.05F * gradient * gradient;
    row.at[0][i] -= 1e-4F * row.at[2][i] / (std::sqrt(row.at[3][i]) + 1e-8F);
  }
}

struct Kernel {
  std::size_t arrays{};
  int passes{};
  void (*run)(const Row&){};
};

Kernel kernel_of(StreamKind kind) {
  switch (kind) {
    case StreamKind::copy: return {2, 2, copy};
    case StreamKind::residual_add:
    case StreamKind::fused_pointwise: return {3, 3, add};
    case StreamKind::gelu: return {2, 2, gelu};
    case StreamKind::swiglu: return {3, 3, swiglu};
    case StreamKind::layer_norm: return {2, 2, layer_norm};
    case StreamKind::rms_norm: return {2, 2, rms_norm};
    case StreamKind::softmax:
    case StreamKind::cross_entropy: return {2, 2, softmax};
    case StreamKind::optimizer: return {4, 7, adam};
    default: return {};
  }
}

}  // namespace

void fill_random(std::vector<float>& array, float smallest) {
  std::minstd_rand random(1);
  const std::size_t period = std::min(array.size(), kRandomPeriod);
  for (std::size_t i = 0; i < period; ++i) {
    array[i] = smallest + static_cast<float>(random() % 1024) / 1024.0F;
  }
  for (std::size_t i = period; i < array.size(); ++i) array[i] = array[i - period];
}

int stream_passes(StreamKind kind) {
  return kernel_of(kind).passes;
}

StreamArrays make_stream(const Stream& stream) {
  const Kernel kernel = kernel_of(stream.kind);
  const double elements = stream.bytes.value / (4.0 * kernel.passes);
  StreamArrays made;
  made.rows =
      static_cast<std::size_t>(stream.rows > 0.0 ? stream.rows : std::max(1.0, elements / kChunk));
  made.width = static_cast<std::size_t>(elements) / made.rows;
  for (std::size_t i = 0; i < kernel.arrays; ++i) {
    made.arrays.emplace_back(made.rows * made.width);
    fill_random(made.arrays.back(), 0.1F);  // Adam takes the root of a moment
  }
  return made;
}

void run_stream(StreamKind kind, StreamArrays& arrays) {
  const Kernel kernel = kernel_of(kind);
  const std::size_t parts =
      std::min<std::size_t>(arrays.rows, std::max(1U, std::thread::hardware_concurrency()));
  parallel_for(parts, [&](std::size_t part) {
    const std::size_t end = arrays.rows * (part + 1) / parts;
    for (std::size_t r = arrays.rows * part / parts; r < end; ++r) {
      Row row{{}, arrays.width};
      for (std::size_t i = 0; i < kernel.arrays; ++i) {
        row.at[i] = arrays.arrays[i].data() + r * arrays.width;
      }
      kernel.run(row);
    }
  });
}

}  // namespace prequel
