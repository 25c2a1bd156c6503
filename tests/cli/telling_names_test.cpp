#include "cli/import/telling_names.hpp"

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
  CHECK(lists(job.report.assumed, "the model gpt2-xl: --my-model-ckpt, by its name"));
  CHECK(job_of_script("srun python tuning/megatron_gpt_finetuning.py trainer.devices=8 "
                      "model.restore_from_path=/models/llama-2-7b.nemo model.micro_batch_size=1\n")
            .model.layers == 32);
  CHECK(job_of_script("accelerate launch train.py --model_name_or_path Qwen/Qwen2-7B "
                      "--reward_model_ckpt gpt2-xl\n")
            .model.layers == 28);
}

}  // namespace
}  // namespace prequel
