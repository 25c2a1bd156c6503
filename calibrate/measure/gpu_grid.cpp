#include "calibrate/measure/gpu_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hw/kernels/memory_bound.hpp"

namespace prequel {
namespace {

/// Largest array of a memory-bound kernel: beyond it its rate does not change.
constexpr double kMostBytes = 4.3e9;
/// AMD's cache before the memory of MI300X, MI325X and MI355X ("Infinity Cache"; AMD, "CDNA 3" and
/// "CDNA 4 architecture" white papers).
constexpr std::size_t kInfinityCache = std::size_t{256} << 20;

bool is_row_wise(StreamKind kind) {
  return kind == StreamKind::layer_norm || kind == StreamKind::rms_norm ||
         kind == StreamKind::softmax || kind == StreamKind::cross_entropy ||
         kind == StreamKind::embedding || kind == StreamKind::permute ||
         kind == StreamKind::quantize_row;
}

/// The three products of a linear layer of `inputs` and `outputs` on `tokens`.
void add_layer(std::vector<Work>& works, std::int64_t tokens, std::int64_t outputs,
               std::int64_t inputs, Precision precision) {
  works.emplace_back(Gemm{tokens, outputs, inputs, 1, precision, GemmPass::forward});
  works.emplace_back(Gemm{tokens, inputs, outputs, 1, precision, GemmPass::dgrad});
  works.emplace_back(Gemm{outputs, inputs, tokens, 1, precision, GemmPass::wgrad});
}

void add_products(std::vector<Work>& works, const GpuAbilities& abilities) {
  const auto& formats = abilities.formats;
  for (const std::int64_t hidden : {1024, 2048, 4096, 5120, 8192}) {
    const std::array<std::pair<std::int64_t, std::int64_t>, 4> layers{
        {{3 * hidden, hidden}, {hidden, hidden}, {4 * hidden, hidden}, {hidden, 4 * hidden}}};
    for (const auto& [outputs, inputs] : layers) {
      for (const std::int64_t tokens : {1024, 2048, 8192}) {
        works.emplace_back(Gemm{tokens, outputs, inputs});
      }
      add_layer(works, 4096, outputs, inputs, Precision::bf16);
    }
    for (const Precision precision : {Precision::fp16, Precision::tf32, Precision::fp32}) {
      if (!formats.contains(precision)) continue;
      add_layer(works, 4096, 4 * hidden, hidden, precision);
    }
    for (const Precision precision :
         {Precision::fp8, Precision::fp8_block, Precision::mxfp8, Precision::fp4}) {
      if (!formats.contains(precision)) continue;
      for (const auto& [outputs, inputs] : layers) {
        add_layer(works, 4096, outputs, inputs, precision);
        // A fit takes 30 forward products of a format.
        works.emplace_back(Gemm{1024, outputs, inputs, 1, precision});
        works.emplace_back(Gemm{8192, outputs, inputs, 1, precision});
      }
    }
  }
}

/// The products of experts of fine-grained models (hidden, inner width), few tokens each and many;
/// in one launch or one an expert.
void add_expert_products(std::vector<Work>& works, const GpuAbilities& abilities) {
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 3> kExperts{
      {{2048, 768}, {4096, 1536}, {7168, 2048}}};
  for (const Precision precision :
       {Precision::bf16, Precision::fp8, Precision::fp8_block, Precision::mxfp8}) {
    if (!abilities.formats.contains(precision)) continue;
    for (const auto& [hidden, inner] : kExperts) {
      for (const std::int64_t groups : {4, 16, 32}) {
        for (const std::int64_t rows : {128, 512, 2048}) {
          for (const GemmPass pass : {GemmPass::forward, GemmPass::dgrad, GemmPass::wgrad}) {
            for (const bool one_launch : {true, false}) {
              works.emplace_back(GroupedGemm{groups, groups * rows, 2 * inner, hidden, precision,
                                             pass, 1, one_launch});
            }
          }
        }
      }
    }
  }
}

/// Scores and context, a product a head; 108 and 150 are off the tensor cores' grid.
void add_head_products(std::vector<Work>& works) {
  for (const std::int64_t head_dim : {64, 80, 96, 108, 128, 150, 256}) {
    for (const std::int64_t seq : {1024, 2048, 4096}) {
      const std::int64_t heads = 65536 / seq;
      works.emplace_back(Gemm{seq, seq, head_dim, heads});
      works.emplace_back(Gemm{seq, head_dim, seq, heads, Precision::bf16, GemmPass::dgrad});
    }
  }
}

void add_attention(std::vector<Work>& works, const GpuAbilities& abilities) {
  for (const std::int64_t head_dim : {64, 128}) {
    for (const std::int64_t seq : {1024, 2048, 4096, 8192}) {
      for (const std::int64_t heads : {8, 16, 32}) {
        const std::int64_t batch = std::max<std::int64_t>(1, 8192 / seq);
        if (seq <= 4096 && !abilities.formats.empty()) {
          works.emplace_back(AttentionChain{batch, seq, heads, head_dim});
        }
        if (!abilities.fused_attention) continue;
        for (const bool backward : {false, true}) {
          if (abilities.fused_fp8) {
            FusedAttention narrow{batch, seq, heads, heads, head_dim, true, backward};
            narrow.precision = Precision::fp8;
            works.emplace_back(narrow);
          }
          works.emplace_back(FusedAttention{batch, seq, heads, heads, head_dim, true, backward});
          if (heads != 32) continue;  // and with groups of queries
          works.emplace_back(FusedAttention{batch, seq, heads, 8, head_dim, true, backward});
        }
      }
    }
  }
}

/// Only Blackwell has instructions that round to e2m1 as NVFP4 wants.
bool has_kernel(StreamKind kind, const GpuAbilities& abilities) {
  return kind != StreamKind::quantize_nvfp4 || abilities.formats.contains(Precision::fp4);
}

void add_streams(std::vector<Work>& works, const GpuAbilities& abilities) {
  for (std::size_t i = 0; i < kStreamKinds; ++i) {
    const auto kind = static_cast<StreamKind>(i);
    const auto traffic = stream_traffic(kind);
    if (!traffic || !has_kernel(kind, abilities)) continue;
    if (!is_row_wise(kind)) {
      for (double bytes = 1 << 16; bytes <= kMostBytes; bytes *= 2) {
        works.emplace_back(Stream{kind, {bytes}});
      }
      continue;
    }
    const std::vector<double> widths =
        kind == StreamKind::cross_entropy
            ? std::vector<double>{32000.0, 50304.0, 128256.0, 250880.0}
            : std::vector<double>{1024.0, 4096.0, 8192.0, 16384.0};
    for (const double width : widths) {
      for (const double rows : {512.0, 2048.0, 8192.0, 32768.0}) {
        const double bytes = traffic->bytes_per_element * rows * width;
        if (bytes > kMostBytes) continue;
        works.emplace_back(Stream{kind, {bytes}, rows});
      }
    }
  }
  for (double bytes = 1 << 22; bytes <= 4294967296.0; bytes *= 4) {
    works.emplace_back(GradientNorm{{bytes}});
  }
}

/// Formats narrower than 16 bits, and tf32, that `who` lacks.
void add_missing_formats(GpuAbilities& abilities, const std::string& who) {
  std::string missing;
  for (const Precision format :
       {Precision::tf32, Precision::fp8, Precision::fp8_block, Precision::mxfp8, Precision::fp4}) {
    if (abilities.formats.contains(format)) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name(format));
  }
  if (!missing.empty()) {
    abilities.lacks.push_back(fmt::format("products in {} ({} has none)", missing, who));
  }
}

/// Up to 128 MiB: from 16 MiB on the rate does not change, and the host's memory has other uses.
void add_copies(std::vector<Work>& works) {
  for (double bytes = 4096; bytes <= 134217728.0; bytes *= 8) {
    for (const bool to_device : {true, false}) {
      for (const bool pinned : {true, false}) {
        works.emplace_back(HostCopy{to_device, pinned, {bytes}});
      }
    }
  }
}

template <class... Kinds>
bool is_any_of(const Work& work) {
  return (std::holds_alternative<Kinds>(work) || ...);
}

}  // namespace

GpuAbilities nvidia_abilities(int capability, bool cudnn) {
  GpuAbilities abilities;
  auto& formats = abilities.formats;
  formats = {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};
  if (capability >= 89) formats.insert(Precision::fp8);
  if (capability == 90) formats.insert(Precision::fp8_block);
  if (capability >= 100) formats.insert({Precision::mxfp8, Precision::fp4});
  abilities.fused_attention = cudnn;
  abilities.fused_fp8 = cudnn && capability >= 90;
  add_missing_formats(abilities, fmt::format("compute capability {}.{} or its cuBLASLt",
                                             capability / 10, capability % 10));
  if (!cudnn) abilities.lacks.emplace_back("fused attention (built without cuDNN)");
  return abilities;
}

GpuAbilities amd_abilities(std::string_view architecture, bool hipblaslt) {
  const std::string_view chip = architecture.substr(0, architecture.find(':'));
  const bool cdna3 = chip.starts_with("gfx94");
  const bool cdna4 = chip.starts_with("gfx95");
  GpuAbilities abilities;
  if (hipblaslt) {
    abilities.formats = {Precision::fp32, Precision::fp16, Precision::bf16};
    if (cdna3) abilities.formats.insert(Precision::tf32);
    if (cdna3 || cdna4) abilities.formats.insert(Precision::fp8);
    if (cdna4) abilities.formats.insert(Precision::mxfp8);
    add_missing_formats(abilities, fmt::format("{} or its hipBLASLt", chip));
  } else {
    abilities.lacks.emplace_back("products (built without hipBLASLt)");
  }
  if (cdna3 || cdna4) abilities.cache_bytes = kInfinityCache;
  abilities.lacks.emplace_back("fused attention (measured by cuDNN, which is NVIDIA's)");
  return abilities;
}

bool has_fnuz(std::string_view architecture) {
  return architecture.starts_with("gfx94");
}

std::vector<Work> gpu_grid(const GpuAbilities& abilities) {
  std::vector<Work> works{KernelLaunch{false}, KernelLaunch{true}};
  if (!abilities.formats.empty()) {
    add_products(works, abilities);
    add_head_products(works);
  }
  add_expert_products(works, abilities);
  add_attention(works, abilities);
  add_streams(works, abilities);
  add_copies(works);
  return works;
}

std::vector<Unproven> unproven_kernels(const std::vector<Work>& grid, std::string_view library) {
  std::vector<Unproven> list;
  const auto add = [&](bool (*belongs)(const Work&), std::string what) {
    std::set<std::string> names;
    for (const Work& work : grid) {
      const std::string text = work_text(work);  // {"op":"gemm",…
      if (belongs(work)) names.insert(text.substr(7, text.find('"', 7) - 7));
    }
    if (names.empty()) return;
    list.push_back({fmt::format("{}", fmt::join(names, ", ")), std::move(what)});
  };
  add(is_any_of<Gemm, GroupedGemm, AttentionChain>,
      fmt::format("what {} is asked for was checked by a stand-in of it; its results and times "
                  "were not seen",
                  library));
  add(is_any_of<FusedAttention>,
      "cuDNN compiles it without a GPU; its results and times were not seen");
  add(is_any_of<Stream, GradientNorm>,
      "results were checked on a processor, launches and bounds too; the GPU's own rounding and "
      "times were not seen");
  add(is_any_of<HostCopy, KernelLaunch>,
      "calls were checked by a stand-in of the driver; times were not seen");
  add(is_any_of<CollectiveWork, GemmBeside>,
      fmt::format("what {} is asked for was checked by a stand-in of it; times were not seen",
                  library));
  return list;
}

std::optional<StreamTraffic> stream_traffic(StreamKind kind) {
  switch (kind) {
    case StreamKind::copy:
    case StreamKind::gelu:
    case StreamKind::layer_norm:
    case StreamKind::rms_norm:
    case StreamKind::softmax:
    case StreamKind::cross_entropy:
    case StreamKind::permute:
    case StreamKind::embedding: return StreamTraffic{{2, 2}, 4.0};
    case StreamKind::quantize:
    case StreamKind::quantize_row: return StreamTraffic{{2, 1}, 3.0};
    case StreamKind::quantize_absmax: return StreamTraffic{{2, 1}, 5.0};
    // The last array has room for a scale of every element.
    case StreamKind::quantize_block: return StreamTraffic{{2, 1, 1}, 3.0 + 4.0 / 128};
    case StreamKind::quantize_mxfp8: return StreamTraffic{{2, 1, 1}, 3.0 + 1.0 / 32};
    case StreamKind::quantize_nvfp4: return StreamTraffic{{2, 1, 1}, 4.5 + 1.0 / 16};
    case StreamKind::residual_add:
    case StreamKind::swiglu: return StreamTraffic{{2, 2, 2}, 6.0};
    case StreamKind::fused_pointwise: return StreamTraffic{{2, 2, 2, 1}, 7.0};
    // Weights and both moments are read and written, gradients read, the copy written.
    case StreamKind::optimizer: return StreamTraffic{{4, 4, 4, 4, 2}, 3 * 8 + 4 + 2};
    default: return std::nullopt;
  }
}

StreamShape stream_shape(const Stream& stream, double bytes_per_element) {
  const double elements = stream.bytes.value / bytes_per_element;
  double width = stream.kind == StreamKind::cross_entropy ? 50304.0 : 4096.0;
  if (stream.kind == StreamKind::softmax) width = 2048.0;
  const double rows = std::max(1.0, stream.rows > 0.0 ? stream.rows : elements / width);
  StreamShape shape{static_cast<std::size_t>(rows), 0};
  const double wide = elements / static_cast<double>(shape.rows);
  shape.width = std::max<std::size_t>(2, static_cast<std::size_t>(wide) / 2 * 2);
  return shape;
}

}  // namespace prequel
