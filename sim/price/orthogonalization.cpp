#include "sim/price/orthogonalization.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "hw/device.hpp"

namespace prequel {
namespace {

constexpr int kNewtonSchulzSteps = 5;

/// Newton-Schulz steps of one n x m matrix, n its shorter side.
double newton_schulz_seconds(const LinearLayer& matrix, Precision format, const Inputs& inputs) {
  const std::int64_t n = std::min(matrix.outputs, matrix.inputs);
  const std::int64_t m = std::max(matrix.outputs, matrix.inputs);
  const auto seconds = [&](std::int64_t columns, std::int64_t summed) {
    return price(inputs.device, Gemm{n, columns, summed, 1, format}).value;
  };
  return kNewtonSchulzSteps * inputs.software.kernels.time_factor(format) *
         (seconds(n, m) + seconds(n, n) + seconds(m, n));
}

}  // namespace

Orthogonalization orthogonalization(const Layer& layer, Precision format, const Inputs& inputs) {
  Orthogonalization all;
  for (const LayerPiece& piece : layer.pieces) {
    const auto* matrix = std::get_if<LinearLayer>(&piece.what);
    if (!matrix) continue;
    const double one = newton_schulz_seconds(*matrix, format, inputs);
    all.largest = std::max(all.largest, one);
    if (piece.of_experts) {
      all.experts += real(matrix->experts) * one;
    } else {
      all.dense += one;
    }
  }
  return all;
}

}  // namespace prequel
