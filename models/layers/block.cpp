#include "models/layers/layer_teller.hpp"

namespace prequel {
namespace {

void tell_mixer(LayerTeller& teller) {
  switch (teller.kind.mixer) {
    case Mixer::attention: return tell_attention(teller);
    case Mixer::sparse:
    case Mixer::sparse_shared: return tell_sparse_attention(teller);
    case Mixer::window_alone:
    case Mixer::compressed:
    case Mixer::compressed_far: return tell_compressed_attention(teller);
    case Mixer::block_sparse: return tell_block_attention(teller);
    case Mixer::state_space: return tell_state_space(teller);
    case Mixer::delta_net:
    case Mixer::kimi_delta:
    case Mixer::lightning:
    case Mixer::short_conv: return tell_linear_attention(teller);
    case Mixer::attention_and_state_space: tell_attention(teller); return tell_state_space(teller);
    case Mixer::none: return;
  }
}

void tell_feed(LayerTeller& teller) {
  switch (teller.kind.feed) {
    case Feed::mlp: return tell_mlp(teller);
    case Feed::experts:
    case Feed::hashed_experts: return tell_experts(teller);
    case Feed::none: return;
  }
}

Layer tell_learning_block(const Transformer& model, LayerKind kind, const LayerSetting& setting,
                          const Software& software) {
  LayerTeller teller(model, kind, setting, software);
  const bool mixes = kind.mixer != Mixer::none;
  const bool feeds = kind.feed != Feed::none;
  // Side by side, mixer and feed share their norm, their sum and their collectives.
  const bool side_by_side = model.parallel_block && mixes && feeds;
  teller.tell_input();
  teller.tell_graph_copies();
  if (mixes) {
    teller.tell_streams_in(true);
    teller.tell_norm(teller.keeps_mixer_input() || (side_by_side && teller.keeps_feed_input()),
                     OffloadModule::qkv_linear);
    teller.tell_input_gather();
    tell_mixer(teller);
    if (!side_by_side) {
      teller.tell_tensor_sum("attention all-reduce", true, !kind.has_experts());
      teller.tell_residual(!feeds);
    }
  }
  if (feeds) {
    if (!side_by_side) {
      teller.tell_streams_in(!mixes);
      teller.tell_norm(teller.keeps_feed_input());
      // Experts work on the rank's own tokens: nothing is gathered for them.
      if (!kind.has_experts()) teller.tell_input_gather();
    }
    tell_feed(teller);
    teller.tell_residual(true);
  }
  return std::move(teller).layer();
}

/// A block before the first layer that learns.
Layer tell_frozen_block(const Transformer& model, LayerKind kind, LayerSetting setting,
                        const Software& software) {
  const bool passed = setting.learning.passes_frozen_layers();
  const BaseFormat base = setting.learning.base;
  setting.learning = {};
  setting.learning.tuning = Tuning::none;
  setting.learning.base = base;
  Layer layer = tell_learning_block(model, kind, setting, software);
  if (passed) return layer;
  layer.detached = true;
  layer.input = layer.saved_input = 0;
  layer.input_gather = {};
  for (LayerPiece& piece : layer.pieces) piece.kept = 0;
  return layer;
}

}  // namespace

Layer tell_block(const Transformer& model, LayerKind kind, const LayerSetting& setting,
                 const Software& software) {
  return kind.frozen ? tell_frozen_block(model, kind, setting, software)
                     : tell_learning_block(model, kind, setting, software);
}

}  // namespace prequel
