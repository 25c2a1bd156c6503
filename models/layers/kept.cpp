#include "models/layers/kept.hpp"

namespace prequel {

double kept_bytes(const Layer& layer, WordSet<Module> repeated) {
  double bytes = layer.input;
  for (const LayerPiece& piece : layer.pieces) {
    bytes += (1.0 - piece.repeated_share(repeated)) * piece.kept;
  }
  return bytes;
}

double offloaded_bytes(const Layer& layer, WordSet<Module> repeated,
                       WordSet<OffloadModule> modules) {
  double bytes = 0;
  if (repeated == WordSet<Module>::all()) return bytes;
  for (const LayerPiece& piece : layer.pieces) {
    if (!piece.feeds || !modules.has(*piece.feeds)) continue;
    bytes += (1.0 - piece.repeated_share(repeated)) * piece.kept;
  }
  return bytes;
}

}  // namespace prequel
