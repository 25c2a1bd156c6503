#include "models/plan/ruling.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/lengths.hpp"

namespace prequel {
namespace {

constexpr std::int64_t kUsualRank = 16;  // of Megatron-Bridge's and torchtune's recipes

/// Tests whether bitsandbytes or GPTQ made a format: libraries of PyTorch's stacks alone.
bool is_of_pytorch(BaseFormat format) {
  using enum BaseFormat;
  return format == int8 || format == nf4 || format == nf4_double || format == gptq_int4;
}

/// Frozen matrices may be stored narrow; those that learn may not.
void check_base(Ruling& its) {
  if (its.plan.tuning != Tuning::full && is_of_pytorch(its.plan.base_precision) &&
      its.software.kernels.transformer_engine) {
    its.warn("base_precision {}: {} has no such matrices; software hf-peft-2026 runs them",
             name(its.plan.base_precision), its.software.name);
  }
  if (its.plan.tuning != Tuning::full || its.plan.base_precision == BaseFormat::bf16) return;
  if (!its.request.base_precision) {
    its.plan.base_precision = BaseFormat::bf16;
    return;
  }
  its.problem([&] {
    return fmt::format(
        "base_precision {}: weights that learn are not stored so; tuning lora would do",
        name(its.plan.base_precision));
  });
}

/// Plans without adapters say nothing of them. Where the last layers alone learn, tables may, too.
void drop_adapters(Ruling& its) {
  const bool last_layers = its.plan.tuning == Tuning::full && its.plan.learning_layers > 0;
  const auto drop = [&](const auto& axis, bool named) {
    const auto& asked = axis.of(its.request);
    const auto plain = plainest(axis.domain);
    if (named && asked && *asked != plain) {
      its.warn("{} {}: no effect with tuning {}", axis.name, cell_of(*asked),
               name(its.plan.tuning));
    }
    if (named) axis.of(its.plan) = plain;
  };
  each_axis([&](const auto& axis) {
    constexpr std::string_view kOfAdapters[] = {"lora_rank", "lora_targets", "adapter_precision",
                                                "lora_dropout", "train_embeddings"};
    if (last_layers && axis.name == "train_embeddings") return;
    drop(axis, std::ranges::find(kOfAdapters, axis.name) != std::end(kOfAdapters));
  });
}

void fill_adapters(Ruling& its) {
  using enum AdapterTarget;
  WordSet<AdapterTarget>& targets = its.plan.lora_targets;
  if (its.plan.lora_rank == 0 && !its.request.lora_rank) its.plan.lora_rank = kUsualRank;
  if (targets.empty() && !its.request.lora_targets) targets.add(all);
  const auto warn_of = [&](AdapterTarget word, std::string_view why) {
    if (its.request.lora_targets && targets.has(word)) {
      its.warn("lora_targets {}: no effect, {}", name(word), why);
    }
  };
  if (!its.model.has_experts()) {
    warn_of(experts, "the model has no experts");
    warn_of(router, "the model has no experts");
  }
  if (!is_gated(its.model.mlp)) warn_of(gate, "the MLP has no gate");
  if (its.plan.train_embeddings) {
    warn_of(embedding, "the table itself learns");
    warn_of(head, "the table itself learns");
  }
  if (targets.empty() && its.plan.lora_rank > 0) {
    its.problem([&] {
      return fmt::format("lora_targets none: tuning {} adapts nothing; all would do",
                         name(its.plan.tuning));
    });
  }
}

/// The last layers alone: gradients end where nothing before learns. Stages before that keep their
/// place in the schedule, with backward passes that take no time.
void check_learning_layers(Ruling& its) {
  Plan& plan = its.plan;
  const std::int64_t last = plan.learning_layers;
  if (last == 0) return;
  if (last > its.model.layers) {
    return its.problem([&] {
      return fmt::format("learning_layers {}: the model has {} layers", last, its.model.layers);
    });
  }
  if (plan.tuning == Tuning::none) {
    its.warn("learning_layers {}: no effect with tuning none", last);
    plan.learning_layers = 0;
    return;
  }
  if (distinct_kinds(its.model).size() > kMostKinds) {
    its.problem([&] {
      return fmt::format(
          "learning_layers {}: too many kinds of layers with those that are frozen; "
          "0 would do",
          last);
    });
  }
}

/// The mean of what rows of unequal length compute.
void fill_lengths(Ruling& its) {
  constexpr double kRows = 8192;  // drawn for a mean
  Plan& plan = its.plan;
  std::optional<Lengths> lengths;
  try {
    lengths = read_lengths(plan.lengths);
  } catch (const InputError& error) {
    return its.problem([&] { return error.problems().front(); });
  }
  if (!lengths) {
    const auto idle = [&](const char* axis, bool asked, std::string_view value) {
      if (asked) its.warn("{} {}: no effect where all lengths are fixed", axis, value);
    };
    idle("packing", plan.packing != Packing::none, name(plan.packing));
    idle("balance", plan.balance != Balance::none, name(plan.balance));
    return;
  }
  if (!its.is_legal || !its.request.gbs) return;
  if (plan.cp > 1) {
    return its.problem("lengths: rows of unequal length are not priced with cp; cp 1 would do");
  }
  const double rows = real(plan.dp * plan.micro_batches() * plan.mbs);
  const MicroBatchLoad mean =
      mean_load(*lengths, filling_of(plan), static_cast<int>(std::ceil(kRows / rows)));
  plan.computed_len = std::llround(mean.computed / real(plan.mbs * plan.sequences_of_sample()));
  plan.seen_len = std::llround(mean.squares / mean.computed);
  if (plan.packing == Packing::none) plan.longest_len = std::min(plan.seq_len, lengths->longest());
}

}  // namespace

void check_tuning(Ruling& its) {
  check_base(its);
  trains_adapters(its.plan.tuning) ? fill_adapters(its) : drop_adapters(its);
  check_learning_layers(its);
  fill_lengths(its);
}

}  // namespace prequel
