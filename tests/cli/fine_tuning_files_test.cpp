/// Configurations as the examples of LLaMA-Factory and axolotl have them.

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

using Keys = std::map<std::string, std::string>;

std::string yaml(Keys keys, const Keys& others) {
  for (const auto& [key, value] : others) keys[key] = value;
  std::string text;
  for (const auto& [key, value] : keys) {
    if (value != "-") text += key + ": " + value + "\n";  // "-" takes a key out
  }
  return text;
}

/// examples/train_lora/llama3_lora_sft.yaml, with other keys.
std::string llama_factory(const Keys& others) {
  return yaml({{"model_name_or_path", "meta-llama/Meta-Llama-3-8B-Instruct"},
               {"trust_remote_code", "true"},
               {"stage", "sft"},
               {"do_train", "true"},
               {"finetuning_type", "lora"},
               {"lora_rank", "8"},
               {"lora_target", "all"},
               {"dataset", "identity,alpaca_en_demo"},
               {"template", "llama3"},
               {"cutoff_len", "2048"},
               {"max_samples", "1000"},
               {"overwrite_cache", "true"},
               {"preprocessing_num_workers", "16"},
               {"output_dir", "saves/llama3-8b/lora/sft"},
               {"logging_steps", "10"},
               {"plot_loss", "true"},
               {"per_device_train_batch_size", "1"},
               {"gradient_accumulation_steps", "8"},
               {"learning_rate", "1.0e-4"},
               {"num_train_epochs", "3.0"},
               {"lr_scheduler_type", "cosine"},
               {"warmup_ratio", "0.1"},
               {"bf16", "true"},
               {"ddp_timeout", "180000000"}},
              others);
}

/// examples/llama-3/fft-8b.yaml, with other keys.
std::string axolotl(const Keys& others) {
  return yaml({{"base_model", "NousResearch/Meta-Llama-3-8B"},
               {"load_in_8bit", "false"},
               {"load_in_4bit", "false"},
               {"datasets", "[{path: tatsu-lab/alpaca, type: alpaca}]"},
               {"dataset_prepared_path", "last_run_prepared"},
               {"val_set_size", "0.05"},
               {"output_dir", "./outputs/out"},
               {"sequence_len", "8192"},
               {"sample_packing", "true"},
               {"pad_to_sequence_len", "true"},
               {"wandb_project", ""},
               {"gradient_accumulation_steps", "8"},
               {"micro_batch_size", "1"},
               {"num_epochs", "1"},
               {"optimizer", "adamw_torch"},
               {"lr_scheduler", "cosine"},
               {"learning_rate", "2e-5"},
               {"bf16", "auto"},
               {"tf32", "false"},
               {"gradient_checkpointing", "true"},
               {"resume_from_checkpoint", ""},
               {"flash_attention", "true"},
               {"warmup_steps", "100"},
               {"evals_per_epoch", "2"},
               {"weight_decay", "0.0"}},
              others);
}

const Keys kLora{
    {"adapter", "lora"},         {"lora_model_dir", ""},         {"lora_r", "32"},
    {"lora_alpha", "16"},        {"lora_dropout", "0.05"},       {"lora_target_linear", "true"},
    {"lora_fan_in_fan_out", ""}, {"optimizer", "adamw_bnb_8bit"}};

Keys with_keys(Keys keys, const Keys& more) {
  for (const auto& [key, value] : more) keys[key] = value;
  return keys;
}

ImportedJob job_of_training(const std::string& text) {
  return job_of_files({{"train.yaml", text}});
}

TEST_CASE("LLaMA-Factory's LoRA: rank, targets, batch and length") {
  const PlanRequest plan = job_of_training(llama_factory({})).plan;
  CHECK(plan.tuning == Tuning::lora);
  CHECK(plan.lora_rank == 8);
  CHECK(plan.lora_targets == WordSet<AdapterTarget>{AdapterTarget::all});
  CHECK(plan.mbs == 1);
  CHECK(plan.seq_len == 2048);
  CHECK(plan.lengths == "alpaca-en");
  CHECK(job_of_training(llama_factory({{"cutoff_len", "-"}})).plan.seq_len == 2048);
  const ImportedJob other = job_of_training(llama_factory({{"dataset", "mine"}}));
  CHECK_FALSE(other.plan.lengths);
  CHECK(lists_part(other.report.assumed, "the longest that are kept"));
  CHECK(plan.precision == Precision::bf16);
  CHECK(plan.recompute == Recompute::full);
  CHECK_FALSE(plan.base_precision);
  const PlanRequest some =
      job_of_training(llama_factory({{"lora_target", "q_proj,v_proj"}, {"lora_rank", "64"}})).plan;
  CHECK(some.lora_targets == WordSet<AdapterTarget>{AdapterTarget::q, AdapterTarget::v});
  CHECK(some.lora_rank == 64);
  const PlanRequest usual =
      job_of_training(llama_factory({{"lora_rank", "-"}, {"lora_target", "-"}})).plan;
  CHECK(usual.lora_rank == 8);
  CHECK(usual.lora_targets == WordSet<AdapterTarget>{AdapterTarget::all});
  CHECK(job_of_training(llama_factory({{"lora_dropout", "0.1"}})).plan.lora_dropout == 0.1);
  CHECK(job_of_training(llama_factory({{"use_dora", "true"}})).plan.tuning == Tuning::dora);
}

TEST_CASE("LLaMA-Factory's quantised bases") {
  const auto base = [](const Keys& keys) {
    return job_of_training(llama_factory(keys)).plan.base_precision;
  };
  CHECK(base({{"quantization_bit", "4"}}) == BaseFormat::nf4_double);
  CHECK(base({{"quantization_bit", "4"}, {"double_quantization", "false"}}) == BaseFormat::nf4);
  CHECK(base({{"quantization_bit", "8"}, {"quantization_method", "bnb"}}) == BaseFormat::int8);
  CHECK(base({{"model_name_or_path", "TechxGenus/Meta-Llama-3-8B-Instruct-GPTQ"}}) ==
        BaseFormat::gptq_int4);
  CHECK(base({{"model_name_or_path", "TechxGenus/Meta-Llama-3-8B-Instruct-AWQ"}}) ==
        BaseFormat::gptq_int4);
}

TEST_CASE("LLaMA-Factory's stages are objectives, or are told") {
  const auto objective = [](const char* stage) {
    return job_of_training(llama_factory({{"stage", stage}})).plan.objective;
  };
  CHECK(objective("dpo") == Objective::dpo);
  CHECK(objective("rm") == Objective::reward);
  CHECK_FALSE(objective("sft"));
  CHECK_FALSE(objective("pt"));
  CHECK(objective("kto") == Objective::kto);
  CHECK(lists_part(job_of_training(llama_factory({{"stage", "ppo"}})).report.left_out,
                   "--stage ppo"));
  const auto loss = [](const char* word) {
    return job_of_training(llama_factory({{"stage", "dpo"}, {"pref_loss", word}})).plan.objective;
  };
  CHECK(loss("simpo") == Objective::simpo);
  CHECK(loss("orpo") == Objective::orpo);
  CHECK(loss("sigmoid") == Objective::dpo);
  CHECK(loss("ipo") == Objective::dpo);
}

TEST_CASE("LLaMA-Factory's full and frozen training") {
  const PlanRequest full =
      job_of_training(
          llama_factory({{"finetuning_type", "full"}, {"lora_rank", "-"}, {"lora_target", "-"}}))
          .plan;
  CHECK(full.tuning == Tuning::full);
  CHECK_FALSE(full.lora_rank);
  CHECK(job_of_training(llama_factory({{"finetuning_type", "full"}})).software == "hf-peft-2026");
  const Keys freeze{{"finetuning_type", "freeze"}, {"lora_rank", "-"}, {"lora_target", "-"}};
  CHECK(job_of_training(llama_factory(freeze)).plan.learning_layers == 2);
  const ImportedJob eight = job_of_training(
      llama_factory(with_keys(freeze, {{"freeze_trainable_layers", "8"},
                                       {"freeze_trainable_modules", "all"},
                                       {"freeze_extra_modules", "embed_tokens,lm_head"}})));
  CHECK(eight.plan.tuning == Tuning::full);
  CHECK(eight.plan.learning_layers == 8);
  CHECK(eight.plan.train_embeddings == true);
  CHECK(lists_part(
      job_of_training(llama_factory(with_keys(freeze, {{"freeze_trainable_layers", "-2"}})))
          .report.left_out,
      "--freeze-trainable-layers -2"));
}

TEST_CASE("LLaMA-Factory's packing, kernels, optimizers and DeepSpeed") {
  const auto plan = [](const Keys& keys) { return job_of_training(llama_factory(keys)).plan; };
  CHECK(plan({{"packing", "true"}}).packing == Packing::packed_causal);
  CHECK(plan({{"packing", "true"}, {"neat_packing", "true"}}).packing == Packing::packed);
  CHECK_FALSE(plan({{"packing", "false"}}).packing);
  CHECK(plan({{"enable_liger_kernel", "true"}}).loss == LossForm::fused);
  CHECK(plan({{"optim", "adamw_8bit"}}).optimizer == Optimizer::adam_8bit);
  CHECK(plan({{"optim", "paged_adamw_8bit"}}).optimizer == Optimizer::adam_paged);
  CHECK(plan({{"additional_target", "embed_tokens,lm_head"}}).train_embeddings == true);
  CHECK(plan({{"flash_attn", "fa2"}}).attention == AttentionKind::flash);
  CHECK(plan({{"deepspeed", "examples/deepspeed/ds_z3_config.json"}}).zero == 3);
  CHECK(plan({{"deepspeed", "examples/deepspeed/ds_z2_config.json"}}).zero == 2);
  CHECK(job_of_training(llama_factory({{"use_unsloth", "true"}})).software == "unsloth-2026");
  CHECK(plan({{"disable_gradient_checkpointing", "true"}}).recompute != Recompute::full);
}

TEST_CASE("what LLaMA-Factory can and nobody prices is refused by name") {
  const auto refusal = [](const Keys& keys) {
    return error_text([&] { (void)job_of_training(llama_factory(keys)); });
  };
  CHECK(refusal({{"use_galore", "true"}, {"galore_layerwise", "true"}}).find("GaLore") !=
        std::string::npos);
  CHECK(refusal({{"use_badam", "true"}, {"badam_mode", "layer"}}).find("BAdam") !=
        std::string::npos);
  CHECK(refusal({{"finetuning_type", "oft"}}).find("other than LoRA and DoRA") !=
        std::string::npos);
  CHECK(refusal({{"use_galore", "false"}}) == "no error");
}

TEST_CASE("axolotl's LoRA in 8 bits, QLoRA and full training") {
  const PlanRequest lora =
      job_of_training(axolotl(with_keys(kLora, {{"load_in_8bit", "true"}}))).plan;
  CHECK(lora.tuning == Tuning::lora);
  CHECK(lora.lora_rank == 32);
  CHECK(lora.lora_targets == WordSet<AdapterTarget>{AdapterTarget::all});
  CHECK(lora.lora_dropout == 0.05);
  CHECK(lora.base_precision == BaseFormat::int8);
  CHECK(lora.optimizer == Optimizer::adam_8bit);
  CHECK(lora.packing == Packing::packed);
  CHECK(lora.mbs == 1);
  CHECK(lora.seq_len == 8192);
  const PlanRequest qlora =
      job_of_training(axolotl(with_keys(kLora, {{"adapter", "qlora"}, {"load_in_4bit", "true"}})))
          .plan;
  CHECK(qlora.tuning == Tuning::lora);
  CHECK(qlora.base_precision == BaseFormat::nf4_double);
  const ImportedJob full = job_of_training(axolotl({{"optimizer", "paged_adamw_8bit"}}));
  CHECK(full.plan.tuning.value_or(Tuning::full) == Tuning::full);
  CHECK(full.plan.optimizer == Optimizer::adam_paged);
  CHECK(full.plan.attention == AttentionKind::flash);
  CHECK(full.software == "hf-peft-2026");
}

TEST_CASE("axolotl's QLoRA of 70B over FSDP") {
  const PlanRequest plan =
      job_of_training(axolotl(with_keys(kLora, {{"base_model", "casperhansen/llama-3-70b-fp16"},
                                                {"adapter", "qlora"},
                                                {"load_in_4bit", "true"},
                                                {"sample_packing", "false"},
                                                {"fsdp", "[full_shard, auto_wrap]"},
                                                {"fsdp_config",
                                                 "{fsdp_offload_params: true, "
                                                 "fsdp_sharding_strategy: FULL_SHARD}"}})))
          .plan;
  CHECK(plan.zero == 3);
  CHECK(plan.offload == Offload::optimizer_params);
  CHECK(plan.base_precision == BaseFormat::nf4_double);
  CHECK_FALSE(plan.packing);
}

TEST_CASE("axolotl's targets, saved modules and layers") {
  const PlanRequest some =
      job_of_training(
          axolotl(with_keys(kLora, {{"lora_target_linear", "-"},
                                    {"lora_target_modules", "[q_proj, v_proj]"},
                                    {"lora_modules_to_save", "[embed_tokens, lm_head]"}})))
          .plan;
  CHECK(some.lora_targets == WordSet<AdapterTarget>{AdapterTarget::q, AdapterTarget::v});
  CHECK(some.train_embeddings == true);
  const ImportedJob last = job_of_training(
      axolotl(with_keys(kLora, {{"peft_layers_to_transform", "[28, 29, 30, 31]"}})));
  CHECK(last.plan.learning_layers == 4);
  CHECK(lists_part(last.report.assumed, "layers 28 to 31"));
  CHECK(lists_part(
      job_of_training(axolotl(with_keys(kLora, {{"peft_layers_to_transform", "[0, 31]"}})))
          .report.left_out,
      "others cannot"));
  CHECK(job_of_training(axolotl(with_keys(kLora, {{"peft_use_dora", "true"}}))).plan.tuning ==
        Tuning::dora);
}

TEST_CASE("axolotl's preferences, rewards, kernels and DeepSpeed") {
  const auto job = [](const Keys& keys) {
    return job_of_training(axolotl(with_keys(kLora, keys)));
  };
  CHECK(job({{"rl", "dpo"}}).plan.objective == Objective::dpo);
  CHECK(job({{"rl", "ipo"}}).plan.objective == Objective::dpo);
  CHECK(job({{"reward_model", "true"}}).plan.objective == Objective::reward);
  CHECK(job({{"rl", "kto"}}).plan.objective == Objective::kto);
  CHECK(job({{"rl", "orpo"}}).plan.objective == Objective::orpo);
  CHECK(job({{"rl", "dpo"}, {"precompute_ref_log_probs", "true"}}).plan.objective ==
        Objective::dpo_precomputed);
  CHECK(lists_part(job({{"lora_mlp_kernel", "true"}}).report.left_out, "fused adapters"));
  CHECK(job({{"liger_fused_linear_cross_entropy", "true"}}).plan.loss == LossForm::fused);
  CHECK(job({{"deepspeed", "deepspeed_configs/zero2.json"}}).plan.zero == 2);
  CHECK(job({{"base_model", "mistralai/Mistral-7B-v0.1"}}).model.kv_heads == 8);
}

TEST_CASE("what axolotl can and nobody prices is refused by name") {
  const auto refusal = [](const Keys& keys) {
    return error_text([&] { (void)job_of_training(axolotl(keys)); });
  };
  CHECK(refusal({{"lisa_n_layers", "4"}}).find("LISA") != std::string::npos);
  CHECK(refusal(with_keys(kLora, {{"relora_steps", "150"}})).find("ReLoRA") != std::string::npos);
  CHECK(refusal({{"unfrozen_parameters", "[\"^lm_head.weight$\"]"}})
            .find("learning of matrices by their names") != std::string::npos);
}

TEST_CASE("what learns in full is in fp32 where the trainer or who shards it casts it") {
  const auto master = [](const std::string& text) {
    return job_of_training(text).plan.master_weights;
  };
  const Keys full{{"finetuning_type", "full"}, {"lora_rank", "-"}, {"lora_target", "-"}};
  CHECK(master(llama_factory(full)) == MasterWeights::fp32);
  CHECK(master(llama_factory(with_keys(full, {{"bf16", "-"}, {"pure_bf16", "true"}}))) ==
        MasterWeights::none);
  CHECK_FALSE(master(llama_factory({})));
  CHECK_FALSE(master(axolotl({})));
  CHECK(master(axolotl({{"deepspeed", "deepspeed_configs/zero3_bf16.json"}})) ==
        MasterWeights::fp32);
  CHECK(master(axolotl({{"fsdp", "[full_shard, auto_wrap]"}})) == MasterWeights::fp32);
}

TEST_CASE("torchtune's names say adapters, their base and the objective") {
  const std::string rest =
      "lora_attn_modules: ['q_proj', 'v_proj']\n  lora_rank: 8\nbatch_size: 2\n"
      "tokenizer:\n  max_seq_len: 2048\ndataset:\n"
      "  _component_: torchtune.datasets.alpaca_cleaned_dataset\n  packed: True\n";
  const ImportedJob qlora =
      job_of_training("model:\n  _component_: torchtune.models.llama3.qlora_llama3_8b\n  " + rest +
                      "optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW\n");
  CHECK(qlora.plan.tuning == Tuning::lora);
  CHECK(qlora.plan.base_precision == BaseFormat::nf4_double);
  CHECK(qlora.plan.packing == Packing::packed);
  CHECK(qlora.plan.optimizer == Optimizer::adam);
  CHECK_FALSE(lists_part(qlora.report.ignored, "packed"));
  const ImportedJob lora =
      job_of_training("model:\n  _component_: torchtune.models.llama3.lora_llama3_8b\n  " + rest);
  CHECK_FALSE(lora.plan.base_precision);
  const ImportedJob dpo = job_of_script(
      "tune run lora_dpo_single_device --config llama3_1/8B_lora_dpo_single_device batch_size=4");
  CHECK(dpo.plan.tuning == Tuning::lora);
  CHECK(dpo.plan.objective == Objective::dpo);
  CHECK(refusal_of_script("tune run knowledge_distillation_single_device --config "
                          "qwen2/1.5_to_0.5B_knowledge_distillation_single_device")
            .find("does not price yet") != std::string::npos);
}

TEST_CASE("unsloth's and TRL's own commands") {
  const ImportedJob unsloth = job_of_script(
      "python unsloth-cli.py --model_name unsloth/llama-3-8b --max_seq_length 8192 --dtype None "
      "--load_in_4bit --r 64 --per_device_train_batch_size 4 --optim adamw_8bit");
  CHECK(unsloth.software == "unsloth-2026");
  CHECK(unsloth.plan.lora_rank == 64);
  CHECK(unsloth.plan.lora_targets == WordSet<AdapterTarget>{AdapterTarget::all});
  CHECK(unsloth.plan.base_precision == BaseFormat::nf4);
  CHECK(unsloth.report.left_out.size() == 1);  // the global batch
  const ImportedJob dpo = job_of_script(
      "trl dpo --model_name_or_path Qwen/Qwen2-0.5B-Instruct --per_device_train_batch_size 2 "
      "--max_length 1024 --precompute_ref_log_probs");
  CHECK(dpo.software == "hf-peft-2026");
  CHECK(dpo.plan.objective == Objective::dpo_precomputed);
}

TEST_CASE("MLPerf's files of variables") {
  const std::string b200 =
      "source $(dirname ${BASH_SOURCE[0]})/config_common.sh\n"
      "export MAX_STEPS=800\nexport MINIBS=1\nexport TP=1\nexport PP=1\nexport CP=1\nexport SP=0\n"
      "export LORA_A2A=1\nexport FP8_ACT=1\nexport FP8_DPA=1\n"
      "export DGXNODES=1\nexport DGXNGPU=8\nexport WALLTIME_RUNANDTIME=45\n";
  const ImportedJob job = job_of_files({{"config_DGXB200_1x8x1xtp1pp1cp1.sh", b200}});
  CHECK(job.model.layers == 80);
  CHECK(job.plan.gbs == 8);
  CHECK(job.plan.mbs == 1);
  CHECK(job.plan.nodes == 1);
  CHECK(job.plan.seq_len == 8192);
  CHECK(job.plan.tuning == Tuning::lora);
  CHECK(job.plan.lora_targets == WordSet<AdapterTarget>{AdapterTarget::qkv, AdapterTarget::o});
  CHECK(job.plan.precision == Precision::fp8);
  CHECK(job.plan.base_precision == BaseFormat::fp8);
  CHECK(job.plan.fp8_activation_store == true);
  CHECK(job.plan.fp8_attention == true);
  const ImportedJob h100 =
      job_of_files({{"config_DGXH100_8x8x1xtp4pp1cp2.sh",
                     "export MINIBS=1\nexport TP=4\nexport SP=1\nexport CP=2\nexport LORA_A2A=1\n"
                     "export FP8_DPA=0\nexport DGXNODES=8\nexport DGXNGPU=8\n"}});
  CHECK(h100.plan.gbs == 8);
  CHECK(h100.plan.tp == 4);
  CHECK(h100.plan.cp == 2);
  CHECK(h100.plan.sequence_parallel == true);
  CHECK_FALSE(h100.plan.fp8_attention);
}

TEST_CASE("MLPerf's variables beyond any machine are refused by name") {
  const std::string text =
      "export DGXNODES=9000000000000000000\nexport DGXNGPU=8\nexport MINIBS=1\n";
  CHECK(error_text([&] {
          (void)job_of_files({{"config.sh", text}});
        }) == "DGXNODES: expected at most 1048576, got 9000000000000000000");
}

}  // namespace
}  // namespace prequel
