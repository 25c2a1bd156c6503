#include "sim/price/kernel_explanation.hpp"

#include <cmath>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "hw/dispatch.hpp"
#include "models/plan/groups.hpp"

namespace prequel {
namespace {

/// A time that is said, not computed.
PriceExplanation said(const char* model, const char* constants, double seconds) {
  return {model, constants, {}, {}, {{"time as stated", {seconds}}}, {seconds}};
}

class Explainer {
 public:
  Explainer(const LayerQuestion& question, const Inputs& inputs, const PartCounts& parts,
            std::int64_t micro_batches)
      : question_(question),
        inputs_(inputs),
        parts_(parts),
        micro_batches_(micro_batches),
        kinds_(inputs.model) {}

  /// `costs` are the prices of the operators, means over the blocks of which `share` run them;
  /// launches may follow.
  void add(Part part, std::string_view pass, const Operators& operators,
           std::span<const KernelCost> costs, double share = 1.0) {
    const std::int64_t all = micro_batches_ * parts_[part];
    const std::int64_t count = std::llround(share * real(all));
    if (count == 0) return;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const double seconds = costs[i].seconds * real(all) / real(count);
      kernels_.push_back({operators[i].name, name(part, kinds_), pass, operators[i], seconds, count,
                          explained(operators[i], seconds)});
    }
    double waits = 0;
    for (const KernelCost& launches : costs.subspan(operators.size())) waits += launches.seconds;
    if (waits <= 0) return;
    kernels_.push_back({"launches",
                        name(part, kinds_),
                        pass,
                        {"launches", Seconds{waits}},
                        waits,
                        count,
                        said("launches that the device waits for", "software.host", waits)});
  }

  [[nodiscard]] std::vector<ExplainedKernel> kernels() && { return std::move(kernels_); }

 private:
  [[nodiscard]] PriceExplanation explained(const Operator& op, double seconds) const {
    const Device& device = inputs_.device;
    if (const auto* gemm = std::get_if<Gemm>(&op.what)) return explain_price(device, *gemm);
    if (const auto* grouped = std::get_if<GroupedGemm>(&op.what)) {
      return explain_price(device, *grouped);
    }
    if (const auto* stream = std::get_if<Stream>(&op.what)) return explain_price(device, *stream);
    if (const auto* cast = std::get_if<Cast>(&op.what)) {
      return explain_price(device, stream_of(*cast, device.fp8_in_any_order));
    }
    if (const auto* scan = std::get_if<Scan>(&op.what)) return explain_price(device, *scan);
    if (const auto* sparse = std::get_if<SparseAttention>(&op.what)) {
      return explain_price(device, *sparse);
    }
    if (const auto* attention = std::get_if<FusedAttention>(&op.what)) {
      return explain_price(device, *attention, inputs_.software.kernels.flash_kernel);
    }
    if (const auto* collective = std::get_if<GroupCollective>(&op.what)) {
      return explain_collective(inputs_.cluster, collective->op, shape_of(collective->axis),
                                collective->bytes);
    }
    if (const auto* ring = std::get_if<ContextRing>(&op.what)) return explained(*ring, seconds);
    return explain_dispatch(inputs_.cluster, shape_of(GroupAxis::expert),
                            std::get<Dispatch>(op.what));
  }

  /// All steps of a ring, of which attention hides what it can.
  [[nodiscard]] PriceExplanation explained(const ContextRing& ring, double exposed) const {
    PriceExplanation step = explain_collective(inputs_.cluster, CollectiveOp::send_recv,
                                               shape_of(GroupAxis::context), ring.bytes);
    const auto steps = static_cast<double>(question_.setting.cp - 1);
    step.model = fmt::format(
        "{} steps of a {}, each of {:.4g} MB{} at {:.4g} GB/s: {:.4g} ms beside attention, of "
        "which {:.4g} ms show",
        steps, step.model, ring.bytes.value / 1e6, ring.backward ? " with gradients" : "",
        ring.bytes.value / step.time.value / kGB, 1e3 * steps * step.time.value, 1e3 * exposed);
    step.bytes = {};  // what is moved behind attention has no rate of its own
    for (Limit& limit : step.limits) limit.time = limit.time * steps;
    step.time = {exposed};
    return step;
  }

  [[nodiscard]] GroupShape shape_of(GroupAxis axis) const {
    const RankGroup& group = question_.group(axis);
    return group_shape(inputs_.cluster, question_.gpus, group.size, group.stride);
  }

  const LayerQuestion& question_;
  const Inputs& inputs_;
  const PartCounts& parts_;
  std::int64_t micro_batches_;
  const LayerKinds kinds_;
  std::vector<ExplainedKernel> kernels_;
};

}  // namespace

std::vector<ExplainedKernel> explain_kernels(const LayerQuestion& question, const Inputs& inputs,
                                             const PartCounts& parts, std::int64_t micro_batches) {
  const Software& software = inputs.software;
  const LayerKernels costs = price_kernels(question, inputs);
  Explainer explainer(question, inputs, parts, micro_batches);
  const auto told = [&](Part part) {
    return tell_part(part, inputs.model, question.mean(), software);
  };
  const auto explain = [&](Part part, std::string_view pass, const Operators& operators,
                           std::span<const KernelCost> kernels, double share = 1.0) {
    if (parts[part] > 0) explainer.add(part, pass, operators, kernels, share);
  };
  each_part([&](Part part) {
    if (parts[part] == 0) return;
    explain(part, "forward", forward_operators(told(part), software), costs[part].forward);
  });
  for (std::size_t i = kParts; i-- > 0;) {
    const auto part = static_cast<Part>(i);
    if (parts[part] == 0) continue;
    const Layer layer = told(part);
    const std::span<const KernelCost> all = costs[part].backward;
    const Operators repeated =
        is_block(part) ? repeated_operators(layer, software, question.repeated) : Operators{};
    explain(part, "recompute", repeated, all.first(repeated.size()), question.repeated_blocks);
    explain(part, "backward", backward_operators(layer, software), all.subspan(repeated.size()));
  }
  return std::move(explainer).kernels();
}

}  // namespace prequel
