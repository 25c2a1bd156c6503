#include <doctest/doctest.h>

#include "cli/import/shell/launch_script.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

const std::string kOpenLaunch =
    "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers $LAYERS --hidden-size "
    "$HIDDEN --num-attention-heads 32 --seq-length 2048 --vocab-size 50257 --micro-batch-size "
    "${MBS} $pr_options\n";

/// In the manner of Pai-Megatron-Patch's run_mcore_*.sh: everything by position.
const std::string kPositional =
    "ENV=$1\nMODEL_SIZE=$2\nMBS=$3\nPR=$4\n"
    "if [ $MODEL_SIZE = 7B ]; then\n  LAYERS=32\n  HIDDEN=4096\n"
    "elif [ $MODEL_SIZE = 13B ]; then\n  LAYERS=40\n  HIDDEN=5120\n"
    "elif [ $MODEL_SIZE = 70B ]; then\n  LAYERS=80\n  HIDDEN=8192\nfi\n"
    "if [ $PR = fp16 ]; then\n  pr_options=\"--fp16\"\n"
    "elif [ $PR = bf16 ]; then\n  pr_options=\"--bf16\"\nfi\n" +
    kOpenLaunch;

TEST_CASE("a chain that decides the size of the model is refused with its alternatives") {
  CHECK(refusal_of_script(kPositional) ==
        "s.sh: $2 decides --num-layers (32, 40, 80): 7B, 13B or 70B; --args \"…\" gives the "
        "script's arguments, of which it is number 2");
  const std::string named =
      "case ${MODEL_SIZE} in\n 7B) LAYERS=32; HIDDEN=4096;;\n 13B) LAYERS=40; HIDDEN=5120;;\n"
      " *) echo unknown; exit 1;;\nesac\n" +
      kOpenLaunch;
  CHECK(refusal_of_script(named) ==
        "s.sh: ${MODEL_SIZE} decides --num-layers (32, 40): 7B or 13B; --env MODEL_SIZE=7B says "
        "it");
  CHECK(job_of_script(named, called_with({}, {"MODEL_SIZE=13B", "MBS=2"})).model.layers == 40);
  CHECK(refusal_of_script(named, called_with({}, {"MODEL_SIZE"})) ==
        "--env MODEL_SIZE: expected NAME=VALUE");
}

TEST_CASE("--args are the script's arguments") {
  const ImportedJob job = job_of_script(kPositional, called_with("dsw 13B 4 bf16"));
  CHECK(job.model.layers == 40);
  CHECK(job.model.hidden == 5120);
  CHECK(job.plan.mbs == 4);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job_of_script("echo $# \"$@\"\nMBS=${9:-2}\nLAYERS=${1:-24}\nHIDDEN=2048\n" + kOpenLaunch,
                      called_with(""))
            .model.layers == 24);
}

TEST_CASE("options that a loop takes from the arguments are taken") {
  const std::string script =
      "LAYERS=24\nHIDDEN=2048\nMBS=1\nZERO=1\n"
      "while [[ $# -gt 0 ]]; do\n  case $1 in\n"
      "    -m|--mbs) MBS=$2; shift 2;;\n    -z) ZERO=$2; shift; shift;;\n"
      "    *) echo unknown; exit 1;;\n  esac\ndone\n" +
      kOpenLaunch.substr(0, kOpenLaunch.size() - 1) + " --zero-stage $ZERO --deepspeed\n";
  const ImportedJob alone = job_of_script(script);
  CHECK(alone.plan.mbs == 1);
  CHECK(alone.plan.zero == 1);
  CHECK(lists(alone.report.assumed, "MBS stays 1: prequel cannot tell whether it becomes $2"));
  const ImportedJob job = job_of_script(script, called_with("-z 2 --mbs 8"));
  CHECK(job.plan.mbs == 8);
  CHECK(job.plan.zero == 2);
}

TEST_CASE("of branches that exclude each other one is read, and which is told") {
  const std::string chain =
      "if [ $DO = true ]; then\n  pr_options=\"--use-distributed-optimizer --bf16\"\n"
      "elif [ $DO = false ]; then\n  pr_options=\"--fp16\"\nfi\nLAYERS=24\nHIDDEN=2048\nMBS=1\n" +
      kOpenLaunch;
  const ImportedJob job = job_of_script(chain);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK_FALSE(job.says("--fp16"));
  CHECK(lists(job.report.assumed,
              "$DO is not known: read as for true, of true or false; --env DO=true says it"));
  CHECK(job_of_script(chain, called_with({}, {"DO=false"})).plan.zero == 0);
}

TEST_CASE("where branches leave nothing out, the last is read, one that ends the script is not") {
  const std::string sizes = "LAYERS=24\nHIDDEN=2048\n";
  const auto mbs = [&](const std::string& branches) {
    return job_of_script(sizes + branches + kOpenLaunch).plan.mbs;
  };
  CHECK(mbs("if [ -f fast ]; then MBS=4; else MBS=2; fi\n") == 2);
  CHECK(mbs("if [ -f fast ]; then MBS=4; else exit 1; fi\n") == 4);
  CHECK(mbs("if [ -f fast ]; then MBS=4; fi\n") == 4);
  CHECK(mbs("MBS=1\nif [ -f fast ]; then MBS=4; fi\n") == 1);
  CHECK(mbs("MBS=1\nif [ -f a ]; then if [ a = a ]; then MBS=4; fi; else MBS=8; fi\n") == 8);
  CHECK(mbs("if [ -f a ]; then if [ -f b ]; then MBS=4; else MBS=8; fi; else exit; fi\n") == 8);
  CHECK(mbs("MBS=2\n[ -f fast ] && MBS=4\n") == 2);
}

TEST_CASE("commands of branches that exclude each other are not added up") {
  const ImportedJob job =
      job_of_script("LAYERS=24\nHIDDEN=2048\nMBS=1\nif [ -n \"$FAST\" ]; then\n" +
                    kOpenLaunch.substr(0, 8) + " pretrain_gpt.py --fp16\nelse\n" +
                    kOpenLaunch.substr(0, kOpenLaunch.size() - 1) + " --bf16\nfi\n");
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.model.layers == 24);
}

TEST_CASE("files share one environment, in the order given") {
  const TemporaryFolder folder;
  const std::string config =
      folder.with("config.sh",
                  "MODEL_ARGS=\"--num-layers 24 --hidden-size 2048 --num-attention-heads 16\"\n"
                  "export MBS=4\n");
  const std::string train =
      folder.with("train.sh",
                  "source config.sh\ntorchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py "
                  "$MODEL_ARGS --micro-batch-size $MBS --seq-length 2048 --vocab-size 50257\n");
  const ImportedJob job = import_files({config, train}).job;
  CHECK(job.model.layers == 24);
  CHECK(job.plan.mbs == 4);
  CHECK_FALSE(lists(job.report.assumed,
                    "nothing of config.sh, which the script sources; give config.sh before it"));
}

TEST_CASE("flags in variables that no command uses are read") {
  const ImportedJob job = job_of_script(
      "MODEL_ARGS=\"--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --bf16 "
      "--seq-length 2048 --vocab-size 50257\"\n");
  CHECK(job.model.layers == 24);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(lists(job.report.assumed,
              "MODEL_ARGS: its flags are the program's, though no command names it"));
}

TEST_CASE("loops and branches that never end are read in bounds") {
  std::string script = "while [ a = a ]; do X=1; done\n";
  for (int i = 0; i < 60; ++i) script += "if [ $X" + std::to_string(i) + " = 1 ]; then\nA=$A\n";
  CHECK_NOTHROW((void)read_launch_script("deep.sh", script));
  CHECK(error_text([&] { (void)read_launch_script("deep.sh", script + script); }) ==
        "deep.sh: too many branches in branches");
}

}  // namespace
}  // namespace prequel
