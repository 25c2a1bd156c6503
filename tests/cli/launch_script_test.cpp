#include "cli/import/launch_script.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/import/foreign_file.hpp"
#include "tests/error_text.hpp"

namespace prequel {
namespace {

std::string fixture(const std::string& name) {
  return std::string(PREQUEL_FIXTURES "/") + name;
}

ImportedJob job_of(const std::string& name) {
  return import_files({fixture(name)}).job;
}

TEST_CASE("every way to ask for 8 nodes of 8 devices is understood") {
  for (const char* name :
       {"slurm-gpus-per-node.slurm", "slurm-gpus-per-node-blank.slurm", "slurm-gres-type.slurm",
        "slurm-brief.slurm", "slurm-tasks.slurm", "slurm-total.slurm", "slurm-range.slurm",
        "slurm-variables.slurm", "torchrun.sh", "torch-launch.sh", "deepspeed-launcher.sh",
        "one-string.sh", "appended.sh", "loop.sh"}) {
    CAPTURE(name);
    const ImportedJob job = job_of(name);
    CHECK(job.gpus == 64);
    CHECK(job.plan.nodes == 8);
    CHECK(job.plan.dp == 16);
    CHECK(job.plan.tp == 4);
    CHECK(job.plan.gbs == 512);
    CHECK(job.model.layers == 24);
    CHECK(job.model.vocab == 50257);
    CHECK(job.plan.precision == Precision::bf16);
  }
  CHECK(job_of("mpirun.sh").gpus == 64);
  CHECK(job_of("mpirun.sh").plan.dp == 16);
  CHECK(job_of("slurm-gres-type.slurm").device_type == "h100");
}

TEST_CASE("a Llama script gives grouped queries, a gated MLP and interleaved stages") {
  const ImportedJob job = job_of("llama-2-70b.sh");
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.model.vocab == 32000);
  CHECK(job.gpus == 128);
  CHECK(job.plan.vpp == 4);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.attention == AttentionKind::flash);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(job.plan.recompute == Recompute::none);
}

TEST_CASE("Megatron-DeepSpeed's flags for a Llama model are understood") {
  const ImportedJob job = job_of("llama-megatron-deepspeed.sh");
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.position == PositionEmbedding::rope);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.attention == AttentionKind::flash);
}

TEST_CASE("a gated MLP without a width has Megatron's; query groups need their switch") {
  const ImportedJob job = job_of("swiglu-default-width.sh");
  CHECK(job.model.ffn_hidden == 10880);
  CHECK_FALSE(job.model.kv_heads);
}

TEST_CASE("variables and arrays may be appended to") {
  const ImportedJob job = job_of("appended.sh");
  CHECK(job.plan.recompute == Recompute::selective);
  CHECK(job.plan.sequence_parallel == true);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.grad_precision == Precision::fp32);
}

TEST_CASE("whether the host waits for each kernel is read from the environment") {
  CHECK(job_of("bigscience-176b.slurm").launch == Launch::blocking);
  const ImportedJob job = job_of("torchrun.sh");
  CHECK(job.launch == Launch::async);
  CHECK(std::count(job.report.assumed.begin(), job.report.assumed.end(),
                   "software.launch async: no CUDA_LAUNCH_BLOCKING=1") == 1);
}

TEST_CASE("variables that cannot be known are named, and nothing is made up for them") {
  const ImportedJob job = job_of("unresolved.sh");
  CHECK_FALSE(job.plan.nodes);
  CHECK_FALSE(job.plan.dp);
  CHECK(std::count(job.report.ignored.begin(), job.report.ignored.end(),
                   "$EXTRA_ARGS (not resolved)") == 1);
  CHECK(std::count(job.report.assumed.begin(), job.report.assumed.end(),
                   "--nnodes is left out: $(scontrol could not be resolved") == 1);
}

TEST_CASE("a mixture of experts is refused by its flag") {
  CHECK(error_text([] { (void)job_of("mixture.sh"); }) ==
        fixture("mixture.sh") +
            ": --num-experts 8: a mixture of experts; only dense decoders are modelled so far");
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
        std::string("A=("), std::string("<<"), std::string("<<EOF\n$"), std::string(100000, '('),
        "X=$((" + std::string(100000, '(') + "1))", std::string("$((9223372036854775807 + 1))"),
        std::string("$((1 / 0)) $((1 % 0))"), std::string("\0\xff\x80", 3),
        "bash -c \"bash -c 'bash -c \\\"x --y\\\"'\"" + std::string(1000, '"')}) {
    CAPTURE(text.substr(0, 20));
    CHECK_NOTHROW((void)read_launch_script("hostile.sh", text));
  }
}

}  // namespace
}  // namespace prequel
