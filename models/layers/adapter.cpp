#include "models/layers/adapter.hpp"

namespace prequel {
namespace {

/// Passes of eager kernels over an element of the result or of the input, beside the products
/// themselves (counted over PEFT's and NeMo's LoRA). Forward: the result is scaled (read, written)
/// and added (two reads, one write). Backward: the scale reads and writes, and the gradient of the
/// input is added to that of the frozen product. They are no norms or gates, so that a stack's
/// factor of pointwise traffic is not theirs.
constexpr double kEagerSum = 5, kEagerSumBackward = 2, kEagerInputBackward = 3;
/// Adapters in fp32 read a copy of the input in fp32, which their products in 16 bits narrow again:
/// 2 + 4 and 4 + 2 bytes, and as many for its gradient. Beside quantised matrices there is no copy,
/// as PEFT leaves the format to autocast there (peft/tuners/lora/bnb.py, gptq.py).
constexpr double kWideCasts = 12, kWideElement = 4;
constexpr double kDropout = 2;
/// Fused kernels add to what is there: one read more.
constexpr double kFusedSum = 1;
/// DoRA, in passes over the matrix: the product of the factors is written, added to the matrix
/// (two reads, one write) and normed (arXiv 2402.09353, section 4.1, as PEFT computes it).
constexpr double kDoraPasses = 5;

constexpr double kMask = 1;  // byte of an element

bool reads_format(BaseFormat base, Precision products) {
  if (base == BaseFormat::bf16) return true;
  if (base == BaseFormat::nvfp4) return products == Precision::fp4;
  return base == BaseFormat::fp8 && is_quantized(products) && products != Precision::fp4;
}

}  // namespace

std::int64_t adapter_parameters(const Learning& learning, std::int64_t outputs,
                                std::int64_t inputs) {
  return learning.rank * (outputs + inputs) + (learning.tuning == Tuning::dora ? outputs : 0);
}

bool copies_input(const Learning& learning, const Software& software) {
  return learning.wide_adapters && learning.base == BaseFormat::bf16 &&
         !software.kernels.fused_adapters;
}

bool has_wide_norms(const Learning& learning, const Software& software) {
  using enum BaseFormat;
  const bool stores = learning.base == int8 || learning.base == nf4 || learning.base == nf4_double;
  return stores && !learning.one_format && software.memory.keeps_copies.has(KeptCopy::wide_norms);
}

Precision stream_precision(const LayerSetting& setting, const Software& software) {
  return has_wide_norms(setting.learning, software) ? Precision::fp32 : setting.precision;
}

LaunchCounts adapter_launches(const Learning& learning, const Software& software) {
  // Counted over PEFT's, NeMo's and unsloth's LoRA.
  constexpr LaunchCounts kProducts{2, 4}, kScaleAndSum{2, 3}, kCasts{4, 5}, kDrop{1, 1};
  LaunchCounts launches = kProducts;
  if (!software.kernels.fused_adapters) launches += kScaleAndSum;
  if (copies_input(learning, software)) launches += kCasts;
  if (learning.dropout) launches += kDrop;
  return launches;
}

void tell_adapter(Layer& layer, const AdaptedMatrix& matrix, const LayerSetting& setting,
                  const Software& software) {
  const Learning& learning = setting.learning;
  const double element = bytes_per_element(setting.precision);
  const std::int64_t inputs = matrix.splits_inputs ? matrix.inputs / matrix.ranks : matrix.inputs;
  // With sequence parallelism the result of a row-parallel matrix is scattered by tokens, and B's
  // is exchanged to lie so, from columns that are split (NeMo's ParallelLinearAdapter).
  const bool exchanged = matrix.splits_inputs && matrix.ranks > 1 && setting.sequence_parallel;
  const std::int64_t outputs =
      matrix.splits_inputs && !exchanged ? matrix.outputs : matrix.outputs / matrix.ranks;
  const double read = real(matrix.rows * inputs);
  const double written = real(matrix.rows * outputs);
  const bool fused = software.kernels.fused_adapters;
  const bool copies = copies_input(learning, software);
  const auto add = [&](LayerPiece piece) {
    piece.module = matrix.module;
    piece.of_experts = matrix.experts > 0;
    layer.pieces.push_back(piece);
  };
  // Eager kernels leave all that they write to the next one.
  const double tensor = element * std::max(read, written);
  const auto pass = [&](std::string_view name, double forward, double backward, double kept = 0) {
    add({.name = name,
         .what = PointwiseKernels{StreamKind::fused_pointwise, forward, backward, 1, tensor},
         .kept = kept});
  };
  if (learning.dropout) {
    const double dropped = copies ? kWideElement : element;  // of the copy
    const double bytes = fused ? 0 : read * (kDropout * dropped + kMask);
    pass("adapter dropout", bytes, bytes, read * (element + kMask));
  }
  const double narrow = real(matrix.rows * learning.rank) * element;
  const GroupAxis group = matrix.experts > 0 ? GroupAxis::expert_tensor : GroupAxis::tensor;
  add({.name = "adapter in",
       .what = LinearLayer{matrix.rows, learning.rank, inputs, setting.precision, matrix.experts},
       .parameters = matrix.copies * learning.rank * matrix.inputs,
       .kept = narrow});
  if (matrix.ranks > 1) {
    const auto sum = std::optional(CollectiveOp::all_reduce);
    const bool forward = matrix.splits_inputs;
    add({.name = "adapter all-reduce",
         .what = LayerCollective{
             group, {narrow}, forward ? sum : std::nullopt, forward ? std::nullopt : sum}});
  }
  add({.name = "adapter out",
       .what = LinearLayer{matrix.rows, outputs, learning.rank, setting.precision, matrix.experts},
       .parameters = matrix.copies * (adapter_parameters(learning, matrix.outputs, matrix.inputs) -
                                      learning.rank * matrix.inputs)});
  if (exchanged) {
    add({.name = "adapter all-to-all",
         .what = LayerCollective{
             group, {written * element}, CollectiveOp::all_to_all, CollectiveOp::all_to_all}});
  }
  const double casts = copies ? kWideCasts * read : 0.0;
  const double forward = fused ? kFusedSum * written : kEagerSum * written;
  const double backward =
      fused ? kFusedSum * read : kEagerInputBackward * read + kEagerSumBackward * written;
  // A copy in fp32 is each adapter's own, which its weight gradient reads.
  const double copy = copies && !learning.dropout ? kWideElement * read : 0;
  pass("adapter sum", element * forward + casts, element * backward + casts, copy);
  if (learning.tuning == Tuning::dora) {
    const double weights = real(inputs * outputs * std::max<std::int64_t>(1, matrix.experts));
    const double bytes = kDoraPasses * weights * element;
    pass("adapter norm", bytes + 2 * written * element, 3 * written * element);
  }
  layer.adapters += std::max<std::int64_t>(1, matrix.experts);
}

void tell_table_adapter(Layer& layer, const AdaptedMatrix& table, const LayerSetting& setting,
                        const Software& software) {
  const std::int64_t rank = setting.learning.rank;
  const double element = bytes_per_element(setting.precision);
  const double narrow = real(table.rows * rank) * element;
  const double written = real(table.rows * table.outputs) * element;
  layer.pieces.push_back({.name = "adapter in",
                          .what = PointwiseKernels{StreamKind::embedding, 2 * narrow, 3 * narrow},
                          .parameters = rank * table.inputs,
                          .kept = narrow});
  layer.pieces.push_back(
      {.name = "adapter out",
       .what = LinearLayer{table.rows, table.outputs, rank, setting.precision, 0},
       .parameters = adapter_parameters(setting.learning, table.outputs, table.inputs) -
                     rank * table.inputs});
  const double passes = software.kernels.fused_adapters ? kFusedSum : kEagerSum;
  layer.pieces.push_back({.name = "adapter sum",
                          .what = PointwiseKernels{StreamKind::fused_pointwise, passes * written,
                                                   kEagerSumBackward * written}});
  layer.adapters += 1;
}

void tell_dequantisation(Layer& layer, double weights, Module module, const LayerSetting& setting,
                         const Software& software) {
  const Learning& learning = setting.learning;
  if (learning.model_learns() || reads_format(learning.base, setting.products)) return;
  const double element = bytes_per_element(setting.precision);
  const double bytes = weights * (stored_bytes(learning.base, element) + element) /
                       software.kernels.dequantise_rate(learning.base);
  layer.pieces.push_back({.name = "dequantise",
                          .what = PointwiseKernels{StreamKind::copy, bytes, bytes},
                          .module = module});
}

double stored_bytes(BaseFormat base, double element) {
  switch (base) {
    case BaseFormat::bf16: return element;
    case BaseFormat::fp8: return 1.0;
    case BaseFormat::int8: return 1.0;
    case BaseFormat::nf4: return 0.5 + 4.0 / 64;
    case BaseFormat::nf4_double: return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
    case BaseFormat::gptq_int4: return 0.5 + (2.0 + 0.5) / 128;
    case BaseFormat::nvfp4: return 0.5 + 1.0 / 16;
  }
  return element;
}

}  // namespace prequel
