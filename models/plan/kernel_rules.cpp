#include "models/plan/ruling.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/plan/layer_setting.hpp"

namespace prequel {

void fill_chosen_attention(Ruling& its) {
  if (!its.model.chooses_keys()) return;
  if (!its.request.attention) its.plan.attention = AttentionKind::flash;
  if (its.plan.attention != AttentionKind::flash) return;
  its.warn(
      "attention flash: by a kernel for chosen keys (Megatron's dsa_kernel_backend tilelang or "
      "cudnn), which flash attention is not; without one, as Megatron by default, all scores are "
      "made: attention unfused");
}

void check_attention(Ruling& its) {
  if (its.plan.attention != AttentionKind::flash) return;
  if (its.model.score_cap) {
    its.warn("attn_logit_softcapping: the kernel of attention flash is priced without its tanh");
  }
  const auto others = [&] {
    std::vector<std::string> names;
    if (its.software.kernels.unfused) names.emplace_back(name(AttentionKind::unfused));
    if (its.software.kernels.fused_softmax) names.emplace_back(name(AttentionKind::fused_softmax));
    return names.empty() ? "" : fmt::format("attention {}", fmt::join(names, " or "));
  };
  if (its.software.kernels.flash_kernel.empty()) {
    its.problem([&] {
      return fmt::format(
          "attention flash: software {} names no kernel for it (kernels.flash_kernel); {} would "
          "do",
          its.software.name, others().empty() ? "naming one" : others());
    });
  } else if (bytes_per_element(its.plan.precision) > bytes_per_element(Precision::fp16)) {
    its.problem([&] {
      return fmt::format("attention flash: has no {} kernels; precision bf16 or fp16 would do{}",
                         name(its.plan.precision), others().empty() ? "" : ", or " + others());
    });
  }
}

namespace {

void warn_of_modules_without_layer(Ruling& its) {
  const WordSet<RecomputeModule> held = modules_of(its.model, its.plan.recompute_modules);
  for (const RecomputeModule each : all_of<RecomputeModule>()) {
    if (its.plan.recompute_modules.has(each) && !held.has(each)) {
      its.warn("recompute_modules {}: {} has none", name(each), its.model.name);
    }
  }
}

/// Transformer Engine's fp8 attention goes with products in 8 bits.
void check_fp8_attention(Ruling& its) {
  if (!its.plan.fp8_attention) return;
  const bool flash = its.plan.attention == AttentionKind::flash;
  if (flash && is_quantized(its.plan.precision)) return;
  if (!its.request.fp8_attention) {
    its.plan.fp8_attention = false;  // a stack's default, where it can be
    return;
  }
  its.problem([&] {
    return flash ? fmt::format(
                       "fp8_attention: is for products in fp8, not {}; precision fp8 would do",
                       name(its.plan.precision))
                 : std::string("fp8_attention: needs a flash kernel; attention flash would do");
  });
}

/// A policy of JAX says of every tensor whether it is kept.
void check_kept_by_name(Ruling& its) {
  const WordSet<RecomputeModule> named = its.plan.recompute_modules;
  std::size_t words = 0;
  std::optional<RecomputeModule> policy;
  for (const RecomputeModule each : all_of<RecomputeModule>()) {
    if (!named.has(each)) continue;
    ++words;
    if (is_kept_by_name(each)) policy = each;
  }
  if (!policy || words == 1) return;
  its.problem([&] {
    return fmt::format("recompute_modules {}: says of all that is kept; it alone would do",
                       name(*policy));
  });
}

void check_activation_store(Ruling& its) {
  if (!its.plan.fp8_activation_store) return;
  if (its.model.mlp != Mlp::swiglu) {
    its.problem([&] {
      return fmt::format(
          "fp8_activation_store: is for SwiGLU, which {} has not; leaving it out would do",
          its.model.name);
    });
  } else if (its.model.has_experts() && repeats_expert_activation(its.plan) &&
             !its.software.defaults.fp8_activation_store.value_or(false)) {
    its.warn(
        "fp8_activation_store: of the experts no effect with recompute module moe_act, which keeps "
        "their inputs whole in {}",
        its.software.name);
  }
}

}  // namespace

void check_formats(Ruling& its) {
  const bool narrow = is_quantized(its.plan.precision);
  const Fp8Recipe recipe = its.plan.fp8_recipe;
  if (!narrow && its.request.fp8_recipe && recipe != Fp8Recipe::none) {
    its.problem([&] {
      return fmt::format("fp8_recipe {}: precision is {}; fp8 would do", name(recipe),
                         name(its.plan.precision));
    });
  }
  if (its.plan.precision == Precision::fp8 && recipe == Fp8Recipe::nvfp4) {
    its.problem("fp8_recipe nvfp4: has 4 bits; precision fp4 would do");
  }
  if (!narrow && its.plan.fp8_param_gather && its.request.fp8_param_gather) {
    its.warn("fp8_param_gather: no effect with precision {}", name(its.plan.precision));
  }
  if (its.plan.recompute != Recompute::selective && its.request.recompute_modules &&
      its.request.recompute_modules != its.software.defaults.recompute_modules &&
      !its.plan.recompute_modules.empty()) {
    its.warn("recompute_modules: no effect with recompute {}", name(its.plan.recompute));
  }
  if (its.request.recompute_modules) warn_of_modules_without_layer(its);
  check_fp8_attention(its);
  check_kept_by_name(its);
  check_activation_store(its);
}

}  // namespace prequel
