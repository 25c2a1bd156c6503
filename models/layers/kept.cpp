#include "models/layers/kept.hpp"

namespace prequel {

double kept_bytes(const Layer& layer, ModuleSet repeated) {
  double bytes = layer.input;
  for (const LayerPiece& piece : layer.pieces) {
    if (!repeated.has(piece.module)) bytes += piece.kept;
  }
  return bytes;
}

}  // namespace prequel
