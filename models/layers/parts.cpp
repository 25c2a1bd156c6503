#include "models/layers/parts.hpp"

#include <algorithm>

namespace prequel {
namespace {

Part block_part(std::size_t index) {
  return static_cast<Part>(static_cast<std::size_t>(Part::first_block) + index);
}

std::string_view prefix(AttentionSpan span) {
  switch (span) {
    case AttentionSpan::window: return "windowed ";
    case AttentionSpan::chunk: return "chunked ";
    case AttentionSpan::full: break;
  }
  return "";
}

/// Returns the word for a mixer that is not the attention of a usual block.
std::string_view word(Mixer mixer) {
  switch (mixer) {
    case Mixer::sparse: return "sparse ";
    case Mixer::sparse_shared: return "shared sparse ";
    case Mixer::state_space: return "mamba ";
    case Mixer::delta_net: return "delta net ";
    case Mixer::kimi_delta: return "kimi delta ";
    case Mixer::lightning: return "lightning ";
    case Mixer::attention_and_state_space: return "attention and mamba ";
    case Mixer::window_alone: return "window ";
    case Mixer::compressed: return "compressed ";
    case Mixer::compressed_far: return "far compressed ";
    case Mixer::block_sparse: return "block sparse ";
    case Mixer::short_conv: return "convolution ";
    case Mixer::none:
    case Mixer::attention: break;
  }
  return "";
}

PartCounts blocks_of(const Transformer& model, const LayerKinds& kinds, std::int64_t first,
                     std::int64_t count) {
  PartCounts counts;
  if (model.is_uniform()) {
    counts[kinds.part_of(model.kind_of(model.layers - 1))] = count;
    return counts;
  }
  for (std::int64_t layer = first; layer < first + count; ++layer) {
    ++counts[kinds.part_of(model.kind_of(layer))];
  }
  return counts;
}

}  // namespace

Part LayerKinds::part_of(LayerKind kind) const {
  return block_part(
      static_cast<std::size_t>(std::ranges::lower_bound(kinds_, kind) - kinds_.begin()));
}

std::string name(LayerKind kind) {
  std::string text{kind.frozen ? "frozen " : ""};
  if (kind.inner > 0) text += std::to_string(kind.inner) + "-wide ";
  if (kind.feed == Feed::hashed_experts) text += "hashed ";
  text += prefix(kind.span);
  text += word(kind.mixer);
  if (kind.mixer == Mixer::none) return text + (kind.has_experts() ? "experts layer" : "mlp layer");
  if (kind.feed == Feed::none) {
    return text + (kind.mixer == Mixer::attention ? "attention layer" : "layer");
  }
  return text + (kind.has_experts() ? "experts block" : "block");
}

std::string name(Part part, const LayerKinds& kinds) {
  switch (part) {
    case Part::embedding: return "embedding";
    case Part::next_token: return "next token";
    case Part::head: return "head";
    default: return name(kinds.kind_of(part));
  }
}

PartCounts blocks_of(const Transformer& model, std::int64_t first, std::int64_t count) {
  return blocks_of(model, LayerKinds(model), first, count);
}

void add_next_token(PartCounts& counts, const Transformer& model, std::int64_t depths) {
  if (depths == 0) return;
  counts[Part::next_token] += depths;
  const LayerKinds kinds(model);
  for (const LayerKind& kind : model.next_token_kinds()) counts[kinds.part_of(kind)] += depths;
}

PartCounts parts_of(const Transformer& model) {
  PartCounts counts = blocks_of(model, 0, model.layers);
  counts[Part::embedding] = 1;
  counts[Part::head] = 1 + model.next_token_layers;
  add_next_token(counts, model, model.next_token_layers);
  return counts;
}

Layer tell_part(Part part, const Transformer& model, const LayerSetting& setting,
                const Software& software) {
  switch (part) {
    case Part::embedding: return tell_embedding(model, setting, software);
    case Part::next_token: return tell_next_token(model, setting, software);
    case Part::head: return tell_head(model, setting, software);
    default: return tell_block(model, LayerKinds(model).kind_of(part), setting, software);
  }
}

}  // namespace prequel
