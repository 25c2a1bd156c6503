#include "cli/import/job/imported_job.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

const std::string kLlamaFlags =
    "pretrain_gpt.py --num-layers 80 --hidden-size 8192 --num-attention-heads 64 --vocab-size "
    "32000 "
    "--seq-length 4096 --max-position-embeddings 4096 --bf16 ";

/// A script of Megatron-DeepSpeed on 4 nodes of 8 (dp 8), its config in a here-document.
std::string deepspeed_script(const std::string& config, const std::string& flags,
                             const std::string& launcher = "--num_gpus 8 --num_nodes 4") {
  return "cat <<EOF > ds.json\n" + config + "\nEOF\ndeepspeed " + launcher + " " + kLlamaFlags +
         "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --deepspeed "
         "--deepspeed_config ds.json " +
         flags + "\n";
}

/// Returns the message about the script `s.sh`, without its folder.
std::string refusal_of_bare_script(const std::string& script) {
  const TemporaryFolder folder;
  const std::string file = folder.with("s.sh", script);
  std::string text = error_text([&] { (void)import_files({file}); });
  for (std::size_t at = text.find(file); at != std::string::npos; at = text.find(file)) {
    text.replace(at, file.size(), "s.sh");
  }
  return text;
}

ImportedJob job_of_bare_script(const std::string& script, const ImportNames& names = {}) {
  const TemporaryFolder folder;
  return import_files({folder.with("s.sh", script)}, names).job;
}

TEST_CASE("the global batch follows from micro batch, accumulation steps and dp") {
  const std::string config =
      R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 5})";
  const ImportedJob job = job_of_bare_script(deepspeed_script(config, ""));
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.gbs == 80);
  CHECK(lists(job.report.assumed, "gbs 80: dp 8 x mbs 2 x 5 accumulation steps"));
}

TEST_CASE("where dp is not known, what is missing for the batch is said") {
  const std::string script =
      deepspeed_script(R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 5})",
                       "", "--hostfile hosts");
  const ImportedJob job = job_of_bare_script(script);
  CHECK_FALSE(job.plan.gbs);
  CHECK(lists(job.report.left_out,
              "gbs: it would be mbs 2 x 5 accumulation steps x dp; missing: the number of nodes "
              "(--nodes), the devices of a node (--cluster); --gbs N says it"));
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  CHECK(job_of_bare_script(script, {"dgx-a100", {}, &library, {{"plan.nodes", "4"}}}).plan.gbs ==
        80);
  CHECK(job_of_bare_script(script,
                           {"dgx-a100", {}, &library, {{"plan.nodes", "4"}, {"plan.tp", "4"}}})
            .plan.gbs == 40);
}

TEST_CASE("a config with the global batch alone has micro batches that need one step") {
  const ImportedJob job = job_of_bare_script(deepspeed_script(R"({"train_batch_size": 256})", ""));
  CHECK(job.plan.mbs == 32);
  CHECK(
      lists(job.report.assumed, "mbs 32: gbs 256 / dp 8 / 1 accumulation step (no more are said)"));
  CHECK(lists(job.report.assumed,
              "precision bf16: DeepSpeed's config enables neither bf16 nor fp16, in which case it "
              "trains in fp32") == false);  // --bf16 says it
}

TEST_CASE("batch sizes that do not multiply to one another are refused, as DeepSpeed does") {
  const std::string sizes =
      R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 2,
          "gradient_accumulation_steps": 5})";
  CHECK(refusal_of_bare_script(deepspeed_script(sizes, "")) ==
        "s.sh: train_batch_size 256 is not micro batch 2 x gradient_accumulation_steps 5 x dp 8 = "
        "80, which DeepSpeed refuses; 16 accumulation steps would do");
  CHECK(refusal_of_bare_script(deepspeed_script(sizes, "", "--hostfile hosts")) ==
        "s.sh: train_batch_size 256 is not a multiple of micro batch 2 x "
        "gradient_accumulation_steps 5 = 10, which DeepSpeed refuses");
  CHECK(refusal_of_bare_script(deepspeed_script(
            R"({"train_batch_size": 256, "gradient_accumulation_steps": 5})", "")) ==
        "s.sh: train_batch_size 256 is not a multiple of gradient_accumulation_steps 5 x dp 8 = "
        "40, which DeepSpeed refuses");
  CHECK(refusal_of_bare_script(deepspeed_script(
            R"({"train_batch_size": 80, "train_micro_batch_size_per_gpu": 2,
                "gradient_accumulation_steps": 5})",
            "")) == "no error");
}

TEST_CASE("a flag and a config that differ on one batch size are refused") {
  const std::string config = R"({"train_batch_size": 512, "train_micro_batch_size_per_gpu": 2})";
  CHECK(refusal_of_bare_script(
            deepspeed_script(config, "--micro-batch-size 4 --global-batch-size 256")) ==
        "s.sh: --micro-batch-size 4 contradicts train_micro_batch_size_per_gpu 2 of the DeepSpeed "
        "config; Megatron-DeepSpeed refuses two that differ\n"
        "s.sh: --global-batch-size 256 contradicts train_batch_size 512 of the DeepSpeed config; "
        "Megatron-DeepSpeed refuses two that differ");
  CHECK(refusal_of_bare_script(deepspeed_script(
            config, "--micro-batch-size 2 --global-batch-size 512")) == "no error");
}

TEST_CASE("chunks that do not divide a stage are refused, with those that would") {
  const std::string script = "torchrun --nproc_per_node 8 --nnodes 16 " + kLlamaFlags +
                             "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 "
                             "--micro-batch-size 1 --global-batch-size 512 ";
  const std::string would =
      " do not divide by it, which Megatron refuses; 1, 2, 4, 5, 10 or 20 would do";
  CHECK(refusal_of_bare_script(script + "--num-layers-per-virtual-pipeline-stage 7") ==
        "s.sh: --num-layers-per-virtual-pipeline-stage 7: the 20 layers of a stage (80 / pp 4)" +
            would);
  CHECK(refusal_of_bare_script(script + "--num-virtual-stages-per-pipeline-rank 3") ==
        "s.sh: --num-virtual-stages-per-pipeline-rank 3: the 20 layers of a stage (80 / pp 4)" +
            would);
  CHECK(job_of_bare_script(script + "--num-layers-per-virtual-pipeline-stage 5").plan.vpp == 4);
  CHECK(refusal_of_bare_script(script + "--num-virtual-stages-per-pipeline-rank 2 "
                                        "--num-layers-per-virtual-pipeline-stage 10") ==
        "s.sh: --num-layers-per-virtual-pipeline-stage and --num-virtual-stages-per-pipeline-rank: "
        "Megatron takes one of them");
  CHECK(refusal_of_bare_script("torchrun --nproc_per_node 8 " + kLlamaFlags +
                               "--num-layers-per-virtual-pipeline-stage 5")
            .starts_with("s.sh: --num-layers-per-virtual-pipeline-stage 5: chunks need pipeline "
                         "stages, and there is one"));
}

TEST_CASE("embedding and head count in chunks where they count as layers") {
  const std::string script =
      "torchrun --nproc_per_node 8 --nnodes 1 p.py --num-layers 30 --hidden-size 1024 "
      "--num-attention-heads 16 --pipeline-model-parallel-size 4 "
      "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split "
      "--num-layers-per-virtual-pipeline-stage ";
  CHECK(job_of_bare_script(script + "4").plan.vpp == 2);
  CHECK(refusal_of_bare_script(script + "3") ==
        "s.sh: --num-layers-per-virtual-pipeline-stage 3: the 8 layers (with embedding and head) "
        "of a stage (32 / pp 4) do not divide by it, which Megatron refuses; 1, 2, 4 or 8 would "
        "do");
}

TEST_CASE("flags that exclude or need each other are refused together") {
  const std::string script = "torchrun --nproc_per_node 8 --nnodes 1 " + kLlamaFlags;
  CHECK(refusal_of_bare_script(script + "--fp16 --overlap-param-gather --seq-length 8192 "
                                        "--tensor-model-parallel-size 3 --recompute-activations "
                                        "--recompute-method uniform") ==
        "s.sh: 8 devices are not a multiple of tp 3 x pp 1 = 3, which the framework refuses\n"
        "s.sh: --seq-length 8192 is longer than --max-position-embeddings 4096, which Megatron "
        "refuses\n"
        "s.sh: --fp16 and --bf16: Megatron takes one of them\n"
        "s.sh: --overlap-param-gather needs --overlap-grad-reduce, without which Megatron refuses "
        "it\n"
        "s.sh: --overlap-param-gather needs --use-distributed-optimizer, without which Megatron "
        "refuses it\n"
        "s.sh: --recompute-method: Megatron takes it with --recompute-granularity full only, not "
        "with selective recomputation");
}

TEST_CASE(
    "where flags and DeepSpeed's config may differ, the config counts, in any order of files") {
  const TemporaryFolder folder;
  const std::string script = folder.with("s.sh", "deepspeed --num_gpus 8 --num_nodes 2 " +
                                                     kLlamaFlags + "--zero-stage 1 --deepspeed\n");
  const std::string config = folder.with(
      "ds.json",
      R"({"zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 5},
          "fp16": {"enabled": true, "loss_scale": 0}, "steps_per_print": 1})");
  for (const auto& files : {std::vector{script, config}, std::vector{config, script}}) {
    const ImportedJob job = import_files(files).job;
    CHECK(job.plan.zero == 2);
    CHECK(job.plan.precision == Precision::fp16);
    CHECK(lists(job.report.assumed, "ZeRO 2: of DeepSpeed's config, not --zero-stage 1"));
    CHECK(lists(job.report.assumed, "precision fp16: of DeepSpeed's config, not --bf16"));
    CHECK(lists(job.report.ignored, "DeepSpeed's zero_optimization.reduce_bucket_size"));
    CHECK(lists(job.report.ignored, "DeepSpeed's fp16.loss_scale"));
    CHECK(lists(job.report.ignored, "DeepSpeed's steps_per_print"));
  }
  CHECK(lists(import_files({script}).job.report.left_out,
              "DeepSpeed's config: not among the files; prequel import SCRIPT CONFIG reads both"));
  const std::string both =
      folder.with("both.json", R"({"train_batch_size": 8, "fp16": {"enabled": true},
                                   "bf16": {"enabled": true}})");
  CHECK(error_text([&] { (void)import_files({both}); }) ==
        both + ": bf16 and fp16 are both enabled, which DeepSpeed refuses");
}

}  // namespace
}  // namespace prequel
