#include "models/plan/layout.hpp"

#include <doctest/doctest.h>

#include "models/plan/stages.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

std::vector<std::int64_t> blocks_of_layout(const std::vector<StageContent>& stages) {
  std::vector<std::int64_t> counts;
  for (const StageContent& stage : stages) counts.push_back(stage.blocks);
  return counts;
}

TEST_CASE("a layout that spells the default deals as the default") {
  Transformer model = shipped_model("llama-2-7b");
  const auto usual =
      with_parts(deal_stages(model.layers, 4, 2, StageDealing::refuse, StageSplit::blocks), model);
  CHECK(layout_problem("Etttt|(tttt|)*6ttttL", model, 8).empty());
  CHECK(deal_layout("Etttt|(tttt|)*6ttttL", model) == usual);
  CHECK(deal_layout("Et*4|(t*4|)*6t*4,L", model) == usual);
}

TEST_CASE("DeepSeek-V3 is dealt as Megatron-Core's recipe says, next-token layer beside the head") {
  const Transformer model = shipped_model("deepseek-v3");
  const std::string text = "Et*3|(tt|)*29m|L";
  CHECK(layout_problem(text, model, 32).empty());
  const auto stages = deal_layout(text, model);
  REQUIRE(stages.size() == 32);
  const LayerKinds kinds(model);
  const Part dense = kinds.part_of({Feed::mlp});
  const Part experts = kinds.part_of({Feed::experts});
  CHECK(stages.front().parts[dense] == 3);
  CHECK(stages[1].parts[experts] == 2);
  CHECK(stages[30].parts[Part::next_token] == 1);
  CHECK(stages[30].parts[experts] == 1);
  CHECK(stages[31].parts[Part::head] == 1);
  std::int64_t layers = 0;
  for (const StageContent& stage : stages) layers += stage.blocks;
  CHECK(layers == model.layers);
}

TEST_CASE("multi-token prediction comes after the last layer, also where layouts are balanced") {
  const Transformer model = shipped_model("deepseek-v3");
  for (const char* text : {"Et*3|(tt|)*28ttm|tL", "mEt*3|(tt|)*29|L", "Et*3|(tt|)*29|Lm"}) {
    CAPTURE(text);
    CHECK_FALSE(layout_problem(text, model, 32).empty());
  }
  CHECK(layout_problem("Et*3|(tt|)*29|mL", model, 32).empty());
  for (const std::int64_t chunks : {2, 3, 4, 8, 16, 24, 31, 32, 61, 64}) {
    for (const std::string& layout : balanced_layouts(model, chunks)) {
      CAPTURE(layout);
      CHECK(layout_problem(layout, model, chunks).empty());
    }
  }
}

TEST_CASE("what is no layout, or deals another model, is told") {
  const Transformer model = shipped_model("llama-2-7b");
  for (const char* text :
       {"", "Ex|L", "E(t|L", "Et*0|L", "Et*99999|L", "E)t|L", "((((((((((t))))))))))"}) {
    CAPTURE(text);
    CHECK_FALSE(layout_problem(text, model, 2).empty());
  }
  CHECK(layout_problem("Et*16|t*15L", model, 2) ==
        "layout \"Et*16|t*15L\": 31 layers and 0 of multi-token prediction, but llama-2-7b has 32 "
        "and 0");
  CHECK(layout_problem("Et*16|t*16L", model, 4) ==
        "layout \"Et*16|t*16L\": 2 chunks, but pp x vpp is 4");
}

TEST_CASE("a balanced dealing gives what is left to the middle, and ends may hold no layer") {
  const auto deal = [](std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
    return blocks_of_layout(
        deal_stages(layers, pp, vpp, StageDealing::balanced, StageSplit::blocks));
  };
  CHECK(deal(94, 8, 1) == std::vector<std::int64_t>{11, 12, 12, 12, 12, 12, 12, 11});
  CHECK(deal(126, 16, 8).front() == 0);
  CHECK(deal(126, 16, 8).back() == 0);
  CHECK(deal(126, 16, 8)[1] == 1);
  CHECK(deal(32, 4, 1) == std::vector<std::int64_t>{8, 8, 8, 8});
  CHECK(stage_problem(126, 16, 8, StageDealing::balanced, StageSplit::blocks).empty());
  CHECK_FALSE(stage_problem(10, 16, 1, StageDealing::balanced, StageSplit::blocks).empty());
}

TEST_CASE("a dealing by cost counts the head as the layers that it weighs") {
  Transformer model = shipped_model("llama-3-8b");
  Software software = shipped_software("megatron-core-2024");
  software.stage_dealing = StageDealing::by_cost;
  Plan plan;
  plan.pp = 4;
  const auto stages = chunks_of_plan(model, plan, software);
  // A block is 4 h² + 3 f h = 243 M products a token, the head 525 M: 34.2 blocks, 8.5 a stage.
  CHECK(blocks_of_layout(stages) == std::vector<std::int64_t>{9, 9, 8, 6});
  CHECK(stages.back().head);
  plan.pp = 1;
  CHECK(chunks_of_plan(model, plan, software) == std::vector<StageContent>{whole_model(model)});
}

}  // namespace
}  // namespace prequel
