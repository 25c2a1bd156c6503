#include "models/layers/kept.hpp"

#include <algorithm>

namespace prequel {

double kept_bytes(const Layer& layer, WordSet<Module> repeated) {
  if (layer.detached) return 0;
  double bytes = layer.input;
  // Where all is repeated but what has a name, that is kept as results, not as inputs.
  const bool by_name = repeated.has(Module::other);
  for (const LayerPiece& piece : layer.pieces) {
    const double kept = by_name ? std::max(piece.kept, piece.result) : piece.kept;
    bytes += (1.0 - piece.repeated_share(repeated)) * kept;
  }
  return bytes;
}

double working_bytes(const Layer& layer, double element_bytes) {
  if (layer.detached) return 0;
  double most = 0;
  double returned = 0;  // by the product before
  for (const LayerPiece& piece : layer.pieces) {
    if (const auto* linear = std::get_if<LinearLayer>(&piece.what)) {
      const double read = real(linear->rows * linear->inputs);
      const double written = real(linear->rows * linear->outputs);
      most = std::max({most, read + written, read + returned});
      returned = written;
    } else if (const auto* core = std::get_if<AttentionCore>(&piece.what);
               core && core->kind != AttentionKind::flash) {
      const FusedAttention& shape = core->shape;
      most = std::max(most, 2 * real(shape.batch * shape.heads) * real(shape.seq * shape.kv_seq));
    }
  }
  return most * element_bytes;
}

double offloaded_bytes(const Layer& layer, WordSet<Module> repeated,
                       WordSet<OffloadModule> modules) {
  double bytes = 0;
  // The input of the first norm is all that is kept of a layer that is repeated.
  if (repeated == WordSet<Module>::all()) {
    return modules.has(OffloadModule::attn_norm) ? layer.saved_input : 0;
  }
  if (modules.has(OffloadModule::attn_norm)) bytes += layer.input;
  for (const LayerPiece& piece : layer.pieces) {
    if (!piece.feeds || !modules.has(*piece.feeds)) continue;
    bytes += (1.0 - piece.repeated_share(repeated)) * piece.kept;
  }
  return bytes;
}

}  // namespace prequel
