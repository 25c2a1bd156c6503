#include "calibrate/validate/run_words.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "calibrate/validate/measured_runs.hpp"
#include "calibrate/validate/validation.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

using Cells = std::map<std::string, std::string>;

Cells translated(Cells cells) {
  static const RunWords words = read_run_words(Library({PREQUEL_DATA_DIR}));
  translate_cells(words, cells);
  return cells;
}

TEST_CASE("what launchers call recipes, dispatchers and graphs are words of the axes") {
  CHECK(translated({{"precision", "nvfp4"}}).at("precision") == "fp4");
  CHECK(translated({{"fp8_recipe", "current-scaling"}}).at("fp8_recipe") == "current");
  CHECK(translated({{"fp8_recipe", "tensorwise dynamic"}}).at("fp8_recipe") == "current");
  const Cells gathered = translated({{"fp8_recipe", "tensorwise, fp8 all-gather"}});
  CHECK(gathered.at("fp8_recipe") == "current");
  CHECK(gathered.at("fp8_param_gather") == "1");
  CHECK_FALSE(
      translated({{"fp8_recipe", "rowwise, bf16 all-gather"}}).contains("fp8_param_gather"));
  CHECK(translated({{"dispatcher", "DeepEP (NVSHMEM over EFA)"}}).at("dispatcher") == "deepep");
  CHECK(translated({{"dispatcher", "DeepEP (UCCL over EFA)"}}).at("dispatcher") == "uccl");
  CHECK(translated({{"schedule", "zero-bubble"}}).at("schedule") == "zb-h1");
  CHECK(translated({{"schedule", "zero-bubble-zbb"}}).at("schedule") == "zb-v");
  CHECK(translated({{"router_balance", "token drop"}}).at("router_balance") == "dropped");
  CHECK(translated({{"cuda_graphs", "full_iteration"}}).at("cuda_graphs") == "full");
  CHECK(translated({{"cuda_graphs", "transformer_engine"},
                    {"cuda_graph_scope", "attn moe_router moe_preprocess"}})
            .at("cuda_graphs") == "attn,moe_router,moe_preprocess");
  CHECK(translated({{"recompute_modules", "norm act"}}).at("recompute_modules") ==
        "layernorm,moe_act");
  CHECK(translated({{"recompute_modules", "per-op selective"}}).at("recompute_modules") ==
        "operators");
  CHECK(translated({{"recompute_modules", "selective layer"}}).at("recompute_modules") == "blocks");
  CHECK_FALSE(translated({{"recompute_modules", "block 5"}}).contains("recompute_modules"));
  CHECK(translated({{"recompute_modules", "block 5"}}).at("recompute_first") == "5");
  CHECK(translated({{"stage_split", "Et*4|(tttt|)*14tmL"}}).at("layout") == "Et*4|(tttt|)*14tmL");
  CHECK(translated({{"grad_reduce_fp32", "False"}}).at("grad_precision") == "bf16");
}

TEST_CASE("formats that name their recipe say both") {
  const Cells scaled = translated({{"precision", "FP8_CS"}});
  CHECK(scaled.at("precision") == "fp8");
  CHECK(scaled.at("fp8_recipe") == "current");
  CHECK(translated({{"precision", "mxfp8"}}).at("fp8_recipe") == "mxfp8");
  CHECK(translated({{"precision", "BF16"}}).at("precision") == "bf16");
  CHECK(translated({{"precision", "mxfp8"}, {"fp8_recipe", "none"}}).at("fp8_recipe") == "none");
}

TEST_CASE("methods of recompute, schedules and optimizers by other frameworks' names") {
  CHECK(translated({{"recompute", "uniform"}}).at("recompute") == "full");
  CHECK(translated({{"schedule", "interleaved"}}).at("schedule") == "interleaved-1f1b");
  CHECK(translated({{"optimizer", "AdamW"}}).at("optimizer") == "adam");
  CHECK(translated({{"optimizer_name", "adamw 8 bit"}}).at("optimizer") == "adam-8bit");
  CHECK(translated({{"optimizer_name", "PagedAdamW8bit"}}).at("optimizer") == "adam-paged");
  CHECK(translated({{"optimizer_name", "PagedAdamW8bit, in backward"}}).at("optimizer") ==
        "adam-paged-in-backward");
  CHECK(translated({{"optimizer_name", "adamw in backward"}}).at("optimizer") ==
        "adam-in-backward");
  const char* policy = "recompute: 5B SAVE_DOT_WITH_NO_BATCH_DIM (paxml configs)";
  CHECK(translated({{"recompute", "selective"}, {"notes", policy}}).at("recompute_modules") ==
        "minimal");
  CHECK_FALSE(translated({{"recompute", "none"}, {"notes", policy}}).contains("recompute_modules"));
  const char* xla = "XLA kernels, no Transformer Engine; FSDP 256";
  CHECK(translated({{"attention", "flash"}, {"notes", xla}}).at("attention") == "unfused");
  CHECK(translated({{"status", "OOM"}}).at("status") == "oom");
  CHECK(translated({{"fsdp", "1"}}).at("zero_stage") == "3");
}

TEST_CASE("what notes of fine-tuning say of loss and optimizer is read where it was in force") {
  const char* notes = "framework_config=accelerated-peft-bnb-foak-liger; packed 4096 tokens";
  CHECK(translated({{"gpus", "1"}, {"notes", notes}}).at("loss") == "fused");
  CHECK_FALSE(translated({{"gpus", "4"}, {"notes", notes}}).contains("loss"));
  const auto stack = [](const char* config) {
    return translated({{"software", "hf-trainer-fsdp-2025"},
                       {"notes", std::string("row 1; framework_config=") + config + "; HF"}})
        .at("software");
  };
  CHECK(stack("baseline-peft-bnb") == "hf-trainer-fsdp-2025");
  CHECK(stack("accelerated-peft-bnb") == "hf-trainer-accelerated-peft-2025");
  CHECK(stack("accelerated-peft-autogptq-foak-liger") == "hf-trainer-foak-2025");
  CHECK(stack("foak-fast-kernels") == "hf-trainer-fast-kernels-2025");
  const Cells trainer{{"framework", "hf-trainer+peft"},
                      {"notes", "ZeRO stage of this row is assumed"},
                      {"tuning", "full"}};
  CHECK(translated(trainer).at("master_weights") == "fp32");
  Cells adapted = trainer;
  adapted["tuning"] = "lora";
  CHECK(translated(adapted).at("zero_stage") == "2");
}

TEST_CASE(
    "torchtune's ladder is eager before compilation, and its loss whole before it is chunked") {
  const auto rung = [](const char* id) {
    return translated({{"id", id}, {"notes", "Each row adds one technique to the row before"}});
  };
  CHECK(rung("ladder-packed").at("compile") == "0");
  CHECK(rung("ladder-packed").at("loss") == "whole");
  CHECK_FALSE(rung("ladder-compile").contains("compile"));
  CHECK(rung("ladder-compile").at("loss") == "whole");
  CHECK_FALSE(rung("ladder-chunked-ce").contains("loss"));
}

TEST_CASE("the Trainer hands models to DeepSpeed where the table or Qwen's scripts say so") {
  const Cells trainer{{"framework", "hf-trainer+peft"}, {"table", "72B LoRA + Deepspeed Zero3"}};
  CHECK(translated(trainer).at("engine") == "deepspeed");
  Cells scripts{{"framework", "hf-trainer+peft"},
                {"source", "QwenLM/Qwen @2df8e8ac45 README.md"},
                {"base_precision", "int4 gptq"}};
  CHECK(translated(scripts).at("engine") == "deepspeed");
  scripts["base_precision"] = "bf16";
  CHECK_FALSE(translated(scripts).contains("engine"));
  const Cells reference = translated({{"framework", "deepspeed-zero3 (HF reference)"}});
  CHECK(reference.at("software") == "hf-peft-2024");
  CHECK(reference.at("engine") == "deepspeed");
}

TEST_CASE("a kernel of attention that a row names replaces the stack's") {
  CHECK(translated({{"attention", "fa3"}}).at("attention") == "flash");
  CHECK(attention_kernel("FA3") == "flash-3");
  CHECK_FALSE(attention_kernel("flash"));
  CHECK(translated({{"attention", "eager"}}).at("attention") == "unfused");
  const std::string columns =
      "id,cluster,software,model,gpus,tp,pp,mbs,gbs,seq_len,attention,status\n";
  const std::string job = ",dgx-h100,torchtitan-2024,llama-3-8b,8,1,1,1,16,8192,";
  std::istringstream in(columns + "own" + job + "flash,ok\nnewer" + job + "flash3,ok\n");
  const auto runs =
      validate_runs(Library({PREQUEL_DATA_DIR}), read_measured_runs(in, "runs.csv"), {});
  REQUIRE(runs[0].prediction);
  REQUIRE(runs[1].prediction);
  CHECK(runs[1].prediction->sec_per_iter.value < runs[0].prediction->sec_per_iter.value);
}

TEST_CASE("a module that nobody knows is not left out of a list") {
  CHECK(translated({{"recompute_modules", "selective moe_act,gdn_norm"}}).at("recompute_modules") ==
        "moe_act,gdn_norm");
  std::istringstream in(
      "id,cluster,software,model,gpus,tp,pp,mbs,gbs,seq_len,recompute,recompute_modules,status\n"
      "a,dgx-h100,megatron-core-2025,qwen3-30b-a3b,8,1,1,1,16,4096,selective,gdn_norm,ok\n");
  const auto runs = read_measured_runs(in, "runs.csv");
  CHECK(runs[0].contradiction.find("gdn_norm") != std::string::npos);
}

TEST_CASE("flags of overlap are one list") {
  CHECK(translated({{"tp_comm_overlap", "1"}, {"a2a_overlap", "1"}}).at("overlap") == "tp,ep");
  CHECK(translated({{"dispatcher", "AlltoAll (NCCL), all-to-all overlapped with 1F1B"}})
            .at("overlap") == "ep");
  CHECK(translated({{"tp_comm_overlap", "0"}}).at("overlap") == "stack");
  CHECK(translated({{"tp_comm_overlap", "0"}, {"a2a_overlap", "1"}}).at("overlap") == "ep");
  CHECK_FALSE(translated({{"tp_comm_overlap", ""}}).contains("overlap"));
}

TEST_CASE("cells in the axes' own words stay") {
  const Cells cells{{"precision", "bf16"}, {"dispatcher", "hybridep"}, {"stage_split", "blocks"}};
  CHECK(translated(cells) == cells);
}

TEST_CASE("a row takes what its columns leave out from the shipped model of its name") {
  std::istringstream in(
      "id,cluster,status,model,layers,hidden,heads,kv_heads,vocab,seq_len,experts,top_k,"
      "expert_ffn,moe_layers\n"
      "a,dgx-h100,ok,deepseek-v3,61,7168,128,128,129280,4096,256,8,2048,58\n"
      "b,dgx-h100,ok,deepseek-v3,4,7168,128,128,129280,4096,256,8,2048,3\n");
  const auto runs = read_measured_runs(in, "runs.csv");
  REQUIRE(runs.size() == 2);
  const Transformer shipped = shipped_model("deepseek-v3");
  REQUIRE(runs[0].model);
  const Transformer whole = completed(*runs[0].model, shipped, runs[0]);
  CHECK(whole.latent == shipped.latent);
  CHECK(whole.experts == shipped.experts);
  CHECK(whole.next_token_layers == 1);
  // A cut of it has its blocks, dense ones first, and nothing behind them.
  const Transformer cut = completed(*runs[1].model, shipped, runs[1]);
  CHECK(cut.layers == 4);
  CHECK(cut.experts.first_dense == 1);
  CHECK(cut.next_token_layers == 0);
}

}  // namespace
}  // namespace prequel
