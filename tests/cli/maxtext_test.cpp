#include "cli/import/settings/framework_defaults.hpp"

#include <doctest/doctest.h>

#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ImportedJob trained(const std::string& settings, ImportNames names = {}) {
  return job_of_script("python3 -m MaxText.train MaxText/configs/base.yml " + settings + "\n",
                       std::move(names));
}

const std::string kMaxTextModel =
    "base_emb_dim=2048 base_num_query_heads=16 base_num_kv_heads=8 base_mlp_dim=8192 "
    "base_num_decoder_layers=16 vocab_size=32000 decoder_block=llama2 max_target_length=4096 ";

TEST_CASE("MaxText's axes within and between nodes are degrees of a plan") {
  const ImportedJob job = trained(kMaxTextModel +
                                  "per_device_batch_size=2 ici_fsdp_parallelism=4 "
                                  "ici_tensor_parallelism=2 dcn_data_parallelism=4 "
                                  "dcn_pipeline_parallelism=2 remat_policy=full");
  CHECK(job.model.layers == 16);
  CHECK(job.model.hidden == 2048);
  CHECK(job.model.kv_heads == 8);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.value("devices") == 64);
  CHECK(job.plan.dp == 16);
  CHECK(job.plan.tp == 2);
  CHECK(job.plan.pp == 2);
  CHECK(job.plan.gbs == 128);
  CHECK(job.plan.mbs == 4);  // 8 for each of the 16, in as many micro batches as stages
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.seq_len == 4096);
}

TEST_CASE("an axis of MaxText may take what is left, and parts of a sequence count") {
  ImportNames names;
  names.cluster = "dgx-h100";
  const ImportedJob job = trained(
      "model_name=llama3-8b per_device_batch_size=0.5 ici_tensor_parallelism=4 "
      "ici_fsdp_parallelism=2 dcn_fsdp_parallelism=2 dcn_data_parallelism=1 "
      "remat_policy=save_qkv_proj quantization=fp8 ");
  CHECK(job.model.layers == 32);
  CHECK(job.plan.dp == 4);
  CHECK(job.plan.gbs == 8);
  CHECK(job.plan.mbs == 2);
  CHECK(job.plan.precision == Precision::fp8);
  CHECK(job.plan.recompute == Recompute::selective);
  CHECK(job.plan.recompute_modules == WordSet<RecomputeModule>{RecomputeModule::save_qkv_proj});
  const ImportedJob open = trained(kMaxTextModel + "per_device_batch_size=2");
  CHECK_FALSE(open.plan.gbs);
  CHECK(lists(open.report.left_out,
              "MaxText's degrees: an axis takes the remaining devices; --nodes N and --cluster "
              "NAME give their number"));
}

TEST_CASE("degrees of MaxText beyond all measure are left open") {
  for (const char* degree : {"0", "-2", "99999999999", "x"}) {
    CAPTURE(degree);
    const ImportedJob job =
        trained(kMaxTextModel + "per_device_batch_size=1e300 ici_fsdp_parallelism=" + degree +
                " ici_tensor_parallelism=1048576");
    CHECK_FALSE(job.plan.gbs);
  }
}

TEST_CASE("an axis takes what is left of the nodes that flags ask for") {
  const ImportedJob job = job_of_script(
      "python3 MaxText/train.py base.yml model_name=mixtral-8x7b per_device_batch_size=2 "
      "max_target_length=4096 ici_fsdp_parallelism=1 ici_expert_parallelism=8 "
      "dcn_fsdp_parallelism=2\n",
      {"dgx-h100", {}, {}, {{"plan.nodes", "4"}}});
  CHECK(job.plan.ep == 8);
  CHECK(job.plan.dp == 32);
  CHECK(job.plan.gbs == 64);
}

}  // namespace
}  // namespace prequel
