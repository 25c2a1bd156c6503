#include "cli/import/logged_runs.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "calibrate/validate/measured_runs.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

Import import_named(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back(fixture(name));
  return import_files(files);
}

TEST_CASE("every log gives its plan, cluster size, median time and memory") {
  const struct {
    std::vector<const char*> files;
    std::int64_t layers, gpus, dp, tp, pp, gbs;
    double seconds, tflops, memory;
  } known[] = {
      {{"megatron-core.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 41},
      {{"megatron-core-microseconds.log"}, 32, 64, 8, 4, 2, 512, 2.398, 180, 0},
      {{"megatron-2020.log"}, 54, 8, 1, 8, 1, 8, 1.0245, 0, 0},
      {{"torchrun.sh", "megatron-2021.log"}, 24, 64, 16, 4, 1, 512, 1.85, 0, 0},
      {{"bigscience.log"}, 70, 384, 4, 8, 12, 2048, 104.5, 134.15, 52},
      {{"bigscience-181b.slurm", "bigscience-181b.log"},
       72,
       384,
       8,
       8,
       6,
       2048,
       120.18,
       134.15,
       55},
      {{"bigscience-176b.slurm", "bigscience.log"}, 70, 384, 4, 8, 12, 2048, 104.5, 134.15, 52},
      {{"srun-label.log"}, 70, 384, 4, 8, 12, 2048, 104.5, 134.15, 0},
      {{"restarted.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 0},
      {{"megatron-deepspeed-2023.log"}, 32, 64, 8, 4, 2, 256, 6.3, 61.2, 30.2},
      {{"llama-3-70b.log"}, 80, 128, 4, 8, 4, 256, 21, 380, 0},
      {{"truncated-line.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 0},
      {{"truncated-dump.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 0},
      {{"interleaved.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 42},
      {{"crlf-colours.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 0},
      {{"every-rank.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 0},
      {{"nccl-debug.log"}, 32, 64, 8, 4, 2, 512, 2.4, 180, 0},
  };
  for (const auto& one : known) {
    const Import import = import_named({one.files.begin(), one.files.end()});
    CAPTURE(one.files.back());
    REQUIRE(import.runs.size() == 1);
    const LoggedRun& run = import.runs.front();
    CHECK(run.job.model.layers == one.layers);
    CHECK(run.job.value("devices") == one.gpus);
    CHECK(run.job.plan.dp == one.dp);
    CHECK(run.job.plan.tp == one.tp);
    CHECK(run.job.plan.pp.value_or(1) == one.pp);
    CHECK(run.job.plan.gbs == one.gbs);
    CHECK(run.sec_per_iter.value_or(0) == doctest::Approx(one.seconds).epsilon(1e-3));
    CHECK(run.tflops_per_gpu.value_or(0) == one.tflops);
    CHECK(run.memory_gib.value_or(0) == doctest::Approx(one.memory));
    CHECK_FALSE(run.out_of_memory);
  }
}

TEST_CASE("DeepSpeed's rates are times of its batch size, the model comes from another file") {
  for (const char* log : {"deepspeed-2021.log", "deepspeed-2023.log", "deepspeed-pipeline.log"}) {
    CAPTURE(log);
    const Import import = import_named({"gpt2-config.json", log});
    REQUIRE(import.runs.size() == 1);
    const LoggedRun& run = import.runs.front();
    CHECK(run.sec_per_iter.value_or(0) == doctest::Approx(5).epsilon(0.02));
    CHECK(run.job.model.hidden == 768);
    CHECK(run.job.plan.gbs == 256);
    CHECK(run.job.plan.mbs == 8);
    CHECK(run.job.plan.zero == 2);
    CHECK(run.job.plan.precision == Precision::fp16);
    CHECK(run.job.value("devices") == 8);
  }
}

TEST_CASE("a ramp-up gives one run for each settled batch size") {
  const Import import = import_named({"rampup.log"});
  REQUIRE(import.runs.size() == 3);
  CHECK(import.runs[0].id == "rampup-gbs192");
  CHECK(import.runs[0].sec_per_iter.value_or(0) == doctest::Approx(10.6));
  CHECK(import.runs[1].job.plan.gbs == 208);
  CHECK(import.runs[2].job.plan.gbs == 2048);
  CHECK(import.job.report.left_out ==
        std::vector<std::string>{fixture("rampup.log") +
                                 ": global batch 224: fewer than 3 lines after the warm-up"});
}

TEST_CASE("two jobs in one file are two runs") {
  const Import import = import_named({"two-jobs.log"});
  REQUIRE(import.runs.size() == 2);
  CHECK(import.runs[1].id == "two-jobs-2-gbs512");
  CHECK(import.runs[0].job.plan.mbs == 2);
  CHECK(import.runs[1].job.plan.mbs == 4);
  CHECK(import.runs[1].sec_per_iter.value_or(0) == doctest::Approx(2.3));
}

TEST_CASE("a run that ends out of memory says so, with or without a time") {
  const LoggedRun start = import_named({"oom-at-start.log"}).runs.at(0);
  CHECK(start.out_of_memory);
  CHECK_FALSE(start.sec_per_iter);
  CHECK(start.job.plan.mbs == 16);
  const LoggedRun later = import_named({"oom-later.log"}).runs.at(0);
  CHECK(later.out_of_memory);
  CHECK(later.sec_per_iter);
}

TEST_CASE("lines that were cut off or written into are reported") {
  CHECK(import_named({"interleaved.log"}).job.report.left_out ==
        std::vector<std::string>{fixture("interleaved.log") +
                                 ": 2 iteration lines are broken (the first is line 53)"});
}

TEST_CASE("the arguments of a log are the whole truth about the model") {
  const ImportedJob job = import_named({"llama-3-70b.log"}).runs.at(0).job;
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.model.norm == Norm::rms_norm);
  CHECK(job.model.position == PositionEmbedding::rope);
  CHECK(job.model.linear_bias == false);
  CHECK(job.model.tied_embeddings == false);
  CHECK(job.model.vocab == 128256);
  CHECK(job.plan.vpp == 5);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.recompute == Recompute::selective);
  CHECK(job.plan.grad_precision == Precision::fp32);
  // Megatron prints one query group where queries are not grouped.
  CHECK_FALSE(import_named({"megatron-core.log"}).runs.at(0).job.model.kv_heads);
}

TEST_CASE("a log that times nothing but its start, or no model, is refused") {
  const std::string start = fixture("start-up-only.log");
  CHECK(error_text([&] { (void)import_files({start}); }) ==
        start + ": only start-up was timed (iteration lines: 1); at least two are needed");
  const std::string model =
      ": no --num-layers and --hidden-size found; expected a launch script, a configuration in "
      "YAML or TOML, a Hugging Face or DeepSpeed config, or a training log (with its script)";
  CHECK(error_text([&] { (void)import_named({"noise.log"}); }) == fixture("noise.log") + model);
  CHECK(error_text([&] { (void)import_named({"megatron-2021.log"}); }) ==
        fixture("megatron-2021.log") + model);
}

TEST_CASE("the table that comes out is one that validation reads, without contradictions") {
  const Import import = import_files({fixture("bigscience-176b.slurm"), fixture("rampup.log")},
                                     {"jean-zay-a100", std::nullopt});
  std::istringstream table(runs_csv(import.runs));
  const auto rows = read_measured_runs(table, "runs.csv");
  REQUIRE(rows.size() == 3);
  for (const MeasuredRun& row : rows) {
    CHECK(row.contradiction.empty());
    CHECK(row.model.has_value());
    CHECK(row.cluster == "jean-zay-a100");
    CHECK(row.software.empty());
    CHECK(row.nodes == 48);
    CHECK(row.plan.stage_split == StageSplit::embedding_as_layer);
  }
  CHECK(rows[0].sec_per_iter == doctest::Approx(10.6));
}

TEST_CASE("cluster and software are assumed only where nobody names them, and it is said") {
  CHECK(import_named({"megatron-core.log"}).job.report.assumed ==
        std::vector<std::string>{"software megatron-core-2024: no file names it (--software NAME)",
                                 "cluster dgx-a100: no file names it (--cluster NAME)",
                                 "attention: no argument names one; the software's default"});
}

}  // namespace
}  // namespace prequel
