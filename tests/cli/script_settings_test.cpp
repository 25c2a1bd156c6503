#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

const std::string kFlags =
    "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
    "--num-attention-heads 16 --seq-length 2048 --vocab-size 50257 --micro-batch-size 1 ";

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
  const ImportedJob job =
      job_of_script("#PJM -L \"node=8x9x8\"\n#PJM --mpi \"max-proc-per-node=1\"\nmpirun -np 576 " +
                    kFlags.substr(kFlags.find("pretrain")) + "--tensor-model-parallel-size 6\n");
  CHECK(job.plan.nodes == 576);
  CHECK(job.plan.dp == 96);
}

TEST_CASE("what a comment would set by default is not assumed") {
  const ImportedJob job = job_of_script("#export LEVEL=${LEVEL:-2}\n" + kFlags);
  CHECK_FALSE(lists_part(job.report.assumed, "LEVEL"));
  CHECK(job_of_script("#SBATCH --nodes=${NODES:-3}\nsrun x.py --num-layers 2 --hidden-size 64\n")
            .plan.nodes == 3);
}

TEST_CASE("a switch that nothing sets is off, and what else is added unseen is named") {
  const std::string begin = "ARGS=(--tensor-model-parallel-size 2)\n";
  const std::string end = "fi\n" + kFlags + "${ARGS[@]}\n";
  const ImportedJob job = job_of_script(
      begin + "if [ \"$SEQ_PAR\" != false ]; then ARGS+=(--sequence-parallel)\n" + end);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(
      lists(job.report.assumed, "SEQ_PAR is not false: nothing sets it; --env SEQ_PAR=VALUE does"));
  const ImportedJob open =
      job_of_script(begin + "if [ -f $X ]; then ARGS+=(--sequence-parallel)\n" + end);
  CHECK(open.plan.sequence_parallel == false);
  CHECK(lists(open.report.assumed,
              "ARGS without --sequence-parallel: added under a condition that is not known here"));
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

}  // namespace
}  // namespace prequel
