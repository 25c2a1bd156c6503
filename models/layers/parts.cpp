#include "models/layers/parts.hpp"

namespace prequel {

PartCounts blocks_of(const Transformer& model, std::int64_t first, std::int64_t count) {
  PartCounts counts;
  if (model.is_uniform()) {
    counts[part_of(model.kind_of(model.layers - 1))] = count;
    return counts;
  }
  for (std::int64_t layer = first; layer < first + count; ++layer) {
    ++counts[part_of(model.kind_of(layer))];
  }
  return counts;
}

PartCounts parts_of(const Transformer& model) {
  PartCounts counts = blocks_of(model, 0, model.layers);
  counts[Part::embedding] = 1;
  counts[Part::head] = 1 + model.next_token_layers;
  counts[Part::next_token] = model.next_token_layers;
  if (model.next_token_layers > 0) {
    counts[part_of(model.kind_of(model.layers - 1))] += model.next_token_layers;
  }
  return counts;
}

Layer tell_part(Part part, const Transformer& model, const LayerSetting& setting,
                const Software& software) {
  switch (part) {
    case Part::embedding: return tell_embedding(model, setting, software);
    case Part::next_token: return tell_next_token(model, setting, software);
    case Part::head: return tell_head(model, setting, software);
    default: return tell_block(model, kind_of(part), setting, software);
  }
}

}  // namespace prequel
