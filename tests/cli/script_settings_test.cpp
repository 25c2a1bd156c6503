#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

TEST_CASE("lines of a here-document that go on are one command") {
  const ImportedJob job = job_of_script(
      "read -r -d '' command <<EOF\npretrain_gpt.py --use-flash-attn \\\n --num-layers 24 \\\n"
      " --hidden-size 2048 --num-attention-heads 16 \\\n --flash-attn \\\n --bf16\nEOF\n"
      "torchrun $command\n");
  CHECK(job.model.layers == 24);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK_FALSE(lists_part(job.report.left_out, "--flash-attn"));
}

TEST_CASE("a known beginning is cut off a command of any length") {
  const std::string flags(600, 'x');
  const ImportedJob job = job_of_script("CMD=\"python3 pretrain_gpt.py --save " + flags +
                                        " --num-layers 24 --hidden-size 2048 "
                                        "--num-attention-heads 16\"\ntorchrun ${CMD#python3 }\n");
  CHECK(job.model.layers == 24);
}

TEST_CASE("Fugaku's processes of a node are no nodes") {
  const ImportedJob job = job_of_script(
      "#PJM -L \"node=8x9x8\"\n#PJM --mpi \"max-proc-per-node=1\"\nmpirun -np 576 " +
      kSmallLaunch.substr(kSmallLaunch.find("pretrain")) + "--tensor-model-parallel-size 6\n");
  CHECK(job.plan.nodes == 576);
  CHECK(job.plan.dp == 96);
}

TEST_CASE("what a comment would set by default is not assumed") {
  const ImportedJob job = job_of_script("#export LEVEL=${LEVEL:-2}\n" + kSmallLaunch);
  CHECK_FALSE(lists_part(job.report.assumed, "LEVEL"));
  CHECK(job_of_script("#SBATCH --nodes=${NODES:-3}\nsrun x.py --num-layers 2 --hidden-size 64\n")
            .plan.nodes == 3);
}

TEST_CASE("a switch that nothing sets is off, and what else is added unseen is named") {
  const std::string begin = "ARGS=(--tensor-model-parallel-size 2)\n";
  const std::string end = "fi\n" + kSmallLaunch + "${ARGS[@]}\n";
  const ImportedJob job = job_of_script(
      begin + "if [ \"$SEQ_PAR\" != false ]; then ARGS+=(--sequence-parallel)\n" + end);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(
      lists(job.report.assumed, "SEQ_PAR is not false: nothing sets it; --env SEQ_PAR=VALUE does"));
  const ImportedJob open =
      job_of_script(begin + "if [ -f $X ]; then ARGS+=(--sequence-parallel)\n" + end);
  CHECK(open.plan.sequence_parallel == false);
  CHECK(lists(open.report.assumed,
              "ARGS without --sequence-parallel: a condition that prequel cannot test adds it"));
}

TEST_CASE("a script that asks whether it has an argument is run without") {
  const std::string script =
      "if [[ -z $1 ]]; then SEQ=512; else SEQ=`basename $1`; fi\n"
      "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 "
      "--num-attention-heads 2 --seq-length $SEQ\n";
  const ImportedJob job = job_of_script(script);
  CHECK(job.plan.seq_len == 512);
  CHECK(lists_part(job.report.assumed, "$1 is not given"));
}

TEST_CASE("a count of the devices that are there is that of a node") {
  const ImportedJob job = job_of_script(
      "N=$(nvidia-smi -L | wc -l)\ntorchrun --nproc-per-node ${N} train.py --model_name_or_path "
      "gpt2-xl --per_device_train_batch_size 2 --max_seq_length 1024",
      {"dgx-a100", {}, {}, {}, {}, {}});
  CHECK(job.plan.nodes == 1);
  CHECK(job.plan.dp == 8);
  CHECK(lists_part(job.report.assumed, "--nproc-per-node $(nvidia-smi...): all devices of a node"));
}

TEST_CASE("a comment that shows lines of a log makes no log of a script") {
  const ImportedJob job = job_of_script(
      "# {'train_runtime': 5268.8, 'train_samples_per_second': 0.949, 'train_steps_per_second': "
      "0.119, 'train_loss': 0.117, 'epoch': 5.0}\n" +
      kSmallLaunch);
  CHECK(job.model.layers == 24);
  CHECK(job.plan.nodes == 4);
}

TEST_CASE("which layers have experts is told where that was lost") {
  const ImportedJob job =
      job_of_script(kSmallLaunch + "--num-experts 8 --moe-router-topk 2 --moe-layer-freq --bf16");
  CHECK(lists(job.report.left_out,
              "--moe-layer-freq: has no value here; predicted with experts in all layers"));
}

TEST_CASE("MindSpeed-LLM's windows, soft-caps and norms behind a block") {
  const ImportedModel model =
      job_of_script(kSmallLaunch +
                    "--interleave-sliding-window 4096 --attn-logit-softcapping 50.0 "
                    "--output-logit-softcapping 30.0 --post-norm")
          .model;
  CHECK(model.window == 4096);
  CHECK(model.full_every == 2);
  CHECK(model.score_cap == 50.0);
  CHECK(model.logit_cap == 30.0);
  CHECK(model.post_norms == true);
}

TEST_CASE("chosen keys have a kernel where Megatron is told one, whatever attends elsewhere") {
  const std::string latent =
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 2048 "
      "--num-attention-heads 16 --multi-latent-attention --q-lora-rank 512 --kv-lora-rank 512 "
      "--qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --ffn-hidden-size 4096 "
      "--vocab-size 129280 --swiglu --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 ";
  const std::string chosen = latent +
                             "--experimental-attention-variant dsa --dsa-indexer-n-heads 16 "
                             "--dsa-indexer-head-dim 128 --dsa-indexer-topk 1024 ";
  const auto attention = [](const std::string& script) {
    return job_of_script(script + "\n").plan.attention;
  };
  CHECK(attention(latent + "--attention-backend flash") == AttentionKind::flash);
  for (const char* flags : {"", "--attention-backend flash", "--use-flash-attn",
                            "--attention-backend fused --dsa-kernel-backend none"}) {
    CAPTURE(flags);
    CHECK(attention(chosen + flags) == AttentionKind::unfused);
  }
  for (const char* flags : {"--dsa-kernel-backend tilelang",
                            "--dsa-kernel-backend cudnn --attention-backend unfused"}) {
    CAPTURE(flags);
    CHECK(attention(chosen + flags) == AttentionKind::flash);
  }
}

TEST_CASE("sizes of mixers that no layer has are said to be ignored") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 "
      "--mamba-num-heads 64 --mamba-head-dim 64 --mamba-state-dim 128\n");
  CHECK(lists(job.report.ignored, "--mamba-num-heads: no layer is of its kind"));
}

TEST_CASE("a script without a flag may write its configuration") {
  const ImportedJob job = job_of_script(
      "cat <<EOF > c.yaml\nbase_model: Qwen/Qwen2.5-7B\nsequence_len: 4096\nmicro_batch_size: "
      "2\nEOF\naxolotl train c.yaml\n");
  CHECK(job.plan.seq_len == 4096);
}

}  // namespace
}  // namespace prequel
