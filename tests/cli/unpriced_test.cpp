#include <doctest/doctest.h>

#include "hw/base/json_cursor.hpp"
#include "tests/cli/imported_script.hpp"

using namespace prequel;

namespace {

const std::string kGpt =
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
    "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 64 --vocab-size 50257 ";

bool refuses(const std::string& flags) {
  return refusal_of_script(kGpt + flags).find("does not price yet") != std::string::npos;
}

}  // namespace

TEST_CASE("flags that name a mixer, a connection or a space of experts are refused by name") {
  for (const char* flags :
       {"--enable-mhc-connections", "--mhc-num-residual-streams 4", "--csa-compress-ratio 4",
        "--use-gated-delta-product", "--linear-attention-type rwkv", "--nsa-block-size 64",
        "--o-lora-rank 1024", "--hybrid-attention-ratio 0.08"}) {
    CAPTURE(flags);
    CHECK(refuses(flags));
    const std::string said = refusal_of_script(kGpt + flags);
    const std::string flag = std::string(flags).substr(0, std::string(flags).find(' '));
    CHECK(said.find(flag) != std::string::npos);
  }
}

TEST_CASE("the same flags that ask for nothing, and names that only look alike, are read") {
  for (const char* flags : {"--experimental-attention-variant none", "--moe-latent-size 0",
                            "--spec local", "--finetuning-type full", "--packing False",
                            "--adapter null", "--hybrid-attention-ratio 0.0"}) {
    CAPTURE(flags);
    CHECK_FALSE(refuses(flags));
  }
}

TEST_CASE("a specification of hybrid layers without a pattern is refused") {
  const std::string mamba = "--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec ";
  CHECK(refusal_of_script(kGpt + mamba).find("--hybrid-layer-pattern would do") !=
        std::string::npos);
  const std::string pattern = "--hybrid-override-pattern M-M*M-M-M-M*M-M-M-M*M-M-";
  CHECK(refusal_of_script(kGpt + mamba + pattern).find("--spec") == std::string::npos);
}

TEST_CASE("the rank of an output projection is no adapter") {
  for (const char* flags : {"--output-lora-rank 1024", "--attn-o-lora-rank 1024"}) {
    const std::string said = refusal_of_script(kGpt + flags);
    CHECK(said.find("low-rank projections") != std::string::npos);
    CHECK(said.find("adapters") == std::string::npos);
  }
}

TEST_CASE("a configuration of a model is refused for what it asks for and is not priced") {
  const std::string llama =
      R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
          "intermediate_size": 1024, "vocab_size": 32000, )";
  const auto said = [&](const std::string& more) {
    return error_text([&] { (void)job_of_files({{"config.json", llama + more + "}"}}); });
  };
  CHECK(said(R"("csa_topk": 2048)").find("/csa_topk: asks for learned sparse attention") !=
        std::string::npos);
  CHECK(said(R"("num_residual_streams": 4)").find("other than one residual stream") !=
        std::string::npos);
  CHECK(said(R"("use_attention_output_gate": false, "num_residual_streams": null)") == "no error");
  CHECK(said(R"("layer_types": ["linear_attention", "full_attention", "full_attention",
                 "full_attention"])")
            .find("layers of \"linear_attention\" are not priced") != std::string::npos);
}

TEST_CASE("of a list with one unknown word the known ones count") {
  const ImportedJob job = job_of_script(
      kGpt + "--recompute-granularity selective --recompute-modules core_attn warp_drive mlp");
  REQUIRE(job.plan.recompute_modules);
  CHECK(job.plan.recompute_modules->has(RecomputeModule::mlp));
  CHECK(lists(job.report.left_out,
              "--recompute-modules warp_drive is not known; predicted without it"));
}

TEST_CASE(
    "other adapters than are priced are refused, and a rank without latent attention is told") {
  CHECK(error_text([] {
          (void)job_of_script(kGpt + "--peft ia3");
        }).find("an adapter other than LoRA and DoRA") != std::string::npos);
  const ImportedJob job = job_of_script(kGpt + "--q-lora-rank 1536");
  CHECK(
      lists(job.report.left_out, "--q-lora-rank: has no effect without --multi-latent-attention"));
}

TEST_CASE("words of dashes alone are no flags, and a command of very many is refused") {
  std::string dashes, flags;
  for (int i = 0; i < 20'000; ++i) dashes += " ---";
  for (int i = 0; i < 10'001; ++i) flags += " --a" + std::to_string(i);
  CHECK(job_of_script(kGpt + dashes).model.layers == job_of_script(kGpt).model.layers);
  CHECK(error_text([&] { (void)job_of_script(kGpt + flags); }).find("over 10000 flags") !=
        std::string::npos);
}
