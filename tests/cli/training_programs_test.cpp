#include "cli/import/training_programs.hpp"

#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

std::string script_of(const std::string& program) {
  return "torchrun --nproc_per_node 8 --nnodes 4 " + program +
         " --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
         "--vocab-size 50257 --micro-batch-size 1\n";
}

TEST_CASE("programs that train no decoder are refused by name") {
  const std::pair<const char*, const char*> refused[] = {
      {"pretrain_t5.py", "an encoder and a decoder (T5)"},
      {"Megatron-LM/pretrain_bert.py", "an encoder (BERT)"},
      {"pretrain_ict.py", "encoders for retrieval (ICT)"},
      {"tools/retro/pretrain_retro.py", "a decoder with retrieval (Retro)"},
      {"train_esm2", "an encoder (ESM)"},
      {"pretrain_vlm.py", "a vision-language model"},
      {"examples/multimodal/train.py", "a vision-language model"}};
  for (const auto& [program, what] : refused) {
    CHECK(refusal_of_script(script_of(program)) ==
          std::string("s.sh: ") + program + ": trains " + what + "; prequel models decoders only");
  }
  CHECK(job_of_script(script_of("pretrain_gpt.py") + "python pretrain_bert.py\n").model.layers ==
        24);
}

TEST_CASE("programs that train nothing are told") {
  CHECK(lists(job_of_script(script_of("tools/run_text_generation_server.py")).report.left_out,
              "tools/run_text_generation_server.py: generates text; prequel predicts training the "
              "same model"));
  CHECK(lists(job_of_script(script_of("gpt_static_inference.py")).report.left_out,
              "gpt_static_inference.py: generates text; prequel predicts training the same model"));
  CHECK(lists(job_of_script(script_of("hf2mcore_qwen.py")).report.left_out,
              "hf2mcore_qwen.py: converts a checkpoint; prequel predicts training the same model"));
  CHECK(job_of_script(script_of("--module openrlhf.cli.train_rm")).plan.objective ==
        Objective::reward);
  for (const std::string& line :
       job_of_script(script_of("--module openrlhf.cli.train_sft")).report.left_out) {
    CHECK(line.find("openrlhf") == std::string::npos);
  }
}

TEST_CASE("flags of 2021's recomputation, gated units, one head of keys and zero bubbles") {
  const auto with = [](const std::string& flags) {
    return job_of_script(script_of("pretrain_gpt.py " + flags));
  };
  CHECK(with("--activations-checkpoint-method uniform").plan.recompute == Recompute::full);
  CHECK(with("--activations-checkpoint-method uniform --activations-checkpoint-num-layers 2")
            .plan.recompute_layers == 2);
  CHECK(with("--activations-checkpoint-method block").plan.recompute == Recompute::full);
  CHECK(with("--glu-activation swiglu").model.mlp == Mlp::swiglu);
  CHECK_FALSE(with("--glu-activation geglu").model.ffn_hidden);  // 4h, as without a gate
  CHECK(with("--geglu --ffn-hidden-size 8192").model.mlp == Mlp::geglu);
  CHECK(with("--swiglu").model.ffn_hidden == 5440);
  CHECK(with("--swiglu --intermediate-size 11008").model.ffn_hidden == 11008);
  CHECK(with("--attention-head-type multiquery").model.kv_heads == 1);
  CHECK(with("--use-flash-attn-triton").plan.attention == AttentionKind::flash);
  CHECK(with("--use-llama2-rotary-position-embeddings").model.position == PositionEmbedding::rope);
  CHECK(with("--position-embedding-type rotary").model.position == PositionEmbedding::rope);
  CHECK(with("--enable-zero-bubble --pipeline-model-parallel-size 4").plan.schedule ==
        Schedule::zb_h1);
  for (const char* flags : {"--zero-bubble-v-schedule --enable-zero-bubble",
                            "--enable-zero-bubble --zero-bubble-v-schedule"}) {
    const ImportedJob job = with(flags);
    CHECK(job.plan.schedule == Schedule::zb_v);
    CHECK(job.plan.vpp == 2);
  }
  for (const char* flags :
       {"--zero-bubble-v-schedule --enable-zero-bubble --zero-bubble-v-schedule-mem-setup min",
        "--zero-bubble-v-schedule-mem-setup min --enable-zero-bubble --zero-bubble-v-schedule"}) {
    const ImportedJob job = with(flags);
    CHECK(job.plan.schedule == Schedule::v_min);
    CHECK(job.plan.vpp == 2);
  }
  CHECK(with("--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half").plan.schedule ==
        Schedule::v_half);
  CHECK(with("--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup zb").plan.schedule ==
        Schedule::zb_v);
  CHECK(refusal_of_script(script_of("pretrain_gpt.py --hybrid-attention-ratio 0.08"))
            .starts_with("s.sh: --hybrid-attention-ratio 0.08: asks for a hybrid whose pattern no "
                         "flag gives"));
}

TEST_CASE("learning by reinforcement is named where no shape is said") {
  const std::string why =
      "learns by reinforcement, which takes several models and generates text; prequel predicts "
      "one model, whose shape no file gives";
  for (const char* program :
       {"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo "
        "data.train_batch_size=1024 actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct",
        "accelerate launch trl/scripts/grpo.py --model_name_or_path my/own",
        "python3 -m openrlhf.cli.train_ppo_ray --pretrain my/own --actor_num_gpus_per_node 8"}) {
    CAPTURE(program);
    CHECK(refusal_of_script(program).find(why) != std::string::npos);
  }
}

TEST_CASE("of several trainings by one program the last is predicted, and told") {
  const std::string start =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --seq-length 2048 --vocab-size 50257 "
      "--micro-batch-size 1 --num-attention-heads 16 ";
  const std::string small = start + "--num-layers 12 --hidden-size 1024 --sequence-parallel\n";
  const ImportedJob job =
      job_of_script(small + start + "--num-layers 24 --hidden-size 2048 --bf16\n");
  CHECK(job.model.layers == 24);
  CHECK(job.model.hidden == 2048);
  CHECK(job.plan.sequence_parallel == false);  // which is the first one's alone
  CHECK(lists(job.report.assumed,
              "the last of several commands that start pretrain_gpt.py (--num-layers 24, not 12; "
              "--hidden-size 2048, not 1024)"));
  const ImportedJob same = job_of_script(small + small);
  CHECK_FALSE(lists_part(same.report.assumed, "the last of several"));
  const ImportedJob other = job_of_script(
      "torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py\npython pretrain_gpt.py "
      "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048\n");
  CHECK(other.plan.nodes == 8);  // what one command leaves open the other says
}

TEST_CASE("of several configurations that one trainer is given the last is predicted") {
  const auto config = [](const std::string& length) {
    return "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\nfinetuning_type: full\n"
           "per_device_train_batch_size: 1\ncutoff_len: " +
           length + "\n";
  };
  const ImportedJob job =
      job_of_files({{"s.sh",
                     "llamafactory-cli train a.yaml\nllamafactory-cli train b.yaml\n"
                     "llamafactory-cli export c.yaml\n"},
                    {"b.yaml", config("4096")}});
  CHECK(job.plan.seq_len == 4096);
  CHECK(
      lists(job.report.assumed, "the last of several commands that start llamafactory-cli train"));
}

TEST_CASE("of a pipeline of stages the one that trains one model is predicted") {
  const ImportedJob job = job_of_script(
      "accelerate launch --num_processes 8 scripts/run_sft.py --model_name_or_path "
      "mistralai/Mistral-7B-v0.1 --per_device_train_batch_size 16 --max_seq_length 2048 --bf16\n"
      "accelerate launch --num_processes 8 scripts/run_dpo.py --model_name_or_path out "
      "--per_device_train_batch_size 8 --max_length 1024\n");
  CHECK(job.plan.mbs == 16);
  CHECK(job.plan.seq_len == 2048);
  CHECK(lists_part(job.report.assumed, "run_sft.py alone, without run_dpo.py, which prefers"));
}

TEST_CASE("a flag at the end of a command takes nothing of the next one") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 2048 --flash-attn\npython tidy.py\n");
  CHECK(job.plan.attention == AttentionKind::flash);
}

}  // namespace
}  // namespace prequel
