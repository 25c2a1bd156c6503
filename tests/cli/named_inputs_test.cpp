#include "cli/import/named_inputs.hpp"

#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

const std::string kFlags =
    " --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 "
    "--max-position-embeddings 2048 --vocab-size 50257 --micro-batch-size 1 "
    "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 ";
/// In the manner of Megatron-LM's train_gpt3_175b_distributed.sh: one node, as an example.
const std::string kOneNode =
    "GPUS_PER_NODE=8\nNUM_NODES=1 # Change for multinode config\n"
    "torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES "
    "pretrain_gpt.py" +
    kFlags + "--global-batch-size 1536 --fp16\n";

TEST_CASE("contradictions are judged after flags have replaced what files say") {
  CHECK(refusal_of_script(kOneNode) ==
        "s.sh: 8 devices are not a multiple of tp 8 x pp 16 = 128, which the framework refuses; "
        "--nodes 16 would do");
  const ImportedJob job = job_of_script(kOneNode, {{}, {}, {}, {{"plan.nodes", "128"}}});
  CHECK(job.value("devices") == 1024);
  CHECK(job.plan.nodes == 128);
  CHECK(job.plan.dp == 8);
  const ImportedJob smaller =
      job_of_script(kOneNode, {{}, {}, {}, {{"plan.tp", "4"}, {"plan.pp", "2"}}});
  CHECK(smaller.plan.dp == 1);
}

TEST_CASE("degrees that followed from the files' follow anew from the user's") {
  const std::string script = "torchrun --nproc_per_node 8 --nnodes 64 pretrain_gpt.py" + kFlags +
                             "--global-batch-size 1536 --fp16\n";
  CHECK(job_of_script(script).plan.dp == 4);
  CHECK(job_of_script(script, {{}, {}, {}, {{"plan.nodes", "128"}}}).plan.dp == 8);
  CHECK(job_of_script(script, {{}, {}, {}, {{"plan.tp", "4"}}}).plan.dp == 8);
  CHECK(job_of_script(script, {{}, {}, {}, {{"plan.pp", "32"}}}).plan.dp == 2);
  const ImportedJob by_dp = job_of_script(script, {{}, {}, {}, {{"plan.dp", "8"}}});
  CHECK(by_dp.value("devices") == 1024);
  CHECK(by_dp.plan.nodes == 128);
}

TEST_CASE("a cluster with other nodes gives as many devices, or the nodes asked for") {
  const std::string script = "torchrun --nproc_per_node 8 --nnodes 64 pretrain_gpt.py" + kFlags +
                             "--global-batch-size 1536 --fp16\n";
  const ImportedJob same = job_of_script(script, {"jean-zay-v100-32gb", {}, {}, {}});
  CHECK(same.plan.nodes == 128);
  CHECK(same.plan.dp == 4);
  CHECK(lists(same.report.assumed, "nodes 128: 512 devices in nodes of jean-zay-v100-32gb"));
  const ImportedJob asked =
      job_of_script(script, {"jean-zay-v100-32gb", {}, {}, {{"plan.nodes", "64"}}});
  CHECK(asked.plan.nodes == 64);
  CHECK(asked.plan.dp == 2);
}

TEST_CASE("a global batch that is said is reached in other steps where the user has other nodes") {
  const std::string script =
      "cat <<EOF > ds.json\n"
      R"({"train_batch_size": 1536, "train_micro_batch_size_per_gpu": 1,
          "gradient_accumulation_steps": 384, "fp16": {"enabled": true}})"
      "\nEOF\ndeepspeed --num_gpus 8 --num_nodes 64 pretrain_gpt.py" +
      kFlags + "--deepspeed --deepspeed_config ds.json\n";
  CHECK(job_of_script(script).plan.dp == 4);
  const ImportedJob job = job_of_script(script, {{}, {}, {}, {{"plan.nodes", "128"}}});
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.gbs == 1536);
}

TEST_CASE("DeepSpeed's bf16 optimizer shards states in pipelines at stage 0, as ZeRO 1") {
  const auto zero = [](const std::string& config, const std::string& degrees) {
    return job_of_script("cat <<EOF > ds.json\n" + config +
                         "\nEOF\ndeepspeed --num_gpus 8 --num_nodes 64 pretrain_gpt.py "
                         "--num-layers 96 --hidden-size 12288 --num-attention-heads 96 "
                         "--seq-length 2048 --vocab-size 50257 --deepspeed --deepspeed_config "
                         "ds.json " +
                         degrees + "\n");
  };
  const std::string bf16 =
      R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 0},
          "bf16": {"enabled": true}})";
  const std::string fp16 =
      R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 0},
          "fp16": {"enabled": true}})";
  const std::string pipeline = "--pipeline-model-parallel-size 8";
  CHECK(zero(bf16, pipeline).plan.zero == 1);
  CHECK(lists(zero(bf16, pipeline).report.assumed,
              "states as ZeRO 1 shards them: DeepSpeed's bf16 optimizer does so in pipelines at "
              "stage 0"));
  CHECK(zero(bf16, "--tensor-model-parallel-size 8").plan.zero == 0);
  CHECK(zero(fp16, pipeline).plan.zero == 0);
}

TEST_CASE("the vocabulary is what flags pad it to, the tokenizer's, or assumed and said") {
  const auto job = [](const std::string& flags) {
    return job_of_script(
        "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 24 --hidden-size "
        "2048 --num-attention-heads 16 --seq-length 2048 " +
        flags + "\n");
  };
  CHECK(job("--pad-vocab-size-to 250880").model.vocab == 250880);
  CHECK(job("--padded-vocab-size 128512 --tokenizer-type Llama3Tokenizer").model.vocab == 128512);
  CHECK(job("--tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-8B").model.vocab ==
        151936);
  CHECK(job("--tokenizer-type PretrainedFromHF --tokenizer-name-or-path "
            "bigscience/tokenizer_alpha")
            .model.vocab == 250880);
  CHECK(job("--tokenizer-type Llama2Tokenizer --tokenizer-model tokenizer.model").model.vocab ==
        32000);
  CHECK(job("--tokenizer-type GPT2BPETokenizer").model.vocab == 50257);
  CHECK(job("--vocab-file data/gpt2-vocab.json").model.vocab == 50257);
  const ImportedJob extra = job("--patch-tokenizer-type Qwen2Tokenizer --extra-vocab-size 421");
  CHECK(extra.model.vocab == 151643 + 421);
  CHECK(lists(extra.report.assumed,
              "vocab_size 152064: that of the Qwen 2 and 3 tokenizer and 421 more"));
  const ImportedJob unknown = job("--tokenizer-type MyTokenizer");
  CHECK(unknown.model.vocab == 50257);
  CHECK(lists(unknown.report.assumed,
              "vocab_size 50257: MyTokenizer is not known; --set model.vocab_size=N says it (it "
              "matters for small models)"));
}

TEST_CASE("what is imported says how many parameters it has") {
  const ImportedJob job = job_of_script(kOneNode, {{}, {}, {}, {{"plan.nodes", "16"}}});
  REQUIRE(job.report.parameters);
  CHECK(static_cast<double>(*job.report.parameters) / 174.6e9 == doctest::Approx(1).epsilon(1e-3));
  CHECK(report_text(job.report).find("parameters: 174.6 billion (") != std::string::npos);
}

ImportNames with_nodes(const char* nodes) {
  return {"dgx-a100", {}, {}, {{"plan.nodes", nodes}}};
}

TEST_CASE("nodes that flags ask for are those of a script's variables, too") {
  const std::string launch =
      "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length "
      "2048 --micro-batch-size 2 --global-batch-size $GBS\n";
  const std::string slurm =
      "#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-node=8\n";
  const std::string by_nodes =
      slurm + "NNODES=$SLURM_NNODES\nGBS=$((2*8*NNODES))\nsrun torchrun --nnodes $NNODES " + launch;
  CHECK(job_of_script(by_nodes).plan.gbs == 64);
  const ImportedJob more = job_of_script(by_nodes, with_nodes("16"));
  CHECK(more.plan.gbs == 256);
  CHECK(more.plan.dp == 128);
  const std::string by_tasks = slurm + "GBS=$((SLURM_NTASKS*4))\nsrun python " + launch;
  CHECK(job_of_script(by_tasks).plan.gbs == 128);
  CHECK(job_of_script(by_tasks, with_nodes("8")).plan.gbs == 256);
  const std::string literal =
      "N=2\nGBS=$((N*8*4))\ntorchrun --nproc_per_node 8 --nnodes=${N} " + launch;
  CHECK(job_of_script(literal).plan.gbs == 64);
  CHECK(job_of_script(literal, with_nodes("8")).plan.gbs == 256);
  ImportNames given = with_nodes("8");
  given.script.environment = {"N=4"};  // said of the script itself
  CHECK(job_of_script(literal, given).plan.nodes == 8);
}

TEST_CASE("a model that the user names goes with the batches and the plan of files") {
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  ImportNames names = with_nodes("2");
  names.model = imported_model(library.open("models", "llama-3-8b"));
  const ImportedJob deepspeed = job_of_files(
      {{"ds.json", R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4,
                       "zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}})"}},
      names);
  CHECK(deepspeed.model.layers == 32);
  CHECK(deepspeed.plan.gbs == 64);
  CHECK(deepspeed.plan.zero == 3);
  CHECK(deepspeed.software == "pytorch-fsdp2-2024");
  CHECK(lists(deepspeed.report.read, "the model llama-3-8b: by --model"));
  CHECK(lists(deepspeed.report.assumed,
              "recompute full: no file says it; the default of pytorch-fsdp2-2024"));
  CHECK(lists(deepspeed.report.assumed,
              "precision bf16: DeepSpeed's config leaves it to the program (\"auto\"), and no file "
              "says it there"));
  const ImportedJob factory = job_of_files(
      {{"f.yaml",
        "model_name_or_path: /private\nfinetuning_type: full\ncutoff_len: 4096\nbf16: true\n"
        "per_device_train_batch_size: 2\ngradient_accumulation_steps: 8\n"}},
      names);
  CHECK(factory.model.kv_heads == 8);
  CHECK(factory.model.max_positions == 8192);
  CHECK(factory.plan.seq_len == 4096);
  CHECK(factory.plan.gbs == 256);
  const ImportedJob other = job_of_script(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 "
      "--num-attention-heads 2 --seq-length 128 --num-experts 8 --vocab-size 100\n",
      names);
  CHECK(other.model.hidden == 4096);
  CHECK(other.model.vocab == 128256);
  CHECK_FALSE(other.model.experts.count);
  CHECK(lists(other.report.assumed,
              "the model llama-3-8b, which --model names, not that of the files"));
}

TEST_CASE("rows that a coarser multiple adds to the embedding are the model's") {
  const auto with = [](const std::string& multiple) {
    return job_of_script(
        "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 24 --hidden-size "
        "2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 --vocab-size 50257 "
        "--tensor-model-parallel-size 2 --make-vocab-size-divisible-by " +
        multiple);
  };
  CHECK(with("128").model.vocab == 50257);
  CHECK(with("256").model.vocab == 50688);
  CHECK(lists(with("256").report.assumed,
              "vocab_size 50688: filled up by --make-vocab-size-divisible-by 256"));
  const ImportedJob finer = with("1");
  CHECK(finer.model.vocab == 50257);
  CHECK(lists(finer.report.left_out,
              "--make-vocab-size-divisible-by 1: predicted with 50432 rows of the embedding, which "
              "2 tensor ranks share, not 50258"));
}

}  // namespace
}  // namespace prequel
