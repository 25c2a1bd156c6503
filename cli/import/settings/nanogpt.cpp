#include "cli/import/settings/framework_defaults.hpp"

#include <string>

#include <fmt/format.h>

namespace prequel {
namespace {

constexpr std::int64_t kMostInBatch = 1LL << 15;  // a product of two is no overflow

}  // namespace

void assume_nanogpt_defaults(ImportedJob& job) {
  const bool config = job.is_of("nanogpt");
  const bool flags = job.says("--block-size") && job.says("--batch-size");
  if (!config && !flags) return;
  PlanRequest& plan = job.plan;
  ImportedModel& model = job.model;
  // Its own names of sizes, which no other program takes beside these.
  const bool own = flags && job.says("--num-layers") && !job.says("--vocab-size") &&
                   !job.says("--seq-length") && job.tokenizer.empty();
  if (config || own) {
    std::string assumed;
    const auto usual = [&](const char* flag, const char* name, auto& field, auto value) {
      if (field || job.unresolved.contains(flag)) return;
      field = value;
      assumed += fmt::format("{}{} {}", assumed.empty() ? "" : ", ", name, value);
    };
    usual("--num-layers", "n_layer", model.layers, 12);
    usual("--num-attention-heads", "n_head", model.heads, 12);
    usual("--hidden-size", "n_embd", model.hidden, 768);
    usual("--block-size", "block_size", plan.seq_len, 1024);
    usual("--batch-size", "batch_size", plan.mbs, 12);
    usual("--vocab-size", "vocab_size", model.vocab, 50304);
    if (!plan.gbs)
      usual("--gradient-accumulation-steps", "gradient_accumulation_steps",
            job.gradient_accumulation_steps, 40);
    const auto settle = [&](const char* text, auto& field, auto value) {
      if (field) return;
      field = value;
      assumed += (assumed.empty() ? "" : ", ") + std::string(text);
    };
    if (!job.unresolved.contains("--bias")) settle("bias False", model.linear_bias, false);
    settle("dtype bfloat16", plan.precision, Precision::bf16);
    plan.attention = plan.attention.value_or(AttentionKind::flash);
    if (!assumed.empty()) {
      job.report.assumed.push_back(assumed + ": nanoGPT's, as the " +
                                   (config ? "configuration does" : "flags do") + " not say it");
    }
  }
  const std::int64_t steps = job.gradient_accumulation_steps.value_or(0);
  if (plan.gbs || steps < 1 || steps > kMostInBatch || !plan.mbs || *plan.mbs > kMostInBatch)
    return;
  plan.gbs = *plan.mbs * steps;
  job.gradient_accumulation_steps.reset();
  job.report.assumed.push_back(fmt::format(
      "gbs {}: batch_size {} x gradient_accumulation_steps {}, which nanoGPT's train.py "
      "shares out among all ranks",
      *plan.gbs, *plan.mbs, steps));
}

}  // namespace prequel
