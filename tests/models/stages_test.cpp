#include "models/plan/stages.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

namespace prequel {
namespace {

constexpr auto kCeil = StageDealing::ceil_per_stage;
constexpr auto kRefuse = StageDealing::refuse;
constexpr auto kBlocks = StageSplit::blocks;
constexpr auto kEmbedding = StageSplit::embedding_as_layer;

std::vector<std::int64_t> blocks(const std::vector<StageContent>& stages) {
  std::vector<std::int64_t> counts;
  for (const StageContent& stage : stages) counts.push_back(stage.blocks);
  return counts;
}

TEST_CASE("78 layers on 12 stages are dealt eleven times 7 and once 1") {
  std::vector<std::int64_t> expected(11, 7);
  expected.push_back(1);
  CHECK(blocks(deal_stages(78, 12, 1, kCeil, kBlocks)) == expected);
  CHECK(stage_problem(78, 12, 1, kCeil, kBlocks).empty());
}

TEST_CASE("the embedding is on the first stage and the head on the last") {
  const auto stages = deal_stages(80, 10, 1, kCeil, kBlocks);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    CHECK(stages[i].embedding == (i == 0));
    CHECK(stages[i].head == (i == 9));
  }
}

TEST_CASE("as a layer each, embedding and head make room for 70 blocks on 12 stages") {
  const auto stages = deal_stages(70, 12, 1, kCeil, kEmbedding);
  std::vector<std::int64_t> expected(12, 6);
  expected.front() = expected.back() = 5;
  CHECK(blocks(stages) == expected);
}

TEST_CASE("no layer is lost or dealt twice, however layers and stages are chosen") {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const auto layers = std::uniform_int_distribution<std::int64_t>(2, 200)(random);
    const auto pp = std::uniform_int_distribution<std::int64_t>(1, 24)(random);
    const auto vpp = std::uniform_int_distribution<std::int64_t>(1, 3)(random);
    for (const auto split : {kBlocks, kEmbedding}) {
      if (!stage_problem(layers, pp, vpp, kCeil, split).empty()) continue;
      const auto counts = blocks(deal_stages(layers, pp, vpp, kCeil, split));
      CAPTURE(layers);
      CAPTURE(pp);
      CAPTURE(vpp);
      CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == layers);
      for (const std::int64_t count : counts) CHECK(count > 0);
    }
  }
}

TEST_CASE("embedding and head can be all that a chunk holds where chunks are equal") {
  CHECK(stage_problem(126, 16, 8, kRefuse, kEmbedding).empty());  // Llama 3 405B
  const auto stages = deal_stages(126, 16, 8, kRefuse, kEmbedding);
  CHECK(stages.front() == StageContent{0, true, false});
  CHECK(stages.back() == StageContent{0, false, true});
  CHECK_FALSE(stage_problem(127, 16, 8, kRefuse, kEmbedding).empty());
}

TEST_CASE("more stages than layers are refused with the nearest count of each") {
  CHECK(stage_problem(80, 96, 1, kCeil, kBlocks) ==
        "pp 96: more pipeline stages than the model's 80 layers; at most pp 80 does, or at least "
        "96 layers");
}

TEST_CASE("a stage left without a layer is refused") {
  CHECK(stage_problem(26, 12, 1, kCeil, kBlocks) ==
        "layers 26: dealt 3 to each of 12 pipeline stages, stage 9 is left without a layer; 24 or "
        "36 layers would do");
}

TEST_CASE("a framework that deals only equal stages refuses others") {
  CHECK(stage_problem(78, 12, 1, kRefuse, kBlocks) ==
        "layers 78: not a multiple of 12 pipeline stages, which this framework needs; 72 or 84 "
        "layers would do, or a layout");
  CHECK(stage_problem(10, 4, 2, kRefuse, kBlocks) ==
        "layers 10: not a multiple of 4 stages x 2 chunks, which this framework needs; 8 or 16 "
        "layers would do, or a layout");
  CHECK(stage_problem(72, 12, 1, kRefuse, kBlocks).empty());
}

TEST_CASE("more chunks than layers are refused with the most that do") {
  CHECK(stage_problem(12, 4, 4, kRefuse, kBlocks) ==
        "vpp 4: 4 stages x 4 chunks hold no layer each of the model's 12; at most vpp 3 does at "
        "pp 4");
}

}  // namespace
}  // namespace prequel
