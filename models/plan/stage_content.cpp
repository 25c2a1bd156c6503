#include "models/plan/stage_content.hpp"

namespace prequel {

std::vector<StageContent> with_parts(std::vector<StageContent> dealt, const Transformer& model) {
  std::int64_t first = 0;
  for (StageContent& chunk : dealt) {
    chunk.parts = blocks_of(model, first, chunk.blocks);
    first += chunk.blocks;
    chunk.parts[Part::embedding] = chunk.embedding ? 1 : 0;
    if (!chunk.head) continue;
    chunk.parts[Part::head] = 1 + model.next_token_layers;
    add_next_token(chunk.parts, model, model.next_token_layers);
  }
  return dealt;
}

StageContent one_block(const Transformer& model, std::int64_t layer) {
  return {1, false, false, blocks_of(model, layer, 1)};
}

StageContent whole_model(const Transformer& model) {
  return {model.layers, true, true, parts_of(model)};
}

}  // namespace prequel
