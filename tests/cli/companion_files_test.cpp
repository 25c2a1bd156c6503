#include "cli/import/companion_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

constexpr const char* kStage3 =
    R"({"zero_optimization": {"stage": 3, "overlap_comm": true}, "bf16": {"enabled": true}})";
constexpr const char* kTrainer =
    "deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf "
    "--per_device_train_batch_size 2 --max_seq_length 2048 ";

/// A repository in a folder of its own, so that nothing around it is read.
class Repository {
 public:
  Repository() { std::filesystem::create_directories(folder_ / ".git"); }

  [[nodiscard]] std::string with(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] static ImportedJob job_of(const std::vector<std::string>& paths) {
    const Library library({PREQUEL_SOURCE_DIR "/data"});
    ImportNames names;
    names.library = &library;
    return import_files(paths, names).job;
  }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("a DeepSpeed config is read where the script names it") {
  const Repository repository;
  const std::string config = repository.with("configs/zero.json", kStage3);
  for (const char* name : {"configs/zero.json", "./configs/zero.json", "$ROOT/configs/zero.json",
                           "${SCRIPT_DIR}/../configs/zero.json", "$(pwd)/configs/zero.json",
                           "`pwd`/configs/zero.json"}) {
    CAPTURE(name);
    const std::string script =
        repository.with("scripts/llama/s.sh", std::string(kTrainer) + "--deepspeed " + name + "\n");
    const ImportedJob job = Repository::job_of({script});
    CHECK(job.plan.zero == 3);
    CHECK(job.plan.precision == Precision::bf16);
    CHECK(lists(job.report.read, config + ": named by " + script));
    CHECK(lists(job.report.read, config + ": DeepSpeed config"));
  }
}

TEST_CASE("the nearest file of the name is read, and one that is given stands for it") {
  const Repository repository;
  (void)repository.with("ds.json", kStage3);
  (void)repository.with("scripts/ds.json", R"({"zero_optimization": {"stage": 1}})");
  const std::string script =
      repository.with("scripts/s.sh", std::string(kTrainer) + "--deepspeed ds.json\n");
  CHECK(Repository::job_of({script}).plan.zero == 1);
  const std::string other = repository.with("mine.json", R"({"zero_optimization": {"stage": 2}})");
  CHECK(Repository::job_of({script, other}).plan.zero == 2);
}

TEST_CASE("accelerate's file says how many devices there are, and its stage") {
  const Repository repository;
  (void)repository.with("accelerate/zero3.yaml",
                        "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_machines: 2\n"
                        "num_processes: 16\ndeepspeed_config:\n  zero_stage: 3\n");
  const std::string script = repository.with(
      "s.sh",
      "accelerate launch --config_file accelerate/zero3.yaml sft.py --model_name_or_path "
      "Qwen/Qwen2-7B --max_length 4096 --per_device_train_batch_size 2\n");
  const ImportedJob job = Repository::job_of({script});
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.nodes == 2);
  CHECK(job.plan.dp == 16);
  CHECK(job.plan.gbs == 32);
  CHECK(job.report.left_out.empty());
}

TEST_CASE("a model's folder, a configuration behind a program, scripts that are sourced and run") {
  const Repository repository;
  (void)repository.with("models/tiny/config.json",
                        R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 256,
                            "num_attention_heads": 4, "intermediate_size": 512,
                            "vocab_size": 1000})");
  (void)repository.with("env.sh", "export NNODES=4\n");
  (void)repository.with("conf/sft.yaml",
                        "model_name_or_path: models/tiny\nfinetuning_type: full\n"
                        "cutoff_len: 512\nper_device_train_batch_size: 3\nbf16: true\n");
  (void)repository.with("inner.sh",
                        "torchrun --nnodes $NNODES --nproc_per_node 8 train.py conf/sft.yaml\n");
  const std::string script = repository.with("run.sh", "source env.sh\nbash $REPO/inner.sh\n");
  const ImportedJob job = Repository::job_of({script});
  CHECK(job.model.layers == 3);
  CHECK(job.model.vocab == 1000);
  CHECK(job.plan.nodes == 4);
  CHECK(job.plan.mbs == 3);
  CHECK(job.plan.seq_len == 512);
}

TEST_CASE("a model's file behind any flag of models is read") {
  const Repository repository;
  (void)repository.with("configs/tiny.json",
                        R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 256,
                            "num_attention_heads": 4, "intermediate_size": 512,
                            "vocab_size": 1000})");
  const std::string script = repository.with(
      "s.sh",
      "torchrun --nproc_per_node 8 main.py --model_config configs/tiny.json --max_length "
      "256 --per_device_train_batch_size 16\n");
  CHECK(Repository::job_of({script}).model.layers == 3);
}

TEST_CASE("Hydra's configuration extends those that its defaults name") {
  const Repository repository;
  (void)repository.with("conf/train/7b.yaml",
                        "model:\n  num_layers: 4\n  hidden_size: 512\n  num_attention_heads: 8\n"
                        "  seq_length: 1024\n  micro_batch_size: 2\n");
  const std::string config = repository.with(
      "conf/config.yaml", "defaults:\n  - _self_\n  - train: 7b\nexperiment:\n  seed: 1\n");
  const ImportedJob job = Repository::job_of({config});
  CHECK(job.model.layers == 4);
  CHECK(job.plan.mbs == 2);
}

TEST_CASE("nothing is read outside of the repository, nor what is no regular file") {
  const Repository repository;
  const Repository other;
  const std::string outside = other.with("ds.json", kStage3);
  std::filesystem::create_symlink(outside, repository / "link.json");
  std::filesystem::create_directories(repository / "folder.json");
  const std::string by = repository.with("scripts/s.sh", "x\n");
  const std::string inside = repository.with("in.json", kStage3);
  CHECK(file_beside("in.json", by) == inside);
  CHECK(file_beside("../in.json", by) == inside);
  CHECK(file_beside(inside, by) == inside);
  std::filesystem::create_symlink("../in.json", repository / "scripts/linked.json");
  CHECK(file_beside("linked.json", by) == repository / "scripts/linked.json");
  for (const std::string& name :
       {outside, std::string("link.json"), std::string("folder.json"), std::string("none.json"),
        std::string(), std::string("~/ds.json"), std::string("https://a.b/c.json"),
        std::string("$A$B/in.json"), std::string("$A"), std::string("${A"), std::string("in*.json"),
        "../../" + std::filesystem::path(outside).parent_path().filename().string() + "/ds.json",
        std::string("/dev/zero"), std::string(5000, 'a'), std::string("a\0b", 3)}) {
    CAPTURE(name);
    CHECK_FALSE(file_beside(name, by));
  }
}

TEST_CASE("without a repository only the script's own folder is looked into") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "scripts");
  (void)folder.with("above.json", kStage3);
  const std::string by = folder.with("scripts/s.sh", "x\n");
  const std::string beside = folder.with("scripts/beside.json", kStage3);
  CHECK(file_beside("beside.json", by) == beside);
  CHECK_FALSE(file_beside("above.json", by));
  CHECK_FALSE(file_beside("../above.json", by));
}

TEST_CASE(
    "a file that is there and cannot be read is refused, and one of another kind passed over") {
  const Repository repository;
  const std::string config = repository.with("ds.json", "{\"zero_optimization\": {\"stage\": ");
  const std::string script =
      repository.with("s.sh", std::string(kTrainer) + "--deepspeed ds.json\n");
  CHECK(error_text([&] {
          (void)Repository::job_of({script});
        }).starts_with(config + ": line 1, column"));
  (void)repository.with("ds.json", R"({"lr": 1e-4})");
  CHECK(lists(Repository::job_of({script}).report.left_out,
              "ds.json: not among the files; prequel import SCRIPT CONFIG reads both (until then "
              "ZeRO is as the software has it by default)"));
}

TEST_CASE("files that name each other are read once") {
  const Repository repository;
  (void)repository.with("a.sh", "source b.sh\nA=1\n");
  (void)repository.with("b.sh", "source a.sh\nB=2\n");
  const std::string script = repository.with(
      "s.sh", "source a.sh\n" + std::string(kTrainer) + "--num_train_epochs $A$B\n");
  CHECK(Repository::job_of({script}).model.layers == 32);
}

TEST_CASE("what sbatch is given is found by any ending of a script") {
  const TemporaryFolder folder;
  (void)folder.with("train.sbatch",
                    "srun python pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
                    "--num-attention-heads 16 --micro-batch-size $1\n");
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  ImportNames names;
  names.library = &library;
  const std::string driver =
      folder.with("s.sh", "for N in 1 2; do sbatch --nodes 4 train.sbatch $N; done\n");
  const ImportedJob job = import_files({driver}, names).job;
  CHECK(job.model.layers == 24);
  CHECK(job.plan.mbs == 2);
}

TEST_CASE("XTuner's configuration stands behind its command") {
  const ImportedJob job = job_of_files(
      {{"s.sh", "srun --nodes=2 xtuner train c.py --deepspeed deepspeed_zero3\n"},
       {"c.py",
        "pretrained_model_name_or_path = 'internlm/internlm2-7b'\nmax_length = 4096\n"
        "batch_size = 1\naccumulative_counts = 4\nmodel = dict(type=SupervisedFinetune)\n"}});
  CHECK(job.plan.seq_len == 4096);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.recompute == Recompute::full);
}

}  // namespace
}  // namespace prequel
