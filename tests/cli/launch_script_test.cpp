#include "cli/import/shell/launch_script.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/import/foreign_file.hpp"
#include "models/job/library.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ImportedJob job_of_fixture(const std::string& name) {
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  return import_files({fixture(name)}, {{}, {}, &library}).job;
}

TEST_CASE("every way to ask for 8 nodes of 8 devices is understood") {
  for (const char* name :
       {"slurm-gpus-per-node.slurm", "slurm-gpus-per-node-blank.slurm", "slurm-gres-type.slurm",
        "slurm-brief.slurm", "slurm-tasks.slurm", "slurm-total.slurm", "slurm-range.slurm",
        "slurm-variables.slurm", "torchrun.sh", "torch-launch.sh", "deepspeed-launcher.sh",
        "one-string.sh", "appended.sh", "loop.sh"}) {
    CAPTURE(name);
    const ImportedJob job = job_of_fixture(name);
    CHECK(job.value("devices") == 64);
    CHECK(job.plan.nodes == 8);
    CHECK(job.plan.dp == 16);
    CHECK(job.plan.tp == 4);
    CHECK(job.plan.gbs == 512);
    CHECK(job.model.layers == 24);
    CHECK(job.model.vocab == 50257);
    CHECK(job.plan.precision == Precision::bf16);
  }
  CHECK(job_of_fixture("mpirun.sh").value("devices") == 64);
  CHECK(job_of_fixture("mpirun.sh").plan.dp == 16);
  CHECK(job_of_fixture("slurm-gres-type.slurm").text("device_type") == "h100");
}

TEST_CASE("a Llama script gives grouped queries, a gated MLP and interleaved stages") {
  const ImportedJob job = job_of_fixture("llama-2-70b.sh");
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.model.vocab == 32000);
  CHECK(job.value("devices") == 128);
  CHECK(job.plan.vpp == 4);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.attention == AttentionKind::flash);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(job.plan.recompute == Recompute::none);
}

TEST_CASE("Megatron-DeepSpeed's flags for a Llama model are understood") {
  const ImportedJob job = job_of_fixture("llama-megatron-deepspeed.sh");
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.position == PositionEmbedding::rope);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.attention == AttentionKind::flash);
}

TEST_CASE("a gated MLP without a width has Megatron's, query groups need their switch") {
  const ImportedJob job = job_of_fixture("swiglu-default-width.sh");
  CHECK(job.model.ffn_hidden == 10880);
  CHECK_FALSE(job.model.kv_heads);
}

TEST_CASE("variables and arrays may be appended to") {
  const ImportedJob job = job_of_fixture("appended.sh");
  CHECK(job.plan.recompute == Recompute::selective);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.grad_precision == Precision::fp32);
}

TEST_CASE("whether the host waits for each kernel is read from the environment") {
  CHECK(job_of_fixture("bigscience-176b.slurm").text("launch") == "blocking");
  const ImportedJob job = job_of_fixture("torchrun.sh");
  CHECK(job.text("launch") == "async");
  CHECK(std::count(job.report.assumed.begin(), job.report.assumed.end(),
                   "software.launch async: no CUDA_LAUNCH_BLOCKING=1") == 1);
}

TEST_CASE("variables that cannot be known are named, and nothing is made up for them") {
  const ImportedJob job = job_of_fixture("unresolved.sh");
  CHECK_FALSE(job.plan.nodes);
  CHECK_FALSE(job.plan.dp);
  CHECK(std::count(job.report.ignored.begin(), job.report.ignored.end(),
                   "$EXTRA_ARGS (not resolved)") == 1);
  CHECK(std::count(job.report.assumed.begin(), job.report.assumed.end(),
                   "--nnodes is left out: $(scontrol...) could not be resolved") == 1);
}

/// The job of a script with a small model and these flags.
ImportedJob job_with(const std::string& flags, const std::string& before = {},
                     const ImportNames& names = {}) {
  const TemporaryFolder folder;
  return import_files({folder.with("s.sh", before +
                                               "torchrun --nproc_per_node 8 --nnodes 4 p.py "
                                               "--num-layers 24 --hidden-size 2048 "
                                               "--num-attention-heads 16 --vocab-size 50257 "
                                               "--max-position-embeddings 2048 " +
                                               flags + "\n")},
                      names)
      .job;
}

TEST_CASE("a script without a precision has one assumed, as the software has it") {
  const ImportedJob job = job_with("--seq-length 2048");
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(lists(job.report.assumed,
              "precision bf16: the script names neither --bf16 nor --fp16, in which case Megatron "
              "trains in fp32"));
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  const ImportedJob older = job_with("", {}, {{}, "megatron-lm-2021", &library});
  CHECK(older.plan.precision == Precision::fp16);
  const ImportedJob said = job_with("", {}, {{}, {}, {}, {{"plan.precision", "fp32"}}});
  CHECK_FALSE(said.plan.precision);
}

TEST_CASE("gradients are in the type that Megatron gives them") {
  CHECK(job_with("--fp16").plan.grad_precision == Precision::fp16);
  CHECK(job_with("--fp16 --accumulate-allreduce-grads-in-fp32").plan.grad_precision ==
        Precision::fp32);
  CHECK(job_with("--bf16").plan.grad_precision == Precision::fp32);
  CHECK(job_with("--bf16 --grad-reduce-in-bf16").plan.grad_precision == Precision::bf16);
}

TEST_CASE("flags that matter and are not modelled are told apart from those that do not") {
  const ImportReport report =
      job_with(
          "--bf16 --micro-batch-size 1 --use-nccl-ub --optimizer sgd "
          "--empty-unused-memory-level 0 --lr 1e-4 "
          "--checkpoint-in-cpu --position-embedding-type spiral --attention-backend auto")
          .report;
  CHECK(report.left_out ==
        std::vector<std::string>{
            "--use-nccl-ub changes time or memory and is not modelled; predicted without it",
            "--optimizer sgd is not modelled; predicted with Adam's",
            "--checkpoint-in-cpu changes time or memory and is not modelled; predicted without it",
            "--position-embedding-type spiral is not known; predicted without it"});
  CHECK(report.ignored == std::vector<std::string>{"--lr", "--attention-backend auto"});
}

TEST_CASE("every flag that is passed over is named") {
  std::string flags = "--bf16";
  for (int i = 0; i < 40; ++i) flags += " --flag-" + std::to_string(i) + " x";
  const std::string text = report_text(job_with(flags).report);
  CHECK(text.find("--flag-0, ") != std::string::npos);
  CHECK(text.find("--flag-39\n") != std::string::npos);
}

TEST_CASE("attention is what the flags together make of it") {
  using enum AttentionKind;
  CHECK(job_with("--use-flash-attn --no-masked-softmax-fusion").plan.attention == flash);
  CHECK(job_with("--no-masked-softmax-fusion").plan.attention == unfused);
  CHECK(job_with("--attention-backend fused").plan.attention == flash);
  CHECK(job_with("--attention-backend unfused").plan.attention == unfused);
  CHECK(job_with("--transformer-impl local").plan.attention == fused_softmax);
  CHECK(lists(job_with("").report.assumed,
              "attention: no argument names one; the software's default"));
}

TEST_CASE("query groups without their switch are told, and one group is Megatron's default") {
  const ImportedJob without = job_with("--num-query-groups 4");
  CHECK_FALSE(without.model.kv_heads);
  CHECK(lists(without.report.left_out,
              "--num-query-groups 4: has no effect without --group-query-attention"));
  const ImportedJob one = job_with("--group-query-attention");
  CHECK(one.model.kv_heads == 1);
  CHECK(lists(one.report.assumed,
              "num_key_value_heads 1: --group-query-attention without --num-query-groups"));
}

TEST_CASE("one flag after another on the same thing is told") {
  const ImportedJob job = job_with("--micro-batch-size 2", "#SBATCH --nodes=2\n");
  CHECK(job.plan.nodes == 4);
  CHECK(lists(job.report.assumed, "--nnodes 4, which comes last, not --nodes 2"));
}

TEST_CASE("a launcher that is told no number of nodes has one") {
  const TemporaryFolder folder;
  const std::string model = " --num-layers 24 --hidden-size 2048 --num-attention-heads 16 ";
  const auto job = [&](const std::string& launcher, const ImportNames& names = {}) {
    return import_files({folder.with("s.sh", launcher + model)}, names).job;
  };
  CHECK(job("torchrun --nproc_per_node 8").plan.nodes == 1);
  CHECK(lists(job("torchrun --nproc_per_node 8").report.assumed,
              "nodes 1: --nproc-per-node without a number of nodes"));
  CHECK_FALSE(job("deepspeed --num_gpus 8 --hostfile hosts p.py").plan.nodes);
  CHECK_FALSE(job("torchrun --nnodes $N --nproc_per_node 8").plan.nodes);
  CHECK(job("torchrun --nproc_per_node 8", {{}, {}, {}, {{"plan.nodes", "4"}}}).plan.nodes == 4);
  CHECK(job("torchrun --nproc_per_node=gpu --nnodes 4").plan.nodes == 4);
}

TEST_CASE("launchers' options in brief, and devices in all of Slurm's spellings") {
  const TemporaryFolder folder;
  const std::string model = " p.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 ";
  for (const char* launcher :
       {"srun -N 8 -n 64 --ntasks-per-node=8 python", "srun -N8 --gpus-per-node=8 python",
        "mpirun -n 64 -npernode 8 python", "accelerate launch --num_machines 8 --num_processes 64",
        "srun --nodes 8 --gres=gpu:a100:8,nvme:1 python",
        "srun --nodes=8 --ntasks-per-node=2 --gpus-per-task=4 python"}) {
    CAPTURE(launcher);
    const ImportedJob job = import_files({folder.with("s.sh", launcher + model)}).job;
    CHECK(job.value("devices") == 64);
  }
  const ImportedJob one =
      import_files({folder.with("s.sh", "srun -N 2 --gres=gpu:a100 " + model)}).job;
  CHECK(one.value("devices") == 2);
  CHECK(one.text("device_type") == "a100");
}

TEST_CASE("branches whose tests compare what is known are decided") {
  const auto layers = [](const std::string& script) {
    const TemporaryFolder folder;
    return import_files(
               {folder.with("s.sh", script + "\ntorchrun p.py --num-layers $L --hidden-size "
                                             "2048 --num-attention-heads 16\n")})
        .job.model.layers;
  };
  const std::string sizes =
      "if [ \"$S\" = \"7B\" ]; then L=32\nelif [[ $S == 13B ]]\nthen\n  L=40\nelse L=80; fi";
  CHECK(layers("S=7B\n" + sizes) == 32);
  CHECK(layers("S=13B\n" + sizes) == 40);
  CHECK(layers("S=x\n" + sizes) == 80);
  const std::string cases = "case $S in\n 7B) L=32 ;;\n 13B|14B) L=40;;\n *) L=80\n;; esac";
  CHECK(layers("S=7B\n" + cases) == 32);
  CHECK(layers("S=14B\n" + cases) == 40);
  CHECK(layers("S=70B\n" + cases) == 80);
  CHECK(layers("S=7B\ncase $S in 7B) L=32;; *) L=80;; esac") == 32);
  CHECK(layers("L=1; N=4\n[ $N -gt 2 ] && L=2") == 2);
  CHECK(layers("L=1; N=4\n[ $N -lt 2 ] && L=2 || L=3") == 3);
  CHECK(layers("L=1; N=4\n[[ $N -ge 4 ]] && [ $N != 5 ] && L=2 || L=3") == 2);
  CHECK(layers("L=1; N=4\nif [ $N -eq 4 ] && [ $N -ne 4 ]; then L=2; fi") == 1);
  CHECK(layers("L=1; N=4\nif [ $N -eq 4 ] || [ $N -ne 4 ]; then L=2; fi") == 2);
  CHECK(layers("L=1\nif [ a = b ]; then if [ a = a ]; then L=2; fi; L=3; fi") == 1);
  CHECK(layers("L=1; E=\"\"\nif [ -z \"$E\" ]; then L=2; fi") == 2);
}

TEST_CASE("a known value outlives what may be set, and it is said") {
  const ImportedJob job = job_with("--micro-batch-size $MBS",
                                   "MBS=1\nif [ -f fast ]; then MBS=4; fi\nsource more.sh\n"
                                   "X=${NAME:-\"7B\"}\nif [ $X = 13B ]; then MBS=8; fi\n");
  CHECK(job.plan.mbs == 1);
  CHECK(lists(job.report.assumed, "MBS stays 1: prequel cannot tell whether it becomes 4"));
  CHECK(
      lists(job.report.assumed, "nothing of more.sh, which the script sources; give more.sh, too"));
  CHECK(lists(job.report.assumed, "NAME=7B: the script's default"));
}

TEST_CASE("a default may have a default") {
  CHECK(job_with("--micro-batch-size ${A:-${B:-4}}").plan.mbs == 4);
  CHECK(job_with("--micro-batch-size ${A:-${B:-4}}", "B=2\n").plan.mbs == 2);
  CHECK(job_with("--micro-batch-size $A", ": ${A:=8}\n").plan.mbs == 8);
}

TEST_CASE("variables that libraries listen to are listed") {
  const ImportedJob job = job_with("", "export NCCL_IB_DISABLE=1\nexport CUDA_LAUNCH_BLOCKING=1\n");
  CHECK(job.report.ignored == std::vector<std::string>{"NCCL_IB_DISABLE=1"});
  CHECK(job.text("launch") == "blocking");
}

TEST_CASE("gradient overlap that the software has otherwise goes with the job") {
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  const auto with = [&](const std::string& flags, const char* software) {
    return job_with("--bf16 " + flags, {}, {{}, software, &library});
  };
  const ImportedJob none = with("--use-distributed-optimizer", "megatron-core-2024");
  CHECK(none.plan.overlap == WordSet<Overlapped>{Overlapped::no_grads});
  CHECK(lists(none.report.assumed, "overlap no-grads: no --overlap-grad-reduce"));
  const ImportedJob always = with("--overlap-grad-reduce", "megatron-lm-2021");
  CHECK(always.plan.overlap == WordSet<Overlapped>{Overlapped::grads});
  CHECK(lists(always.report.read, "--overlap-grad-reduce: plan.overlap has grads"));
  CHECK(with("--overlap-grad-reduce", "megatron-core-2024").plan.overlap == WordSet<Overlapped>{});
  CHECK(with("", "megatron-lm-2021").plan.overlap == WordSet<Overlapped>{});
  const ImportedJob gradients =
      with("--overlap-grad-reduce --use-distributed-optimizer", "megatron-core-2024");
  CHECK(lists(gradients.report.read, "no --overlap-param-gather: plan.overlap has no-params"));
  CHECK(gradients.plan.overlap->has(Overlapped::no_params));
  const ImportedJob both = with(
      "--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer "
      "--no-overlap-p2p-communication",
      "megatron-core-2024");
  CHECK_FALSE(both.plan.overlap->has(Overlapped::no_params));
  CHECK(both.plan.overlap->has(Overlapped::no_p2p));
}

TEST_CASE("Megatron's and PyTorch's full sharding are read as ZeRO stages") {
  CHECK(job_with("--use-torch-fsdp2").plan.zero == 3);
  CHECK(job_with("--use-custom-fsdp --data-parallel-sharding-strategy optim_grads").plan.zero == 2);
  CHECK(job_with("--data-parallel-sharding-strategy optim_grads_params").plan.zero == 0);
}

TEST_CASE("a Trainer's script goes with a config of its model") {
  const TemporaryFolder folder;
  const ImportedJob job =
      import_files({folder.with("s.sh",
                                "torchrun --nproc_per_node 8 --nnodes 2 train.py --bf16 True "
                                "--fp16 False --per_device_train_batch_size 2 "
                                "--gradient_accumulation_steps 4 --fsdp 'full_shard auto_wrap' "
                                "--gradient_checkpointing True --max_seq_length 1024\n"),
                    fixture("llama-2-7b-config.json")})
          .job;
  CHECK(job.plan.gbs == 128);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.seq_len == 1024);
}

TEST_CASE("scripts of PyTorch's FSDP say widths and what each device gets") {
  const std::string sizes =
      "torchrun --nproc_per_node=8 --nnodes=4 train.py --num_key_value_heads=8 "
      "--intermediate_size=11008 --hidden_width=4096 --num_layers=32 --num_heads=32 "
      "--model_type=llama_v2 --sharding_strategy=full --offload_activations=1 "
      "--train_batch_size=2 ";
  const ImportedJob job = job_of_script(
      sizes + "--max_context_width=4096 --tokenizer=hf-internal-testing/llama-tokenizer\n");
  CHECK(job.model.hidden == 4096);
  CHECK(job.model.heads == 32);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.plan.seq_len == 4096);
  CHECK(job.plan.mbs == 2);
  CHECK(job.plan.gbs == 64);
  CHECK(job.plan.zero == 3);
  CHECK(
      lists(job.report.left_out,
            "--offload-activations 1 changes time or memory and is not modelled; predicted without "
            "it"));
  const ImportedJob other = job_of_script(sizes + "\n");
  CHECK(lists(other.report.assumed, "mbs 2: --train-batch-size, as of each device"));
}

TEST_CASE("a template of DeepSpeed's config is filled as the script's sed fills it") {
  const TemporaryFolder folder;
  const std::string script = folder.with(
      "s.sh",
      "gbs=256\nsed \"s/CONFIG_BATCH_SIZE/${gbs}/\" t.json | sed \"s/CONFIG_MBSIZE/4/\" "
      "| sed \"s/ZERO_STAGE/1/\" | sed \"s/CONFIG_FP16_ENABLED/true/\" > c.json\n"
      "deepspeed --num_gpus 8 --num_nodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 1024 "
      "--num-attention-heads 16 --seq-length 1024 --vocab-size 50257 --deepspeed "
      "--deepspeed_config c.json\n");
  const std::string config = folder.with(
      "t.json",
      R"({"train_batch_size": CONFIG_BATCH_SIZE, "train_micro_batch_size_per_gpu": CONFIG_MBSIZE,
          "zero_optimization": {"stage": ZERO_STAGE}, "fp16": {"enabled": CONFIG_FP16_ENABLED}})");
  const ImportedJob job = import_files({script, config}).job;
  CHECK(job.plan.gbs == 256);
  CHECK(job.plan.mbs == 4);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.precision == Precision::fp16);
}

TEST_CASE("a template may be filled by envsubst, or by several expressions of sed") {
  const TemporaryFolder folder;
  const auto filled = [&](const std::string& script, const std::string& config) {
    return import_files({folder.with("r.sh", script + "\ndeepspeed --num_gpus 8 pretrain_gpt.py "
                                                      "--deepspeed_config ds.json --num-layers 2 "
                                                      "--hidden-size 64 --num-attention-heads 4 "
                                                      "--seq-length 64\n"),
                         folder.with("ds.json", config)},
                        {})
        .job.plan;
  };
  const PlanRequest variables = filled(
      "BS=4\nSTAGE=2\nenvsubst < t.json > ds.json",
      R"({"train_micro_batch_size_per_gpu": $BS, "zero_optimization": {"stage": ${STAGE}}})");
  CHECK(variables.mbs == 4);
  CHECK(variables.zero == 2);
  const PlanRequest words = filled(
      "B=4\ncat t.json | sed \"s/__BS__/$B/g; s|__STAGE__|3|\" > ds.json",
      R"({"train_micro_batch_size_per_gpu": __BS__, "zero_optimization": {"stage": __STAGE__}})");
  CHECK(words.mbs == 4);
  CHECK(words.zero == 3);
}

TEST_CASE("text without a flag is no launch script") {
  const TemporaryFolder folder;
  const std::string text = folder.with("notes.txt", "eight devices on one machine\n");
  CHECK(error_text([&] {
          (void)import_files({text, fixture("llama-2-7b-config.json")});
        }) == text + ": prequel reads nothing in it: no flags, no JSON object, no log");
}

TEST_CASE("a file that is no job is refused by what it looks like") {
  const auto refusal = [](const std::string& text) {
    const TemporaryFolder folder;
    const std::string file = folder.with("f", text);
    return error_text([&] { (void)import_files({file}); }).substr(file.size());
  };
  CHECK(refusal("import torch\nprint(1)\n").starts_with(": looks like a program in Python"));
  CHECK(refusal("step,loss,time\n1,2,3\n").starts_with(": looks like a table"));
  CHECK(refusal("step,loss\n1,2\n").starts_with(": looks like a table"));
  CHECK(refusal("{'loss': 2.1, 'epoch': 0.01}\n").starts_with(": looks like metrics"));
  CHECK(refusal(std::string("SQLite format 3\0", 16)).starts_with(": looks like an SQLite"));
  CHECK(refusal("# nThread 1 nGpus 8\n#  size  count  busbw\n").starts_with(": looks like output"));
}

TEST_CASE("what is no decoder of attention and MLPs is refused by its flag") {
  CHECK(error_text([] {
          (void)job_with("--retro-add-retriever");
        }).find("s.sh: --retro-add-retriever: asks for a model with retrieval") !=
        std::string::npos);
}

TEST_CASE("a mixture of experts is read by its flags") {
  const ImportedJob job = job_of_fixture("mixture.sh");
  CHECK(job.model.experts.count == 8);
  CHECK(job.model.experts.top_k == 2);
  REQUIRE(job.report.active_parameters);
  CHECK(*job.report.active_parameters < *job.report.parameters);
}

/// A script with experts and these flags.
ImportedJob experts_with(const std::string& flags) {
  return job_with(
      "--swiglu --bf16 --num-experts 8 --moe-router-topk 2 --tensor-model-parallel-size 2 " +
      flags);
}

TEST_CASE(
    "who carries tokens to experts is the dispatcher, or the backend of one that is flexible") {
  const auto dispatcher = [](const std::string& flags) {
    return experts_with(flags).plan.dispatcher;
  };
  const std::string type = "--moe-token-dispatcher-type ";
  CHECK(dispatcher("") == Dispatcher::allgather);
  CHECK(dispatcher(type + "alltoall") == Dispatcher::alltoall);
  CHECK(dispatcher(type + "allgather") == Dispatcher::allgather);
  CHECK(dispatcher(type + "flex --moe-flex-dispatcher-backend hybridep") == Dispatcher::hybridep);
  CHECK(dispatcher("--moe-flex-dispatcher-backend deepep " + type + "flex") == Dispatcher::deepep);
  CHECK(dispatcher(type + "flex --moe-enable-deepep") == Dispatcher::deepep);
  const ImportedJob alone = experts_with(type + "alltoall --moe-flex-dispatcher-backend deepep");
  CHECK(alone.plan.dispatcher == Dispatcher::alltoall);
  CHECK(lists(alone.report.left_out,
              "--moe-flex-dispatcher-backend deepep: has no effect without "
              "--moe-token-dispatcher-type flex"));
}

TEST_CASE("experts are split over tensor ranks unless the script says otherwise") {
  CHECK(experts_with("").plan.etp == 2);
  CHECK(experts_with("--expert-tensor-parallel-size 1").plan.etp == 1);
}

TEST_CASE("equal loads, dropped tokens and what the router makes are told apart") {
  CHECK(experts_with("--moe-router-force-load-balancing").plan.router_balance == "forced");
  const auto balance = [](const std::string& flags) {
    return experts_with(flags).plan.router_balance.value_or("");
  };
  const std::string padded = " --moe-pad-expert-input-to-capacity";
  CHECK(balance("--moe-router-force-load-balancing --moe-expert-capacity-factor 1.0" + padded) ==
        "dropped");
  CHECK(balance("--moe-expert-capacity-factor 1.25" + padded) == "dropped:1.25");
  // Shapes that are not padded are as dynamic as without a capacity, which equal loads never reach.
  CHECK(balance("--moe-router-force-load-balancing --moe-expert-capacity-factor 1.0") == "forced");
  CHECK(balance("--moe-expert-capacity-factor 1.5").empty());
  CHECK(std::ranges::any_of(experts_with("--moe-expert-capacity-factor 0.5").report.left_out,
                            [](const std::string& line) {
                              return line.starts_with("--moe-expert-capacity-factor 0.5: without");
                            }));
  CHECK(balance("--deepspeed") == "dropped");
  CHECK(balance("--deepspeed --moe-train-capacity-factor 2") == "dropped:2");
  CHECK(balance("--deepspeed --disable-moe-token-dropping").empty());
  const ImportedJob routed = experts_with("--moe-router-load-balancing-type aux_loss");
  CHECK_FALSE(routed.plan.router_balance);
  CHECK(std::ranges::any_of(routed.report.assumed, [](const std::string& line) {
    return line.starts_with("experts with equal loads");
  }));
}

TEST_CASE("which layers have experts is read as Python would") {
  const auto experts = [](const std::string& pattern) {
    return experts_with("--moe-layer-freq '" + pattern + "'").model.experts;
  };
  CHECK(experts("([0]*3+[1]*21)").first_dense == 3);
  CHECK(experts("[0,1]*12").every == 2);
  CHECK(experts("[0]*2+([0]*1+[1])*11").first_dense == 2);
  CHECK(experts("[0]*2+([0]*1+[1])*11").every == 2);
  CHECK(experts("3").every == 3);
  for (const char* pattern : {"[1]+[0]*23", "lambda", "[1]*99999999", "((((((((((([1]", "[2]*24"}) {
    CAPTURE(pattern);
    const ImportedJob job = experts_with(std::string("--moe-layer-freq '") + pattern + "'");
    CHECK_FALSE(job.model.experts.first_dense);
    CHECK(std::ranges::any_of(job.report.left_out, [](const std::string& line) {
      return line.starts_with("--moe-layer-freq");
    }));
  }
}

TEST_CASE("lists of modules, graphs and recipes are read from flags") {
  const ImportedJob job = job_with(
      "--micro-batch-size 1 --global-batch-size 64 "
      "--recompute-granularity selective --recompute-modules moe_act layernorm "
      "--fine-grained-activation-offloading --offload-modules=expert_fc1,core_attn "
      "--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router --bf16 "
      "--fp8-format hybrid --fp8-recipe blockwise --fp8-param-gather --tp-comm-overlap "
      "--activation-func-fp8-input-store --overlap-moe-expert-parallel-comm --cp-comm-type a2a "
      "--optimizer dist_muon "
      "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16");
  const PlanRequest& plan = job.plan;
  CHECK(plan.recompute_modules ==
        WordSet<RecomputeModule>{RecomputeModule::moe_act, RecomputeModule::layernorm});
  CHECK(plan.offload_modules ==
        WordSet<OffloadModule>{OffloadModule::expert_fc1, OffloadModule::core_attn});
  CHECK(plan.cuda_graphs == WordSet<GraphedModule>{GraphedModule::attn, GraphedModule::moe_router});
  CHECK(
      job_with("--cuda-graph-impl transformer_engine --cuda-graph-modules attn").plan.cuda_graphs ==
      WordSet<GraphedModule>{GraphedModule::attn});
  CHECK(plan.precision == Precision::fp8);
  CHECK(plan.fp8_recipe == Fp8Recipe::block);
  CHECK(plan.fp8_param_gather == true);
  CHECK(plan.fp8_activation_store == true);
  CHECK(plan.grad_precision == Precision::fp32);
  CHECK(plan.overlap == WordSet<Overlapped>{Overlapped::tp, Overlapped::ep});
  CHECK(plan.cp_comm == ContextComm::a2a);
  CHECK(plan.optimizer == Optimizer::muon);
  CHECK(plan.zero == 1);
  CHECK(plan.moments_precision == Precision::bf16);
  CHECK(job.report.left_out.empty());
  CHECK(job_with("--cpu-offloading-num-layers 20").plan.offload_layers == 20);
  const ImportedJob first =
      job_with("--recompute-granularity full --recompute-method block --recompute-num-layers 5");
  CHECK(first.plan.recompute == Recompute::full);
  CHECK(first.plan.recompute_first == 5);
  CHECK_FALSE(first.plan.recompute_layers);
  const ImportedJob unknown =
      job_with("--recompute-granularity selective --recompute-modules core_attn brain");
  REQUIRE(unknown.plan.recompute_modules);
  CHECK(unknown.plan.recompute_modules->has(RecomputeModule::core_attn));
  CHECK(lists(unknown.report.left_out,
              "--recompute-modules brain is not known; predicted without it"));
  CHECK(job_with("").plan.overlap == WordSet<Overlapped>{});
}

TEST_CASE("first and last stages of their own are a layout") {
  const std::string flags = "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers ";
  const ImportedJob job = job_with(flags + "4 --decoder-last-pipeline-num-layers 6");
  CHECK(job.plan.layout == "Et*4|t*7|t*7|t*6L");
  const ImportedJob uneven = job_with(flags + "5");
  CHECK_FALSE(uneven.plan.layout);
  CHECK(lists(uneven.report.left_out,
              "--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers: predicted "
              "with equal stages"));
  const ImportedJob spelt = job_with(
      "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*5|(t*6|)*2t*7L'");
  CHECK(spelt.plan.layout == "Et*5|(t*6|)*2t*7L");
  CHECK(spelt.plan.vpp == 2);
  CHECK(job_with("--pipeline-model-parallel-size 4 "
                 "--microbatch-group-size-per-virtual-pipeline-stage 5")
            .plan.vpp_group == 5);
}

TEST_CASE("a script is read and never run") {
  const LaunchScript script = read_launch_script(
      "s.sh", "X=$(rm -rf /)\nY=`id`\nrm -rf --no-preserve-root $X $Y > /etc/passwd; --a $X\n");
  CHECK(std::count(script.words.begin(), script.words.end(), "--a") == 1);
}

TEST_CASE("hostile scripts neither hang nor overflow") {
  std::string bomb = "A=aaaaaaaaaaaaaaaa\n";
  for (int i = 0; i < 40; ++i) bomb += "A=$A$A$A$A\n";
  CHECK(error_text([&] { (void)read_launch_script("bomb.sh", bomb); }) ==
        "bomb.sh: its variables expand to over 4 MiB");
  for (const std::string& text :
       {std::string("A=$A$A\n$A"), std::string("$(("), std::string("${"), std::string("\""),
        std::string("A=("), std::string("<<"), std::string("fi\nesac\nelse\n;;\nthen"),
        std::string("case x in"), std::string("if [\nif ["), std::string("if"),
        std::string("${A:-${A:-${A:-"), std::string("<<EOF\n$"), std::string(100000, '('),
        "X=$((" + std::string(100000, '(') + "1))", std::string("$((9223372036854775807 + 1))"),
        std::string("$((1 / 0)) $((1 % 0))"), std::string("\0\xff\x80", 3),
        "bash -c \"bash -c 'bash -c \\\"x --y\\\"'\"" + std::string(1000, '"')}) {
    CAPTURE(text.substr(0, 20));
    CHECK_NOTHROW((void)read_launch_script("hostile.sh", text));
  }
}

}  // namespace
}  // namespace prequel
