#include "cli/import/settings/by_name.hpp"

#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

TEST_CASE("numbers that no known flag says are taken by their names") {
  const std::string start = "torchrun --nproc_per_node 8 train.py --model_name_or_path gpt2-xl ";
  const ImportedJob job = job_of_script(
      start + "--my_micro_batch 4 --my_grad_accum_steps 2 --train_seq_len 512 --my_tp_size 2\n");
  CHECK(job.plan.mbs == 4);
  CHECK(job.plan.seq_len == 512);
  CHECK(job.plan.tp == 2);
  CHECK(job.plan.gbs == 32);
  CHECK(lists(job.report.assumed, "mbs 4: --my-micro-batch, by its name"));
  const ImportedJob known =
      job_of_script(start + "--my_micro_batch 4 --per_device_train_batch_size 1\n");
  CHECK(known.plan.mbs == 1);
  CHECK(lists(known.report.ignored, "--my-micro-batch 4"));
  for (const char* other :
       {"--eval_micro_batch 4", "--num_micro_batches 4", "--total_batch_tokens 524288",
        "--total_batch_size 524288", "--teacher_tp_size 4", "--my_micro_batch $N"}) {
    CAPTURE(other);
    const ImportedJob none = job_of_script(start + other + "\n");
    CHECK_FALSE(none.plan.mbs);
    CHECK_FALSE(none.plan.gbs);
    CHECK_FALSE(none.plan.tp);
  }
}

TEST_CASE("a known model's name behind any flag of models is taken where nothing names another") {
  const ImportedJob job = job_of_script(
      "accelerate launch --num_processes 8 train.py --my_model_ckpt gpt2-xl --seq_length 1024\n");
  CHECK(job.model.layers == 48);
  CHECK(lists(job.report.assumed, "the model gpt2-xl: named in --my-model-ckpt gpt2-xl"));
  CHECK(job_of_script("srun python tuning/megatron_gpt_finetuning.py trainer.devices=8 "
                      "model.restore_from_path=/models/llama-2-7b.nemo model.micro_batch_size=1\n")
            .model.layers == 32);
  CHECK(job_of_script("accelerate launch train.py --model_name_or_path Qwen/Qwen2-7B "
                      "--reward_model_ckpt gpt2-xl\n")
            .model.layers == 28);
}

TEST_CASE("a shape is taken by the names of its numbers where no known flag says it") {
  const ImportedJob job = job_of_script(
      "srun metaseq-train --arch transformer_lm --decoder-layers 24 --decoder-embed-dim 2048 "
      "--decoder-ffn-embed-dim 8192 --decoder-attention-heads 32 --encoder-layers 6 "
      "--tokens-per-sample 2048 --batch-size 8 --ddp-backend fully_sharded "
      "--no-reshard-after-forward\n");
  CHECK(job.model.layers == 24);
  CHECK(job.model.hidden == 2048);
  CHECK(job.model.ffn_hidden == 8192);
  CHECK(job.model.heads == 32);
  CHECK(job.plan.seq_len == 2048);
  CHECK(job.plan.mbs == 8);
  CHECK(job.plan.zero == 2);
  CHECK(lists(job.report.assumed, "layers 24: --decoder-layers, by its name"));
}

TEST_CASE("switches and formats are taken by their names") {
  const std::string start = "torchrun --nproc_per_node 8 train.py --model_name_or_path gpt2-xl ";
  const ImportedJob job =
      job_of_script(start + "--enable_grad_ckpt --compute_dtype float16 --fsdp_cpu_offload\n");
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.precision == Precision::fp16);
  CHECK(job.plan.offload == Offload::optimizer_params);
  CHECK(lists(job.report.assumed, "recompute full: --enable-grad-ckpt, by its name"));
  const auto zero = [&](const std::string& way) { return job_of_script(start + way).plan.zero; };
  CHECK(zero("--strategy deepspeed_stage_2\n") == 2);
  CHECK(zero("--dist_plan CAI_ZeRO1\n") == 1);
  CHECK(zero("--strategy fsdp\n") == 3);
  CHECK(zero("--eval_strategy steps\n") == 0);
  const ImportedJob relu = job_of_script(
      "torchrun t.py --n_layers 4 --d_model 64 --n_heads 4 --activation-fn relu --seq_len 64\n");
  CHECK(relu.model.mlp == Mlp::relu);
  CHECK(lists(relu.report.assumed, "the MLP: --activation-fn relu, by its name"));
  const ImportedJob none = job_of_script(
      start + "--enable_grad_ckpt False --export_dtype float32 --act_cpu_offload --save_ckpt\n");
  CHECK(none.plan.recompute == Recompute::none);
  CHECK(none.plan.precision == Precision::bf16);
  CHECK_FALSE(none.plan.offload);
}

TEST_CASE("of two batches the larger is of all devices, and one in tokens is in sequences") {
  const std::string start =
      "torchrun --nproc_per_node 2 --nnodes 1 t.py --model_name_or_path gpt2 ";
  const ImportedJob two = job_of_script(start + "--batch_size 128 --micro_batch_size 4\n");
  CHECK(two.plan.mbs == 4);
  CHECK(two.plan.gbs == 128);
  CHECK(lists(two.report.assumed, "gbs 128: --batch-size, beside a micro batch"));
  const ImportedJob one = job_of_script(start + "--batch_size 8\n");
  CHECK(one.plan.mbs == 8);
  CHECK(lists(one.report.assumed, "mbs 8: --batch-size, as of each device"));
  CHECK(job_of_script(start + "--batch_size 64 --mesh_dim 1,2,1\n").plan.gbs == 64);
  const ImportedJob tokens =
      job_of_script(start + "--total_batch_tokens 524288 --sequence_length 1024 --batch_size 64\n");
  CHECK(tokens.plan.gbs == 512);
  CHECK(tokens.plan.mbs == 64);
}

TEST_CASE("brief words for batches, steps and degrees are numbers by their names") {
  const ImportedJob job = job_of_script(
      "torchrun --nnodes 4 --nproc-per-node 8 train.py --model-path /ckpts/Meta-Llama-3-8B "
      "--max-context-len 8192 --sp-degree 8 --zero 3 --bs-per-gpu 1 --grad-accum 4\n");
  CHECK(job.model.layers == 32);
  CHECK(job.plan.cp == 8);
  CHECK(job.plan.cp_comm == ContextComm::a2a);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.mbs == 1);
  CHECK(job.plan.gbs == 16);
  CHECK(job.plan.seq_len == 8192);
  const ImportedJob other = job_of_script(
      "torchrun --nproc-per-node 8 train.py --model-path /ckpts/Meta-Llama-3-8B "
      "--predict_batch_size 2 --map_batch_size 1000 --n_layer_norm 3 --lora_dim 128\n");
  CHECK_FALSE(other.plan.mbs);
  CHECK(other.model.layers == 32);
  CHECK(other.plan.tuning == Tuning::lora);
  CHECK(other.plan.lora_rank == 128);
}

TEST_CASE("a format that is switched off leaves products in fp32") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc_per_node 8 train.py --model_path gpt2-xl --seq_length 1024 --batch_size 2 "
      "--no_fp16");
  CHECK(job.plan.precision == Precision::fp32);
}

TEST_CASE("all devices may be a world's size, where no launcher's flag says them") {
  const std::string flags =
      " train.py --model_path gpt2-xl --seq_length 1024 --train_bsz_per_gpu 2 --world_size 8";
  const ImportedJob job = job_of_script("python spawn.py" + flags);
  CHECK(job.value("devices") == 8);
  CHECK(job.plan.mbs == 2);
  const ImportedJob other = job_of_script("torchrun --nproc_per_node 4" + flags);
  CHECK(other.value("devices") == 4);
  CHECK(lists(other.report.ignored, "--world-size 8"));
}

TEST_CASE("a batch of a device that is too large for sequences counts tokens") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc-per-node=8 OLMo2-7B.py train --train_module.rank_microbatch_size=8192");
  CHECK(job.plan.mbs.value_or(1) == 1);
}

}  // namespace
}  // namespace prequel
