/// Inputs of programs that no reader knows by itself.

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

TEST_CASE("llm.c's letters are its flags, and its models GPT-2's by their layers") {
  const ImportedJob job = job_of_script(
      "mpirun -np 8 ./train_gpt2cu -i train.bin -b 16 -t 1024 -d 1048576 -z 1 -e \"d48\"\n");
  CHECK(job.model.layers == 48);
  CHECK(job.model.hidden == 1600);
  CHECK(job.plan.mbs == 16);
  CHECK(job.plan.gbs == 1024);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.dp == 8);
}

TEST_CASE("layers that only fill up stages are none of the model's") {
  const std::string flags =
      "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 64 --hidden-size 1024 "
      "--num-attention-heads 16 --seq-length 1024 --pipeline-model-parallel-size 4 ";
  const ImportedJob job = job_of_script(flags + "--noop-layers 61,62,63\n");
  CHECK(job.model.layers == 61);
  CHECK(job.plan.layout == "Et*16|t*16|t*16|t*13L");
  CHECK(lists(job.report.read, "--noop-layers: 3 of 64 layers do nothing"));
}

TEST_CASE("layers of each stage are a layout, and TRL's words for accelerate's files a stage") {
  const ImportedJob job = job_of_script(
      "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 20 --hidden-size 1024 "
      "--num-attention-heads 16 --seq-length 1024 --pipeline-model-parallel-size 4 "
      "--num-layer-list 4,5,5,6\n");
  CHECK(job.plan.layout == "Et*4|t*5|t*5|t*6L");
  const ImportedJob trl =
      job_of_files({{"sft.yaml",
                     "model_name_or_path: HuggingFaceTB/SmolLM2-1.7B\naccelerate_config: zero2\n"
                     "num_processes: 8\nper_device_train_batch_size: 4\n"}});
  CHECK(trl.plan.zero == 2);
}

TEST_CASE("what a configuration leaves to be filled in is passed over, and said") {
  const ImportedJob job = job_of_files(
      {{"llama.yaml",
        "dump_dir: !!CHANGETHIS!!\ndistributed:\n  fsdp_type: full_shard\nmodel:\n  dim: 2048\n"
        "  n_layers: 25\n  n_heads: 16\ndata:\n  batch_size: 4\n  seq_len: 4096\n"}});
  CHECK(job.model.layers == 25);
  CHECK(job.model.hidden == 2048);
  CHECK(job.model.ffn_hidden == 5632);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.mbs == 4);
  CHECK(std::ranges::any_of(job.report.left_out, [](const std::string& line) {
    return line.ends_with("line 1 is not YAML; its value is not read");
  }));
}

TEST_CASE("a program's own configuration in JSON is read as one in YAML, and by any flag of it") {
  const ImportedJob job = job_of_files(
      {{"s.sh", "deepspeed --num_gpus=8 train.py --train_args_file args/sft.json\n"},
       {"sft.json", R"({"model_name_or_path": "bigscience/bloom-1b1", "max_seq_length": 900,
                        "per_device_train_batch_size": 12, "fp16": true,
                        "gradient_checkpointing": true})"}});
  CHECK(job.model.layers == 24);
  CHECK(job.plan.mbs == 12);
  CHECK(job.plan.seq_len == 900);
  const ImportedJob own = job_of_files({{"own.json",
                                         R"({"emb_size": 1024, "layers_num": 12, "heads_num": 16,
        "feedforward_size": 2816, "batch_size": 4, "max_seq_length": 2048})"}});
  CHECK(own.model.layers == 12);
  CHECK(own.model.hidden == 1024);
  CHECK(own.plan.mbs == 4);
}

TEST_CASE("what a shell is given behind -c is a command, whatever its flags look like") {
  const ImportedJob job = job_of_script(
      "#SBATCH --nodes=2\n#SBATCH --gres=gpu:8\nsrun -l bash -c \"\n  ./train_gpt2cu \\\n"
      "    -i 'dev/x' -b 64 -t 1024 -d 2097152 -z 1 -e d24\n\"\n");
  CHECK(job.model.layers == 24);
  CHECK(job.plan.mbs == 64);
  CHECK(job.plan.gbs == 2048);
  CHECK(job.plan.dp == 16);
}

TEST_CASE("devices by their numbers are counted, and a model that sees is refused by its encoder") {
  const ImportedJob job = job_of_files(
      {{"h2o.yaml",
        "llm_backbone: meta-llama/Llama-3.1-8B\nenvironment:\n  gpus: ['0', '1', '2', '3']\n"
        "training:\n  batch_size: 2\ntokenizer:\n  max_length: 4096\n"}});
  CHECK(job.model.layers == 32);
  CHECK(job.value("devices_per_node") == 4);
  CHECK(job.plan.mbs == 2);
  CHECK(refusal_of_script("torchrun train.py --lm_path x/mpt-1b --vision_encoder_path ViT-L-14\n")
            .starts_with("s.sh: --vision-encoder-path ViT-L-14: asks for a vision-language model"));
}

TEST_CASE("latent attention is known by its widths where a fork has no switch for it") {
  const std::string flags =
      "torchrun --nproc_per_node 8 --nnodes 1 pretrain_deepseek.py --num-layers 4 --hidden-size "
      "2048 --num-attention-heads 16 --seq-length 1024 --kv-lora-rank 512 ";
  CHECK(job_of_script(flags + "--qk-nope-head-dim 128 --qk-rope-head-dim 64 --v-head-dim 128\n")
            .model.latent.kv_rank == 512);
  const ImportedJob none = job_of_script(flags + "\n");
  CHECK_FALSE(none.model.latent.kv_rank);
  CHECK(lists(none.report.left_out,
              "--kv-lora-rank: has no effect without --multi-latent-attention"));
}

}  // namespace
}  // namespace prequel
