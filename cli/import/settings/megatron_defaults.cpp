#include "cli/import/settings/megatron_defaults.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/settings/framework_defaults.hpp"
#include "cli/import/settings/tuning_flags.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/device.hpp"
#include "models/plan/router_balance.hpp"

namespace prequel {
namespace {

/// DeepSpeed's config has the last word on what flags say, too.
void follow_config(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const auto stage = job.value("zero_optimization.stage");
  if (const auto flag = job.value("--zero-stage"); stage && flag && stage != flag) {
    job.report.assumed.push_back(
        fmt::format("ZeRO {}: of DeepSpeed's config, not --zero-stage {}", *stage, *flag));
  }
  if (stage) plan.zero = stage;
  if (!job.config_precision) return;
  const char* other = job.config_precision == Precision::bf16 ? "--fp16" : "--bf16";
  if (job.says(other)) {
    job.report.assumed.push_back(fmt::format("precision {}: of DeepSpeed's config, not {}",
                                             name(*job.config_precision), other));
  }
  plan.precision = job.config_precision;
}

/// Files of DeepSpeed's configuration are called by the stage: zero3.json, ds_z2_config.json; so
/// are accelerate's that switch it on: deepspeed_zero3.yaml.
void guess_stage(ImportedJob& job) {
  const std::string_view named = job.accelerate_file;
  const std::string_view own = named.substr(named.rfind('/') + 1);  // npos + 1 is 0
  if (!job.plan.zero && !job.deepspeed && own.find("zero") != std::string::npos) {
    job.deepspeed = true;
    job.deepspeed_config_file = named;
  } else if (!job.plan.zero && !job.deepspeed && own.find("fsdp") != std::string::npos) {
    job.plan.zero = 3;
    job.report.assumed.push_back(fmt::format("ZeRO 3: by the name of {}", printable(named)));
  }
  const std::string& file = job.deepspeed_config_file;
  if (!job.deepspeed || job.deepspeed_config || job.plan.zero || file.empty()) return;
  const std::string name = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  for (std::int64_t stage = 0; stage <= 3; ++stage) {
    for (const char* word : {"zero{}", "zero_{}", "z{}", "stage{}", "stage_{}"}) {
      if (name.find(fmt::format(fmt::runtime(word), stage)) == std::string::npos) continue;
      job.plan.zero = stage;
      job.report.assumed.push_back(
          fmt::format("ZeRO {}: by the name of {}", stage, printable(file)));
      const std::size_t offload = name.find("offload");
      const std::string_view before = std::string_view(name).substr(0, offload);
      const bool none =
          before.ends_with("no") || before.ends_with("no_") || before.ends_with("no-");
      if (offload != std::string::npos && !none && !job.plan.offload) {
        job.plan.offload = stage == 3 ? Offload::optimizer_params : Offload::optimizer;
        job.report.assumed.push_back(fmt::format("offload: by the name of {}", printable(file)));
      }
      return;
    }
  }
}

/// Programs count the same flag differently: those of PyTorch's FSDP that name the context's width
/// for each device, others for all or for each.
void follow_train_batch(ImportedJob& job) {
  const auto sequences = job.value("--train-batch-size");
  if (!sequences) return;
  if (job.says("--max-context-width")) {
    if (job.plan.mbs) return;
    job.plan.mbs = sequences;
    job.report.assumed.push_back(
        fmt::format("mbs {}: --train-batch-size, which counts for each device", *sequences));
  } else if (job.says("--micro-train-batch-size")) {
    if (!job.plan.gbs) job.plan.gbs = sequences;
  } else if (!job.plan.gbs && !job.batch_size) {
    job.batch_size = sequences;
    settle_batches(job);
  }
}

/// Megatron keeps gradients in the type of the parameters, of bf16 in fp32, unless told otherwise.
void assume_gradients(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  if (job.deepspeed || plan.grad_precision || !job.says("--num-layers")) return;
  if (plan.precision == Precision::fp16) {
    plan.grad_precision = Precision::fp16;
    job.report.assumed.emplace_back(
        "grad_precision fp16: no --accumulate-allreduce-grads-in-fp32 asks for more");
  } else if (plan.precision == Precision::bf16 ||
             is_quantized(plan.precision.value_or(Precision::bf16))) {
    plan.grad_precision = Precision::fp32;
  }
}

/// Dumps name recipes of formats that nothing has, too.
void assume_formats(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  const Precision products = plan.precision.value_or(Precision::bf16);
  const bool narrow = is_quantized(products);
  if (!narrow) plan.fp8_param_gather.reset();
  if (products == Precision::fp4 && job.says("--fp4-recipe")) {
    plan.fp8_recipe = Fp8Recipe::nvfp4;
  } else if (!narrow || (products == Precision::fp4) != (plan.fp8_recipe == Fp8Recipe::nvfp4)) {
    plan.fp8_recipe.reset();
  }
}

/// Without its fused softmax, Megatron's own attention is products and kernels between them.
/// Transformer Engine's, which Megatron-Core takes by itself, has no such softmax.
void follow_softmax(ImportedJob& job) {
  if (!job.says("--no-masked-softmax-fusion") || job.plan.attention == AttentionKind::flash) return;
  if (job.megatron_core && !job.deepspeed && !job.marks.own_attention) {
    if (job.plan.attention) return;
    job.report.assumed.emplace_back(
        "--no-masked-softmax-fusion: without effect on Transformer Engine's attention, "
        "Megatron-Core's by itself");
    return;
  }
  job.plan.attention = AttentionKind::unfused;
}

/// Sets what a framework does where nothing says otherwise, and tells it.
void assume_defaults(const Framework& framework, bool is_its_own, ImportedJob& job) {
  const auto says = [&](const std::string& flag) { return job.says(flag); };
  for (const auto& [effect, told, when, unless] : framework.defaults) {
    if (effect.empty() || is_its_own == !when.empty()) continue;
    if (!std::ranges::all_of(when, says) || std::ranges::any_of(unless, says)) continue;
    const std::string& field = effect.front().field;
    const bool elsewhere = (field == "plan.zero" && job.deepspeed) ||
                           (field == "plan.dispatcher" && job.marks.flex_dispatcher);
    if (elsewhere || !is_open(field, job)) continue;
    take_effect(effect, job);
    job.report.assumed.push_back(told);
  }
}

/// Frameworks that mark their own files come before those whose flags others have, too.
void assume_trainer_defaults(ImportedJob& job) {
  const auto& frameworks = job.names->frameworks;
  for (const auto& [name, one] : frameworks) {
    if (job.marks.trainers.contains(name)) assume_defaults(one, true, job);
  }
  for (const auto& [name, one] : frameworks) {
    if (job.is_of(name)) assume_defaults(one, true, job);
  }
  for (const auto& [name, one] : frameworks) assume_defaults(one, false, job);
  if (!job.plan.recompute && job.says("--max-context-width") && !job.yaml_config) {
    job.plan.recompute = Recompute::full;
    job.report.assumed.emplace_back(
        "recompute full: that of AWS's examples of PyTorch's FSDP, as no "
        "--activation_checkpointing says otherwise");
  }
  if (job.says("--merge-file") && !job.says("--tokenizer-type")) {
    job.tokenizer.emplace_back("GPT2BPETokenizer");
  }
  const bool ulysses =
      job.says("--ulysses-sequence-parallel-size") || job.says("--ds-sequence-parallel-size");
  if (ulysses && job.plan.cp.value_or(1) > 1) {
    job.plan.cp_comm = ContextComm::a2a;
  }
  // Megatron refuses the one without the other.
  if (!job.plan.zero && job.yaml_config && job.says("--overlap-param-gather")) {
    job.plan.zero = 1;
    job.report.assumed.emplace_back(
        "ZeRO 1: --overlap-param-gather needs a distributed optimizer, which the base of this "
        "configuration has");
  }
}

/// Lets communication run between the kernels where no flag asks to overlap it.
void assume_overlap(ImportedJob& job) {
  if (!job.deepspeed && !job.plan.overlap && job.says("--num-layers")) job.plan.overlap.emplace();
}

void assume_moments(ImportedJob& job) {
  const auto [first, second] = job.moments;
  if (first.value_or(Precision::fp32) != second.value_or(Precision::fp32)) {
    job.report.left_out.push_back(fmt::format(
        "--exp-avg-sq-dtype {}: both moments are predicted in {}, as --exp-avg-dtype has it",
        name(second.value_or(Precision::fp32)), name(first.value_or(Precision::fp32))));
  }
  if (first || second) job.plan.moments_precision = first.value_or(Precision::fp32);
}

/// A share of the moments, or without one all that the optimizer keeps; what is not switched on has
/// no effect.
void assume_host_memory(ImportedJob& job) {
  PlanRequest& plan = job.plan;
  if (!job.says("--optimizer-cpu-offload")) {
    plan.optimizer_offload.reset();
  } else if (plan.optimizer_offload) {
    plan.offload.reset();
  }
  if (!job.says("--fine-grained-activation-offloading")) plan.offload_modules.reset();
}

/// Graphs of whole layers where no module is named.
void assume_graphs(ImportedJob& job) {
  if (!job.graphs) return;
  constexpr WordSet<GraphedModule> kLayers{GraphedModule::attn, GraphedModule::mlp,
                                           GraphedModule::moe};
  job.plan.cuda_graphs = *job.graphs ? job.graphed.value_or(kLayers) : WordSet<GraphedModule>{};
}

/// Megatron drops a tenth of hidden states and of scores where no flag says otherwise, and fuses no
/// loss that it is not told to.
void assume_megatron_model(ImportedJob& job) {
  const bool megatron = job.says("--transformer-impl") || job.says("--use-mcore-models");
  if (!megatron || job.deepspeed) return;
  if (!job.model.dropout) job.model.dropout = true;
  if (!job.model.score_dropout) job.model.score_dropout = true;
  if (!job.says("--cross-entropy-loss-fusion")) job.plan.loss = LossForm::whole;
}

void assume_query_groups(ImportedJob& job) {
  if (job.grouped_queries && !job.query_groups) job.query_groups = job.model.kv_heads;
  if (job.grouped_queries && !job.query_groups) {
    job.query_groups = 1;
    job.report.assumed.emplace_back(
        "num_key_value_heads 1: --group-query-attention without --num-query-groups");
  }
  if (job.grouped_queries) {
    job.model.kv_heads = job.query_groups;
  } else if (job.query_groups.value_or(1) > 1) {
    job.report.left_out.push_back(fmt::format(
        "--num-query-groups {}: has no effect without --group-query-attention", *job.query_groups));
  }
}

/// Reads what Python makes of `2`, `[0]*3+[1]*58` or `([1]*1+[0]*1)*12`: a number, or which layers
/// have experts; empty where it is none of these.
class LayerPattern {
 public:
  explicit LayerPattern(std::string text) : text_(std::move(text)) {
    std::erase_if(text_, [](char c) { return c == ' ' || c == '"' || c == '\''; });
  }

  std::vector<bool> read() {
    std::vector<bool> all = sum(0);
    return place_ == text_.size() ? all : std::vector<bool>();
  }

 private:
  static constexpr std::size_t kMostLayers = 100'000;
  static constexpr int kDeepest = 8;

  [[nodiscard]] bool take(char letter) {
    const bool here = place_ < text_.size() && text_[place_] == letter;
    if (here) ++place_;
    return here;
  }
  std::vector<bool> fail() {
    place_ = text_.size() + 1;
    return {};
  }

  std::vector<bool> sum(int depth) {
    std::vector<bool> all = product(depth);
    while (take('+')) {
      const std::vector<bool> more = product(depth);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all.size() > kMostLayers ? fail() : all;
  }

  std::vector<bool> product(int depth) {
    std::vector<bool> one = list(depth);
    while (take('*')) {
      const std::size_t begin = place_;
      while (place_ < text_.size() && text_[place_] >= '0' && text_[place_] <= '9') ++place_;
      const auto times = parse_integer(text_.substr(begin, place_ - begin));
      if (!times ||
          *times > static_cast<long long>(kMostLayers / std::max<std::size_t>(1, one.size()))) {
        return fail();
      }
      std::vector<bool> all;
      for (long long i = 0; i < *times; ++i) all.insert(all.end(), one.begin(), one.end());
      one = std::move(all);
    }
    return one;
  }

  std::vector<bool> list(int depth) {
    if (take('(')) {
      if (depth == kDeepest) return fail();
      std::vector<bool> inside = sum(depth + 1);
      return take(')') ? inside : fail();
    }
    if (!take('[')) return fail();
    std::vector<bool> layers;
    while (!take(']')) {
      if (!layers.empty() && !take(',')) return fail();
      if (take('1')) {
        layers.push_back(true);
      } else if (take('0')) {
        layers.push_back(false);
      } else {
        return fail();
      }
    }
    return layers;
  }

  std::string text_;
  std::size_t place_{};
};

/// `--moe-layer-freq 2`: every second layer has experts; a list says it layer by layer.
void follow_expert_layers(ImportedJob& job) {
  ImportedExperts& experts = job.model.experts;
  if (job.expert_layers.empty()) {
    if (job.says("--moe-layer-freq")) {
      job.report.left_out.emplace_back(
          "--moe-layer-freq: has no value here; predicted with experts in all layers");
    }
    return;
  }
  if (const auto every = parse_integer(job.expert_layers); every && *every > 0) {
    experts.every = *every;
    return;
  }
  const std::vector<bool> layers = LayerPattern(job.expert_layers).read();
  const auto first = std::ranges::find(layers, true);
  if (first != layers.end()) {
    const auto second = std::find(first + 1, layers.end(), true);
    const std::int64_t every = second == layers.end() ? 1 : second - first;
    const std::int64_t dense = first - layers.begin() - (every - 1);
    bool regular = dense >= 0;
    for (std::int64_t i = 0; i < std::ssize(layers) && regular; ++i) {
      const std::int64_t behind = i - dense;
      const bool expected = behind >= 0 && (behind + 1) % every == 0;
      regular = layers[static_cast<std::size_t>(i)] == expected;
    }
    if (regular) {
      experts.first_dense = dense;
      experts.every = every;
      return;
    }
  }
  job.report.left_out.push_back(
      fmt::format("--moe-layer-freq {} is not read; predicted with experts in all layers",
                  printable(job.expert_layers)));
}

/// Who carries tokens: `flex` leaves it to its backend, which has no effect without.
void follow_dispatcher(ImportedJob& job) {
  const std::optional<Dispatcher> backend = job.marks.flex_backend;
  if (job.marks.flex_dispatcher) {
    job.plan.dispatcher = backend.value_or(Dispatcher::deepep);
  } else if (backend && job.model.experts.count.value_or(0) > 1) {
    job.report.left_out.push_back(fmt::format(
        "--moe-flex-dispatcher-backend {}: has no effect without --moe-token-dispatcher-type flex",
        name(*backend)));
  }
}

/// Experts that take a capacity, padded to it. Without padding they take what comes up to it, which
/// is all where loads are equal. DeepSpeed's always pad, to the mean if nothing is said.
void follow_capacity(ImportedJob& job) {
  if (job.deepspeed) {
    if (job.says("--disable-moe-token-dropping")) return;
    if (job.capacity_factor || job.says("--num-experts")) {
      job.plan.router_balance = dropped_tokens(job.capacity_factor.value_or(1));
    }
    if (!job.capacity_factor && job.says("--num-experts")) {
      job.report.assumed.emplace_back(
          "router_balance dropped: DeepSpeed's capacity of 1, as no --moe-train-capacity-factor "
          "says otherwise");
    }
    return;
  }
  if (!job.capacity_factor) return;
  if (job.says("--moe-pad-expert-input-to-capacity")) {
    job.plan.router_balance = dropped_tokens(*job.capacity_factor);
  } else if (*job.capacity_factor < 1) {
    job.report.left_out.push_back(
        fmt::format("--moe-expert-capacity-factor {}: without --moe-pad-expert-input-to-capacity; "
                    "predicted without dropping tokens",
                    *job.capacity_factor));
  }
}

/// Assumes Megatron's defaults where experts or latent attention are asked for.
void assume_experts(ImportedJob& job) {
  if (job.shared_experts && *job.shared_experts < (1 << 10) &&
      job.model.experts.ffn_hidden.value_or(1 << 24) < (1 << 24)) {
    job.model.experts.shared_hidden = *job.shared_experts * *job.model.experts.ffn_hidden;
  }
  follow_expert_layers(job);
  follow_dispatcher(job);
  follow_capacity(job);
  ImportedExperts& experts = job.model.experts;
  if (experts.count.value_or(0) <= 1) {
    job.plan.etp.reset();
    job.plan.dispatcher.reset();
    job.plan.router_balance.reset();
  } else if (!job.deepspeed) {
    if (!job.plan.etp && job.plan.tp.value_or(1) > 1) {
      job.plan.etp = job.plan.tp;
      job.report.assumed.push_back(fmt::format(
          "etp {}: that of tp, as no --expert-tensor-parallel-size says otherwise", *job.plan.tp));
    }
    if (!job.plan.dispatcher && job.launch && !job.says("--recipe")) {
      job.plan.dispatcher = Dispatcher::allgather;
      job.report.assumed.emplace_back(
          "dispatcher allgather: Megatron's, as no --moe-token-dispatcher-type names another");
    }
    if (!job.plan.router_balance) {
      job.report.assumed.emplace_back(
          "experts with equal loads, though no --moe-router-force-load-balancing asks for it: "
          "--router-balance natural, or a file of loads, predicts others");
    }
  }
  if (experts.count.value_or(0) > 1 && !experts.top_k && !job.deepspeed) {
    experts.top_k = 2;
    job.report.assumed.emplace_back("num_experts_per_tok 2: no --moe-router-topk");
  }
  if (experts.count.value_or(0) > 1 && !experts.top_k) experts.top_k = 1;
  if (experts.count.value_or(0) > 1 && job.deepspeed && !experts.every &&
      job.says("--num-layers")) {
    experts.every = 2;
    job.report.assumed.emplace_back(
        "experts in every second layer: Megatron-DeepSpeed's, as no --expert-interval says "
        "otherwise");
  }
  if (experts.groups.value_or(1) < 2) experts.groups = experts.groups_chosen = std::nullopt;
  ImportedLatent& latent = job.model.latent;
  // Pai's and AMD's models of DeepSeek have it by their ranks and widths alone.
  const bool by_widths = job.says("--kv-lora-rank") && job.says("--qk-nope-head-dim");
  if (!job.says("--multi-latent-attention") && !by_widths) {
    if (job.says("--kv-lora-rank")) {
      latent = {};
      if (job.launch) {  // a dump has its default
        job.report.left_out.emplace_back(
            "--kv-lora-rank: has no effect without --multi-latent-attention");
      }
    }
    return;
  }
  latent.kv_rank = latent.kv_rank.value_or(32);
  latent.nope = latent.nope.value_or(128);
  latent.rope = latent.rope.value_or(64);
  latent.value = latent.value.value_or(128);
  job.model.kv_heads.reset();
  job.model.head_dim.reset();
  job.model.qk_norm.reset();  // norms of the narrow vectors belong to it
}

/// The width of an MLP that no flag says. Megatron keeps the parameters of the plain one in a gated
/// one: two thirds of 4h, a multiple of 64, or the next multiple of what is said.
void assume_width(ImportedJob& job) {
  ImportedModel& model = job.model;
  constexpr std::int64_t kMost = 1LL << 24;
  const std::int64_t hidden = model.hidden.value_or(0);
  if (model.ffn_hidden || hidden < 1 || hidden > kMost) return;
  const std::int64_t multiple = job.ffn_multiple.value_or(0);
  const bool is_gated = model.mlp == Mlp::swiglu || model.mlp == Mlp::geglu;
  if (job.ffn_halves || job.ffn_ratio) {
    const std::int64_t width =
        job.ffn_halves.value_or(std::min(job.ffn_ratio.value_or(0), kMost) * hidden);
    const bool both = is_gated && !job.says("--expansion-ratio");
    model.ffn_hidden = both ? width / 2 : width;
  } else if (is_gated && multiple > 0 && multiple < kMost) {
    const std::int64_t plain = hidden * 8 / 3;
    const auto width =
        static_cast<std::int64_t>(job.ffn_scale.value_or(1) * static_cast<double>(plain));
    model.ffn_hidden = (width + multiple - 1) / multiple * multiple;
  } else if (job.narrowed_mlp) {
    model.ffn_hidden = hidden * 8 / 3 / 64 * 64;
  }
  if (model.ffn_hidden == 0) model.ffn_hidden.reset();
}

/// Layers that only fill up stages are none of the model's; the last stage has so many less.
void drop_idle_layers(ImportedJob& job) {
  const std::int64_t idle = std::exchange(job.idle_layers, 0);
  const std::int64_t all = job.model.layers.value_or(0);
  const std::int64_t stages = job.plan.pp.value_or(1);
  if (idle == 0 || all <= idle) return;
  job.model.layers = all - idle;
  job.report.read.push_back(fmt::format("--noop-layers: {} of {} layers do nothing", idle, all));
  const bool chunked = job.plan.vpp.value_or(1) > 1 || job.layers_per_virtual_stage;
  if (stages > 1 && !chunked && all % stages == 0 && all / stages > idle) {
    job.last_stage_layers = all / stages - idle;
  }
}

}  // namespace

void assume_megatron_defaults(ImportedJob& job) {
  std::vector<std::string> assumed;
  PlanRequest& plan = job.plan;
  drop_idle_layers(job);
  if (plan.pp == 0) plan.pp = 1;  // GPT-NeoX's word for a model that is no pipeline
  follow_config(job);
  guess_stage(job);
  follow_train_batch(job);
  assume_nanogpt_defaults(job);
  assume_torchtitan_defaults(job);
  assume_maxtext_defaults(job);
  assume_trainer_defaults(job);
  assume_tuning_defaults(job);
  follow_softmax(job);
  if (!plan.recompute) {
    plan.recompute = Recompute::none;
    assumed.emplace_back("no recomputation");
  }
  if (job.deepspeed && plan.offload == Offload::optimizer_params && plan.zero.value_or(3) < 3) {
    plan.offload = Offload::optimizer;
    job.report.assumed.push_back(fmt::format(
        "offload optimizer: DeepSpeed keeps parameters in host memory at stage 3 alone, not at {}",
        *plan.zero));
  }
  if (plan.recompute != Recompute::full) plan.recompute_layers.reset();
  if (job.recomputes_first_layers && plan.recompute_layers) {
    plan.recompute_first = std::exchange(plan.recompute_layers, std::nullopt);
  }
  if (job.says("--use-custom-fsdp") || job.says("--use-megatron-fsdp")) {
    plan.zero = job.marks.sharding_strategy.value_or(plan.zero.value_or(0));
  }
  if (!plan.zero && !job.deepspeed) {
    plan.zero = 0;
    assumed.emplace_back("ZeRO 0");
  }
  if (!plan.sequence_parallel) plan.sequence_parallel = false;
  if (!assumed.empty()) {
    job.report.assumed.push_back(
        fmt::format("{}: no argument asks for it", fmt::join(assumed, ", ")));
  }
  if (job.says("--account-for-embedding-in-pipeline-split") !=
      job.says("--account-for-loss-in-pipeline-split")) {
    job.report.assumed.emplace_back(
        "embedding and head both count as a layer of the pipeline, though the arguments ask for "
        "one "
        "of them only");
  }
  if (plan.recompute != Recompute::selective) plan.recompute_modules.reset();
  assume_formats(job);
  assume_gradients(job);
  assume_overlap(job);
  assume_moments(job);
  assume_host_memory(job);
  assume_graphs(job);
  assume_megatron_model(job);
  assume_query_groups(job);
  assume_experts(job);
  assume_width(job);
}

}  // namespace prequel
