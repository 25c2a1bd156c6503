#include "calibrate/measure/cuda_works.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/cuda_check.hpp"
#include "calibrate/measure/cuda_memory.hpp"
#include "calibrate/measure/gpu_grid.hpp"

namespace prequel {
namespace {

std::optional<CudaKernel> kernel_of(StreamKind kind) {
  switch (kind) {
    case StreamKind::copy: return CudaKernel::copy;
    case StreamKind::residual_add: return CudaKernel::residual_add;
    case StreamKind::fused_pointwise: return CudaKernel::bias_dropout_add;
    case StreamKind::gelu: return CudaKernel::gelu;
    case StreamKind::swiglu: return CudaKernel::swiglu;
    case StreamKind::layer_norm: return CudaKernel::layer_norm;
    case StreamKind::rms_norm: return CudaKernel::rms_norm;
    case StreamKind::softmax:
    case StreamKind::cross_entropy: return CudaKernel::softmax;
    case StreamKind::permute:
    case StreamKind::embedding: return CudaKernel::embedding;
    case StreamKind::quantize: return CudaKernel::cast;
    case StreamKind::quantize_absmax: return CudaKernel::cast_absmax;
    case StreamKind::quantize_row: return CudaKernel::cast_rows;
    case StreamKind::quantize_block: return CudaKernel::cast_blocks;
    case StreamKind::quantize_mxfp8: return CudaKernel::cast_mxfp8;
#ifndef __HIP_PLATFORM_AMD__
    case StreamKind::quantize_nvfp4: return CudaKernel::cast_nvfp4;
#endif
    case StreamKind::optimizer: return CudaKernel::adam;
    default: return std::nullopt;
  }
}

/// `arrays`: bytes an element has in each.
Launch prepare_kernel(CudaKernel kernel, const StreamShape& shape,
                      const std::vector<std::size_t>& arrays, cudaStream_t on) {
  std::vector<std::size_t> sizes;
  for (const std::size_t bytes : arrays) sizes.push_back(bytes * shape.elements());
  const auto rotating = std::make_shared<RotatingArrays>(sizes, RandomNumbers::bf16, on);
  return [=] {
    check_cuda(launch_stream_kernel(kernel, rotating->next(), shape.rows, shape.width, on),
               "launch_stream_kernel");
  };
}

}  // namespace

Launch prepare_cuda(const Stream& stream, cudaStream_t on) {
  const auto kernel = kernel_of(stream.kind);
  const auto traffic = stream_traffic(stream.kind);
  if (!kernel || !traffic)
    throw SkippedPoint(std::string(kGpuRuntime) + ": this kind has no kernel here");
  return prepare_kernel(*kernel, stream_shape(stream, traffic->bytes_per_element), traffic->arrays,
                        on);
}

Launch prepare_cuda(const GradientNorm& norm, cudaStream_t on) {
  const std::size_t count = static_cast<std::size_t>(norm.bytes.value) / sizeof(float);
  const auto gradients = std::make_shared<RotatingArrays>(
      std::vector<std::size_t>{count * sizeof(float)}, RandomNumbers::bf16, on);
  const auto sum = std::make_shared<DeviceBuffer>(sizeof(float));
  return [=] {
    check_cuda(cudaMemsetAsync(sum->data(), 0, sizeof(float), on), "cudaMemsetAsync");
    check_cuda(
        launch_sum_of_squares(gradients->next()[0], count, static_cast<float*>(sum->data()), on),
        "launch_sum_of_squares");
  };
}

Launch prepare_cuda(const AttentionChain& chain, cudaStream_t on) {
  const std::int64_t heads = chain.batch * chain.heads;
  const Gemm scores{chain.seq, chain.seq, chain.head_dim, heads};
  const Gemm context{chain.seq, chain.head_dim, chain.seq, heads, Precision::bf16, GemmPass::dgrad};
  const auto rows = static_cast<std::size_t>(heads * chain.seq);
  const StreamShape square{rows, static_cast<std::size_t>(chain.seq)};
  if (square.width % 2 != 0) {
    throw SkippedPoint(std::string(kGpuRuntime) + ": sequences of an odd length");
  }
  return [first = prepare_cuda(scores, on),
          second = prepare_kernel(CudaKernel::causal_softmax, square, {2, 2}, on),
          third = prepare_cuda(context, on)] {
    first();
    second();
    third();
  };
}

}  // namespace prequel
