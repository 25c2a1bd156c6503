#include "calibrate/run_words.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "calibrate/measured_runs.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

using Cells = std::map<std::string, std::string>;

Cells translated(Cells cells) {
  translate_cells(cells);
  return cells;
}

TEST_CASE("what launchers call recipes, dispatchers and graphs are words of the axes") {
  CHECK(translated({{"precision", "nvfp4"}}).at("precision") == "fp4");
  CHECK(translated({{"fp8_recipe", "current-scaling"}}).at("fp8_recipe") == "current");
  CHECK(translated({{"fp8_recipe", "tensorwise dynamic"}}).at("fp8_recipe") == "current");
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

TEST_CASE("flags of overlap are one list") {
  CHECK(translated({{"tp_comm_overlap", "1"}, {"a2a_overlap", "1"}}).at("overlap") == "tp,ep");
  CHECK(translated({{"dispatcher", "AlltoAll (NCCL), all-to-all overlapped with 1F1B"}})
            .at("overlap") == "ep");
  CHECK_FALSE(translated({{"tp_comm_overlap", "0"}}).contains("overlap"));
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
