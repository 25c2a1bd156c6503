#include "cli/import/configs/config_values.hpp"

#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ImportedJob job_of_toml(const std::string& toml, ImportNames names = {}) {
  return job_of_files({{"train.toml", toml}}, std::move(names));
}

const std::string kPreset = "# a preset\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n";

TEST_CASE("torchtitan's configuration gives the plan, and the model by its flavour") {
  const ImportedJob job = job_of_toml(kPreset + R"(converters = ["quantize.linear.float8"]
[optimizer]
name = "AdamW"
[training]
local_batch_size = 4
global_batch_size = -1
seq_len = 8192
mixed_precision_reduce = "float32"
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
enable_async_tensor_parallel = true
context_parallel_degree = 1
pipeline_parallel_degree = 1
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[compile]
enable = true
[quantize.linear.float8]
enable_fsdp_float8_all_gather = true
recipe_name = "rowwise"
[validation]
enable = false
)",
                                      {"dgx-h100", {}, {}, {{"plan.nodes", "4"}}});
  CHECK(job.model.layers == 32);
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.vocab == 128256);
  const PlanRequest& plan = job.plan;
  CHECK(plan.dp == 16);
  CHECK(plan.tp == 2);
  CHECK(plan.sequence_parallel == true);
  CHECK(plan.overlap == WordSet<Overlapped>{Overlapped::tp});
  CHECK(plan.mbs == 4);
  CHECK(plan.gbs == 64);
  CHECK(plan.seq_len == 8192);
  CHECK(plan.zero == 3);
  CHECK(plan.precision == Precision::fp8);
  CHECK(plan.fp8_recipe == Fp8Recipe::rowwise);
  CHECK(plan.fp8_param_gather == true);
  CHECK(plan.grad_precision == Precision::fp32);
  CHECK(plan.recompute == Recompute::selective);
  CHECK(plan.recompute_modules == WordSet<RecomputeModule>{RecomputeModule::operators});
  CHECK(job.software == "torchtitan-2025");
  CHECK(job.report.left_out.empty());
}

TEST_CASE("what is ignored is told as the file spells it") {
  const ImportedJob job = job_of_toml(kPreset +
                                          "[training]\nsteps = 1000\n[lr_scheduler]\n"
                                          "warmup-steps = 200\n",
                                      {"dgx-h100", {}, {}, {{"plan.nodes", "1"}}});
  CHECK(lists(job.report.ignored, "training.steps"));
  CHECK(lists(job.report.ignored, "lr_scheduler.warmup_steps"));
}

TEST_CASE("torchtitan's defaults are told where its configuration leaves them") {
  const ImportedJob job = job_of_toml(kPreset, {"dgx-h100", {}, {}, {{"plan.nodes", "1"}}});
  CHECK(job.plan.recompute == Recompute::selective);
  CHECK(job.plan.recompute_modules == WordSet<RecomputeModule>{RecomputeModule::blocks});
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.plan.zero == 3);
  CHECK(
      lists(job.report.assumed,
            "recompute selective: torchtitan's, as no activation_checkpoint.mode says otherwise"));
  CHECK(job.report.left_out.empty());
  CHECK(job.plan.compile == false);
}

TEST_CASE("pipelines take a rank's batch in micro batches, by the schedule that is named") {
  const auto plan = [](const std::string& parallelism, const std::string& training = "") {
    return job_of_toml(kPreset + "[training]\nlocal_batch_size = 8\n" + training +
                           "[compile]\nenable = true\n[parallelism]\n" + parallelism,
                       {"dgx-h100", {}, {}, {{"plan.nodes", "4"}}})
        .plan;
  };
  const PlanRequest plain = plan("pipeline_parallel_degree = 4\n");
  CHECK(plain.mbs == 1);
  CHECK(plain.dp == 8);
  CHECK(plain.gbs == 64);
  CHECK(plain.schedule == Schedule::one_f_one_b);
  CHECK(plan("pipeline_parallel_degree = 4\npipeline_parallel_microbatch_size = 2\n").mbs == 2);
  CHECK(plan("pipeline_parallel_degree = 4\npipeline_parallel_microbatches = 4\n").mbs == 2);
  const PlanRequest looped =
      plan("pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"Interleaved1F1B\"\n");
  CHECK(looped.schedule == Schedule::interleaved);
  CHECK(looped.vpp == 2);
  // 32 layers, embedding and head: 12 chunks of up to 3.
  CHECK(plan("pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
             "pipeline_parallel_layers_per_stage = 3\n")
            .vpp == 3);
  const PlanRequest folded =
      plan("pipeline_parallel_degree = 2\npipeline_parallel_schedule = \"ZBVZeroBubble\"\n");
  CHECK(folded.schedule == Schedule::zb_v);
  CHECK(folded.vpp == 2);
  CHECK_FALSE(
      plan("pipeline_parallel_degree = 1\npipeline_parallel_schedule = \"1F1B\"\n").schedule);
  const ImportedJob unknown = job_of_toml(kPreset +
                                          "[parallelism]\npipeline_parallel_degree = 2\n"
                                          "pipeline_parallel_schedule = \"LoopedBFS\"\n");
  CHECK(lists(unknown.report.left_out,
              "--pipeline-parallel-schedule LoopedBFS is not known; predicted without it"));
}

TEST_CASE("degrees of data parallelism say who shards") {
  const auto plan = [](const std::string& parallelism) {
    return job_of_toml(kPreset + "[parallelism]\n" + parallelism,
                       {"dgx-h100", {}, {}, {{"plan.nodes", "4"}}})
        .plan;
  };
  const PlanRequest hybrid =
      plan("data_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 8\n");
  CHECK(hybrid.dp == 32);
  CHECK(hybrid.zero == 3);
  CHECK(hybrid.sharding_group == ShardingGroup::node);
  const PlanRequest copies =
      plan("data_parallel_replicate_degree = 32\ndata_parallel_shard_degree = 1\n");
  CHECK(copies.zero == 0);
  CHECK(plan("fsdp_reshard_after_forward = \"never\"\n").zero == 2);
}

TEST_CASE("experts of torchtitan's models are those of the shipped ones") {
  const ImportedJob job = job_of_toml(
      "[model]\nname = \"deepseek_v3\"\nflavor = \"671B\"\n[training]\nlocal_batch_size = 4\n"
      "[parallelism]\nexpert_parallel_degree = 8\n[activation_checkpoint]\nmode = \"none\"\n",
      {"dgx-h100", {}, {}, {{"plan.nodes", "32"}}});
  CHECK(job.model.experts.count == 256);
  CHECK(job.model.latent.kv_rank == 512);
  CHECK(job.plan.ep == 8);
  CHECK(job.plan.recompute == Recompute::none);
  REQUIRE(job.report.parameters);
  CHECK(static_cast<double>(*job.report.parameters) == doctest::Approx(671e9).epsilon(0.03));
}

TEST_CASE("TOML without a model, of an unknown flavour or that means harm is refused") {
  const auto refusal = [](const std::string& toml) {
    const std::string text = error_text([&] { (void)job_of_toml(toml); });
    return text.substr(std::min(text.size(), text.find("train.toml")));
  };
  CHECK(
      refusal("[model]\nname = \"llama3\"\nflavor = \"9B\"\n") ==
      "train.toml: names the model llama3 9B without its shape; add that file or its config.json");
  CHECK(refusal("[training]\nseq_len = 8192\n").find("YAML or TOML") != std::string::npos);
  CHECK(refusal("[model]\nname = \n").starts_with("train.toml: not TOML: line 2: "));
  std::string deep = "[model]\na = ";
  for (int i = 0; i < 20000; ++i) deep += "[";
  CHECK(refusal(deep).starts_with("train.toml: not TOML"));
}

}  // namespace
}  // namespace prequel
