#include "models/layers/kept.hpp"

namespace prequel {

double kept_bytes(const Layer& layer, WordSet<Module> repeated) {
  double bytes = layer.input;
  for (const LayerPiece& piece : layer.pieces) {
    bytes += (1.0 - piece.repeated_share(repeated)) * piece.kept;
  }
  return bytes;
}

}  // namespace prequel
