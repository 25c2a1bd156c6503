#include "cli/import/logged_runs.hpp"

#include <doctest/doctest.h>

#include "cli/import/job/imported_job.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ImportedJob job_of_arguments(const LogSection::Arguments& arguments) {
  Facts facts = job_with_names();
  read_argument_dump("log.txt", arguments, facts);
  return resolve(facts);
}

TEST_CASE("True is a flag, None and False are none, and an enumerator loses its class") {
  const ImportedJob job =
      job_of_arguments({{"swiglu", "True"},
                        {"bf16", "False"},
                        {"num_experts", "None"},
                        {"use_distributed_optimizer", "True"},
                        {"attention_backend", "AttnBackend.flash"},
                        {"position_embedding_type", "PositionEmbeddingType.alibi"}});
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK_FALSE(job.plan.precision);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.attention == AttentionKind::flash);
  CHECK(job.model.position == PositionEmbedding::alibi);
}

TEST_CASE("what the program derived itself is read: ranks, precision, padded vocabulary") {
  const ImportedJob job = job_of_arguments({{"world_size", "384"},
                                            {"data_parallel_size", "8"},
                                            {"params_dtype", "torch.bfloat16"},
                                            {"padded_vocab_size", "50304"},
                                            {"zero_stage", "1.0"},
                                            {"deepspeed", "True"}});
  CHECK(job.value("devices") == 384);
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.model.vocab == 50304);
  CHECK(job.plan.zero == 1);
  CHECK(job.says("deepspeed"));
}

TEST_CASE("products in fp8 count before the type of the parameters") {
  const ImportedJob job = job_of_arguments({{"fp8", "hybrid"}, {"params_dtype", "torch.bfloat16"}});
  CHECK(job.plan.precision == Precision::fp8);
}

TEST_CASE("defaults that a dump prints of what nothing asks for say nothing") {
  const LogSection::Arguments defaults{{"cp_comm_type", "['p2p']"},
                                       {"exp_avg_dtype", "torch.float32"},
                                       {"exp_avg_sq_dtype", "torch.float32"},
                                       {"expert_tensor_parallel_size", "2"},
                                       {"fp4_recipe", "nvfp4"},
                                       {"fp8_recipe", "delayed"},
                                       {"main_grads_dtype", "torch.float32"},
                                       {"main_params_dtype", "torch.float32"},
                                       {"moe_flex_dispatcher_backend", "deepep"},
                                       {"moe_token_dispatcher_type", "allgather"},
                                       {"num_layers", "32"},
                                       {"optimizer_offload_fraction", "1.0"},
                                       {"params_dtype", "torch.bfloat16"},
                                       {"recompute_modules", "['core_attn']"},
                                       {"tensor_model_parallel_size", "2"}};
  const ImportedJob dense = job_of_arguments(defaults);
  CHECK_FALSE(dense.plan.etp);
  CHECK_FALSE(dense.plan.dispatcher);
  CHECK_FALSE(dense.plan.fp8_recipe);
  CHECK_FALSE(dense.plan.optimizer_offload);
  CHECK_FALSE(dense.plan.recompute_modules);
  CHECK(dense.plan.moments_precision == Precision::fp32);
  const auto with = [&](const LogSection::Arguments& more) {
    LogSection::Arguments all = defaults;
    all.insert(all.end(), more.begin(), more.end());
    return job_of_arguments(all).plan;
  };
  CHECK(with({{"fp8", "hybrid"}}).fp8_recipe == Fp8Recipe::delayed);
  CHECK(with({{"fp4", "e2m1"}}).fp8_recipe == Fp8Recipe::nvfp4);
  CHECK(with({{"num_experts", "8"}}).dispatcher == Dispatcher::allgather);
  CHECK(with({{"num_experts", "8"}}).etp == 2);
  CHECK(with({{"recompute_granularity", "selective"}}).recompute_modules ==
        WordSet<RecomputeModule>{RecomputeModule::core_attn});
}

TEST_CASE("a dump overrides what a script says, also where it does not ask for something") {
  Facts job = job_with_names();
  job.set("plan.recompute", "full");
  job.set("plan.nodes", "4");
  job.set_number("devices_per_node", 8);
  read_argument_dump("log.txt", {{"checkpoint_activations", "False"}, {"world_size", "64"}}, job);
  CHECK(resolve(job).plan.recompute == Recompute::none);
  complete(job);
  CHECK(resolve(job).plan.nodes == 8);
}

TEST_CASE("arguments that do not matter are not listed, one that cannot be is refused") {
  CHECK(job_of_arguments({{"adam_beta1", "0.9"}, {"wandb_project", "x"}}).report.ignored.empty());
  CHECK(error_text([] {
          (void)job_of_arguments({{"num_layers", "many"}});
        }) == "log.txt: --num-layers: expected a whole number from 0 to 1073741824, got \"many\"");
}

TEST_CASE("DeepSpeed's engine says batches, ZeRO stage and precision") {
  Facts facts = job_with_names();
  read_engine_arguments("log.txt",
                        {{"train_batch_size", "256"},
                         {"train_micro_batch_size_per_gpu", "4"},
                         {"zero_optimization_stage", "0"},
                         {"fp16_enabled", "True"},
                         {"world_size", "eight"}},
                        facts);
  const ImportedJob job = resolve(facts);
  CHECK(job.plan.gbs == 256);
  CHECK(job.plan.mbs == 4);
  CHECK(job.plan.zero == 0);
  CHECK(job.plan.precision == Precision::fp16);
  CHECK_FALSE(job.value("devices"));
}

}  // namespace
}  // namespace prequel
