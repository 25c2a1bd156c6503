#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

const std::string kLaunch =
    "torchrun --nproc_per_node 8 --nnodes ${N:-4} pretrain_gpt.py --num-layers $L --hidden-size "
    "2048 --num-attention-heads 16 --seq-length 2048 --vocab-size 50257 --micro-batch-size 1 ";

std::optional<std::int64_t> layers(const std::string& before, const ImportNames& names = {}) {
  return job_of_script(before + "\n" + kLaunch + "\n", names).model.layers;
}

TEST_CASE("functions run where they are called, with the arguments of the call") {
  const std::string sizes =
      "set_size() {\n  local name=$1\n  case $name in\n    7b) L=32;;\n    13b) L=40;;\n  "
      "esac\n}\n";
  CHECK(layers(sizes + "name=x\nset_size 13b") == 40);
  CHECK(layers(sizes + "set_size $2", called_with("dsw 7b")) == 32);
  CHECK(layers("name=32\nf() { local name=40; }\nf\nL=$name") == 32);
  CHECK(layers("f() { L=$(($1 * $2)); }\nL=1\nif [ a = a ]; then f 4 8; fi") == 32);
  CHECK(layers("f() { L=$1; }\nmain() { f \"$@\"; }\nmain \"$@\"", called_with("24")) == 24);
  CHECK(layers("L=24\nf() { L=32; }\necho f") == 24);
  const ImportedJob job = job_of_script("L=24\nlaunch() {\n " + kLaunch + "\n}\n\"$1\"\n");
  CHECK(job.model.layers == 24);
  CHECK(lists(job.report.assumed, "launch runs, though nothing calls it by name"));
}

TEST_CASE("what a function prints stands for its call") {
  const std::string flags =
      "flags() {\n  local n=$2\n  case $1 in\n    7b) echo \"--hidden-size 4096\" \"--num-layers "
      "$n\";;\n"
      "    *) echo \"unknown $1\" >&2; exit 1;;\n  esac\n}\n";
  const auto job_after = [](const std::string& before) {
    return job_of_script(
        before +
        "\ntorchrun --nproc_per_node 8 pretrain_gpt.py $F --num-attention-heads 32 "
        "--seq-length 2048 --vocab-size 50257 --micro-batch-size 1\n");
  };
  const ImportedJob job = job_after(flags + "N=3\nn=1\nF=$(flags 7b ${N}2)");
  CHECK(job.model.hidden == 4096);
  CHECK(job.model.layers == 32);
  CHECK(job_after(flags + "F=\"`flags 7b 24`\"").model.layers == 24);
  CHECK(job_after("f() { printf '%s\\n' \"--num-layers 8 --hidden-size 64\"; }\nF=$(f)")
            .model.layers == 8);
  CHECK(job_after("f() {\ncat <<EOF\n--num-layers 8\n--hidden-size 64\nEOF\n}\nF=$(f)")
            .model.layers == 8);
  CHECK(job_after("F=`g() { echo --num-layers 8; }; g; echo --hidden-size 64`").model.layers == 8);
  CHECK(layers("L=2\nf() { L=3; echo 4; }\nX=$(f)") == 2);
  CHECK(layers("L=2\nf() { nvidia-smi -L; echo 4; }\nL=$(f)") == 2);
}

TEST_CASE("filters of known texts are known") {
  CHECK(layers("C=gpt_32_8\nL=$(echo $C | cut -d_ -f2)") == 32);
  CHECK(layers("C=gpt_32_8\nL=$(cut -d _ -f 2 <<< \"$C\")") == 32);
  CHECK(layers("D=0,1,2,3\nN=$(echo $D | tr ',' '\\n' | wc -l)\nL=$((N * 8))") == 32);
  CHECK(layers("S=\"x 32\"\nL=`echo $S | awk '{print $2}'`") == 32);
  CHECK(layers("L=2\nL=$(echo $UNKNOWN | cut -d_ -f2)") == 2);
  CHECK(layers("L=2\nL=$(echo a | python x.py)") == 2);
}

TEST_CASE("hosts that launchers are given are counted") {
  const std::string flags =
      "deepspeed $W pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
      "--seq-length 64 --vocab-size 50257 --micro-batch-size 1\n";
  const auto devices = [&](const std::string& before) {
    const ImportedJob job = job_of_script(before + "\n" + flags);
    return std::pair(job.plan.nodes, job.value("devices_per_node"));
  };
  using Devices = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
  CHECK(devices("W=\"--include=localhost:0,1,2,3\"") == Devices(1, 4));
  CHECK(devices("W=\"--include a:0,1@b:0,1\"") == Devices(2, 2));
  CHECK(devices("cat > hosts <<EOF\na slots=8\nb slots=8\nEOF\nW=--hostfile=hosts") ==
        Devices(2, 8));
  CHECK(job_of_script("#SBATCH --ntasks=64\n#SBATCH --gpus-per-task=1\nsrun python " +
                      flags.substr(13))
            .value("devices") == 64);
  const std::string told =
      "nodes and devices: no file gives them; predicted with the fewest that the degrees need; "
      "--nodes N says it";
  const std::string batch = "python pretrain_gpt.py --global-batch-size 8 " + flags.substr(13);
  CHECK(lists(job_of_script(batch).report.left_out, told));
  ImportNames names;
  names.overrides = {{"plan.nodes", "2"}};
  CHECK_FALSE(lists(job_of_script(batch, names).report.left_out, told));
}

TEST_CASE("elements of an array may hold blanks") {
  const std::string sizes = "S=(\"7b 32 4096\" '13b 40 5120')\n";
  CHECK(layers(sizes + "read -r X L Y <<< \"${S[1]}\"") == 40);
  CHECK(layers(sizes + "I=0\nset -- ${S[$I]}\nL=$2") == 32);
  CHECK(layers(sizes + "L=$((${#S[@]} * 8))") == 16);
  const ImportedJob last = job_of_script(
      sizes + "for C in \"${S[@]}\"; do\n  read -r X L Y <<< \"$C\"\n" + kLaunch + "\ndone\n");
  CHECK(last.model.layers == 40);
  CHECK(lists(last.report.assumed,
              "C=13b 40 5120: the last value of a loop (C in 7b 32 4096, 13b 40 5120)"));
  const std::string flags =
      "F=(\"--tensor-model-parallel-size 2\" --bf16)\nF+=(\"${F[@]}\")\nL=2\n";
  CHECK(job_of_script(flags + kLaunch + "\"${F[@]}\"\n").plan.tp == 2);
  CHECK(job_of_script(flags + kLaunch + "${F[*]}\n").plan.precision == Precision::bf16);
  CHECK(job_of_script(flags + "bash -c \"" + kLaunch + "${F[*]}\"\n").plan.tp == 2);
}

TEST_CASE("commands in braces run or do not as one") {
  const std::string sizes = " && { L=48; N=2; } || { L=24; N=1; }\n";
  CHECK(layers("[[ xl == xl ]]" + sizes) == 48);
  CHECK(layers("[[ xl == l ]]" + sizes) == 24);
  CHECK(job_of_script("[ a = b ]" + sizes + kLaunch).plan.nodes == 1);
  CHECK(layers("L=2; [ a = a ] && { { L=3; }; L=4; }; N=1") == 4);
  CHECK(layers("N=1\n{ L=2; N=1; }\n[ a = b ] || { L=5; }") == 5);
  CHECK(layers("L=2\n[ $Q = b ] && { L=5; exit 1; }") == 2);
}

TEST_CASE("a quoted list is as many words as it holds") {
  const std::string rest =
      " --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8\n";
  CHECK(job_of_script("go() { torchrun \"$@\" --nproc_per_node 8 t.py" +
                      rest.substr(0, rest.size() - 1) + "; }\ngo --nnodes 4\n")
            .value("devices") == 32);
  CHECK(job_of_script("A=(--nnodes 4)\ntorchrun \"${A[@]}\" --nproc_per_node 8 t.py" + rest)
            .value("devices") == 32);
}

TEST_CASE("an outer branch outlives what a function in it calls its own") {
  CHECK(layers("L=2\nf() { local x=1; }\nif [ $Q = 1 ]; then f; Y=$(f); fi") == 2);
}

TEST_CASE("where output goes is nothing of a command") {
  const std::string flags = "L=2\n" + kLaunch;
  CHECK(job_of_script(flags + "> 3 2>&1 &").plan.mbs == 1);
  CHECK(job_of_script(flags + " &>> log --bf16").plan.precision == Precision::bf16);
  CHECK(job_of_script(flags + " --save <A PATH> --bf16").plan.precision == Precision::bf16);
}

TEST_CASE("scripts that others run or source are read there, wherever they stand") {
  const TemporaryFolder folder;
  const std::string inner = folder.with(
      "inner.sh",
      "#!/bin/bash\n#SBATCH --nodes=1\nL=$1\n. ./sizes.conf\n"
      "torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py --num-layers $L "
      "--hidden-size $H --num-attention-heads 32 --seq-length 2048 --vocab-size 50257 "
      "--micro-batch-size 1 --tensor-model-parallel-size $TP\n");
  const std::string outer = folder.with(
      "outer.sh", "for TP in 1 2; do\n sbatch -N 4 --export=ALL,TP=$TP inner.sh 24\ndone\n");
  const std::string sizes = folder.with("sizes.conf", "H=2048\n");
  const std::vector<std::vector<std::string>> orders{{outer, inner, sizes}, {sizes, inner, outer}};
  for (const auto& order : orders) {
    const ImportedJob job = import_files(order, {}).job;
    CHECK(job.model.layers == 24);
    CHECK(job.model.hidden == 2048);
    CHECK(job.plan.nodes == 4);
    CHECK(job.plan.tp == 2);
  }
}

TEST_CASE("what is submitted to PBS, Flux and TorchX is asked for on the command line") {
  const TemporaryFolder folder;
  const std::string outer =
      folder.with("sub.sh", "qsub -l select=8:ngpus=4 -v TP=4,L=40 job.pbs\n");
  const std::string inner =
      folder.with("job.pbs",
                  "#PBS -l walltime=1:00:00\npython pretrain_gpt.py --num-layers $L "
                  "--hidden-size 64 --num-attention-heads 4 --seq-length 64 "
                  "--tensor-model-parallel-size $TP\n");
  const ImportedJob job = import_files({outer, inner}, {}).job;
  CHECK(job.model.layers == 40);
  CHECK(job.plan.tp == 4);
  CHECK(job.value("devices") == 32);
  const std::string flags =
      "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
      "--seq-length 64\n";
  CHECK(job_of_script("flux run -N 8 -n 32 python " + flags).plan.nodes == 8);
  CHECK(job_of_script("torchx run -s slurm dist.ddp -j 4x8 --script " + flags).value("devices") ==
        32);
  CHECK(layers("printf -v L '%d' $((4 * 8))") == 32);
  CHECK(layers("L=2\nprintf -v L '%5.1f' 3") == 2);
}

TEST_CASE("schedulers of all kinds are asked for nodes, which their files count") {
  const auto asked = [](const std::string& lines) {
    const PlanRequest plan =
        job_of_script(lines + "\nL=2\n" + kLaunch + "--tensor-model-parallel-size $T").plan;
    return std::pair(plan.nodes, plan.tp);
  };
  using Asked = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
  CHECK(asked("#PBS -l select=16:ncpus=64:ngpus=4\nN=$(wc -l < $PBS_NODEFILE)\nT=$((N / 2))") ==
        Asked(16, 8));
  CHECK(asked("#PBS -l nodes=4:ppn=8:gpus=8\nN=$(cat $PBS_NODEFILE | sort -u | wc -l)\nT=$N") ==
        Asked(4, 4));
  CHECK(asked("#BSUB -nnodes 64\nN=`cat $LSB_DJOB_HOSTFILE | uniq | wc -l`\nT=$N") ==
        Asked(64, 64));
  CHECK(asked("#PJM -L \"node=4x8x2\"\nN=64\nT=1") == Asked(64, 1));
  CHECK(asked("#SBATCH -N 2\nN=$(scontrol show hostnames $SLURM_JOB_NODELIST | wc -l)\nT=$N") ==
        Asked(2, 2));
  const std::string sets = "L=2\nN=8\njsrun -n $((N * 6)) -a 1 -g 1 -r 6 python " + kLaunch;
  CHECK(job_of_script(sets).value("devices") == 48);
  CHECK(job_of_script(sets).value("devices_per_node") == 8);  // torchrun has the last word
}

TEST_CASE("a function that calls itself ends") {
  CHECK(layers("f() { L=32; f; f; }\nf") == 32);
}

TEST_CASE("quotes in substitutions in quotes leave the rest of the script as it is") {
  CHECK(layers("D=\"$( cd \"$( dirname \"$0\" )\" && pwd )\"\nL=32\nX=\"a b\"") == 32);
  CHECK(layers("N2=`wc -l < hosts`\nL=32") == 32);
}

TEST_CASE("two brackets that do not close together are of a group in a group") {
  CHECK(layers("N=$((cat hosts) | wc -l)\nL=24") == 24);
  CHECK(layers("((cat hosts; echo b) | wc -l)\nL=24") == 24);
  CHECK(layers("if ((cat hosts) | grep -q a); then echo; fi\nL=24") == 24);
  CHECK(layers("L=$((4 * (2 + 4)))") == 24);
}

TEST_CASE("what looks like a case but for its in is read once, however deep") {
  std::string inner = "x";
  for (int i = 0; i < 16; ++i) inner = "$(case " + inner + ")";
  std::string before;
  for (int i = 0; i < 2000; ++i) before += "a " + inner + "\n";  // twice a level: ten minutes
  CHECK(layers(before + "case $L\nL=24") == 24);
}

TEST_CASE("arithmetic of all spellings is done") {
  CHECK(layers("A=4\n((L = A * 8))") == 32);
  CHECK(layers("A=4\nlet L=A*8") == 32);
  CHECK(layers("declare -i A=4\ndeclare -i L=A*8") == 32);
  CHECK(layers("A=4\nL=`expr $A \\* 8`") == 32);
  CHECK(layers("A=4\nL=$(expr $A + 28)") == 32);
  CHECK(layers("A=4\nL=$(echo \"$A * 8\" | bc)") == 32);
  CHECK(layers("A=4\nL=$[A * 8]") == 32);
  CHECK(layers("A=4\nL=$(( (${A} > 2) ? 32 : 24 ))") == 32);
  CHECK(layers("A=4; L=1\nif (( A > 2 )); then L=32; fi") == 32);
  CHECK(layers("A=4; L=1\n(( A > 8 )) && L=32") == 1);
}

TEST_CASE("expansions change what they expand") {
  CHECK(layers("S=gpt_32_8; S=${S#gpt_}; L=${S%%_*}") == 32);
  CHECK(layers("declare -A OF=([7b]=32 [13b]=40)\nS=13b\nL=${OF[$S]}") == 40);
  CHECK(layers("declare -A OF\nOF[7b]=32\nL=${OF[7b]}") == 32);
  CHECK(layers("LS=(24 32)\nL=${LS[1]}") == 32);
  CHECK(layers("printf -v L '%s' 24") == 24);
  CHECK(layers("OF_7b=32; S=OF_7b; L=${!S}") == 32);
  CHECK(layers("LS=(a b c)\nL=$((${#LS[@]} * 8))") == 24);
  CHECK(job_of_script("L=24\nFP=1\n" + kLaunch + "${FP:+--bf16} ${NO:+--fp16}\n").plan.precision ==
        Precision::bf16);
}

TEST_CASE("arguments that getopts takes, and words that read takes") {
  const std::string script =
      "L=24\nwhile getopts \"l:n:x\" opt; do\n  case $opt in\n    l) L=$OPTARG;;\n"
      "    n) N=$OPTARG;;\n    x) X=1;;\n  esac\ndone\n";
  CHECK(layers(script, called_with("-x -l 32 -n 2")) == 32);
  CHECK(layers(script, called_with("")) == 24);
  CHECK(layers(script) == 24);
  CHECK(layers("IFS=, read -r L B <<< \"32,4\"") == 32);
  CHECK(layers("IFS=',' read -ra S <<< \"24,32\"\nL=${S[1]}") == 32);
  CHECK(layers("IFS=:\nread -a S <<< \"24:32\"\nL=${S[1]}") == 32);
  CHECK(layers("mapfile -t S <<EOF\n24\n32\nEOF\nL=${S[1]}") == 32);
  CHECK(layers("declare -A OF=([7b]=\"32 4096\" [13b]=\"40 5120\")\n"
               "read -r L H <<< \"${OF[13b]}\"") == 40);
  const std::string document = "read -r -d '' cmd <<EOF\ncd x && " + kLaunch + "\nEOF\n";
  CHECK(job_of_script("L=24\n" + document + "srun bash -c \"${cmd}\"\n").model.layers == 24);
}

TEST_CASE("tests of more than one condition, of patterns and of nothing are judged") {
  const std::string either = "; then L=32; else L=24; fi";
  CHECK(layers("A=1; B=2\nif [[ $A == 1 && $B == 2 ]]" + either) == 32);
  CHECK(layers("A=1; B=2\nif [[ $A == 2 || ( $B == 3 ) ]]; then L=32; fi\nL=24") == 24);
  CHECK(layers("A=1; B=2\nif [ $A = 1 -a $B = 3 ]" + either) == 24);
  CHECK(layers("A=llama-7b\nif [[ $A == *7b* ]]" + either) == 32);
  CHECK(layers("A=llama-7b\ncase $A in *13b*) L=40;; *7b) L=32;; esac") == 32);
  CHECK(layers("A=\nif [ -z ${A} ]" + either) == 32);
  CHECK(layers("A=\nif [[ -n $A ]]" + either) == 24);
}

TEST_CASE("what is only said starts nothing") {
  const ImportedJob job = job_of_script(
      "L=24\n: '\nold:\n--num-layers 48 --fp16\n'\n"
      "echo \"usage: --num-layers N --tp 4 --bf16\"\n" +
      kLaunch + "\n");
  CHECK(job.model.layers == 24);
  CHECK_FALSE(job.says("--fp16"));
  CHECK_FALSE(job.says("--bf16"));
}

TEST_CASE("variables before a quoted command are its own") {
  const ImportedJob job =
      job_of_script("L=24\nC=\"A=1 B=2 " + kLaunch + " --bf16\"\nsrun bash -c \"$C\"\n");
  CHECK(job.model.layers == 24);
  CHECK(job.plan.precision == Precision::bf16);
}

TEST_CASE("flags of a command whose answer is not known are not the script's") {
  const ImportedJob job = job_of_script("L=24\nHEAD=$(srun --nodes=1 -w n0 hostname --fp16)\n" +
                                        kLaunch + " --rdzv_endpoint $HEAD:29500 --bf16\n");
  CHECK(job.plan.nodes == 4);
  CHECK_FALSE(job.says("--fp16"));
  CHECK(job_of_script("A=(12 24)\nI=1\nF=\"$(cat <<END\n--num-layers ${A[$I]} --bf16\nEND\n)\"\n"
                      "L=12\n" +
                      kLaunch + " $F\n")
            .model.layers == 24);
}

TEST_CASE("true and false decide what they guard") {
  CHECK(layers("L=24\nOFF=false\n$OFF && L=32") == 24);
  CHECK(layers("L=24\nON=true\nif $ON; then L=32; fi") == 32);
  CHECK(layers("L=24\nif ! true; then L=32; fi") == 24);
}

TEST_CASE("a script may set its own arguments") {
  CHECK(layers("set -- 24 2048\nL=$1") == 24);
}

TEST_CASE("programs that train nothing do not change the training beside them") {
  const ImportedJob job =
      job_of_script("L=24\n" + kLaunch +
                    " --tensor-model-parallel-size 4\n"
                    "python tasks/main.py --num-layers 12 --tensor-model-parallel-size 1\n");
  CHECK(job.model.layers == 24);
  CHECK(job.plan.tp == 4);
}

TEST_CASE("lines of Slurm in a submitted here-document are filled in") {
  const ImportedJob job = job_of_script(
      "L=24\nfor NODES in 2 8; do\nsbatch <<EOF\n#!/bin/bash\n#SBATCH "
      "--nodes=$NODES\nN=\\$SLURM_NNODES\n" +
      kLaunch + "\nEOF\ndone\n");
  CHECK(job.plan.nodes == 8);
}

TEST_CASE("a loop over known values is read for the last, and it is said") {
  const ImportedJob job = job_of_script("for L in 24 32; do\n" + kLaunch + "\ndone\n");
  CHECK(job.model.layers == 32);
  CHECK(lists(job.report.assumed, "L=32: the last value of a loop (L in 24, 32)"));
}

TEST_CASE("flags behind a comment that ended the command are not passed on") {
  const ImportedJob job = job_of_script("L=24\n" + kLaunch +
                                        "\\\n  --bf16 \\\n  # --fp16 \\\n  # more \\\n"
                                        "  --tensor-model-parallel-size 2\necho done\n");
  CHECK_FALSE(job.plan.tp);
  CHECK(lists(job.report.assumed,
              "--tensor-model-parallel-size 2 is not passed on: a comment ends the command before "
              "it"));
  CHECK(job_of_script("--num-layers 24 # layers\n--hidden-size 2048\n--num-attention-heads 16\n")
            .model.hidden == 2048);
}

TEST_CASE("scripts in here-documents are read") {
  CHECK(job_of_script("L=24\nsbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=2\nN=\\$SLURM_NNODES\n" +
                      kLaunch + "\nEOF\n")
            .plan.nodes == 2);
  CHECK(job_of_script("L=24\ncat > run.sh <<'EOF'\n#!/bin/bash\n" + kLaunch + "\nEOF\n")
            .model.layers == 24);
}

TEST_CASE("files of variables go before the script that they are for") {
  const TemporaryFolder folder;
  const std::string variables = folder.with("sizes.env", "export L=24\n");
  const std::string script = folder.with("run.sh", kLaunch + "\n");
  CHECK(import_files({variables, script}).job.model.layers == 24);
}

}  // namespace
}  // namespace prequel
