#include "hw/kernels/mixers.hpp"

namespace prequel {
namespace {

/// Seconds of the three terms: in parallel, along the sequence, launch.
struct ScanTerms {
  Seconds parallel, serial, launch;
};

ScanTerms terms_of(const ScanKernel& kernel, const Scan& scan) {
  const double factor = scan.backward ? kernel.backward_factor : 1.0;
  Scan measured = scan;
  measured.key_dim = kernel.key_dim;
  measured.value_dim = kernel.value_dim;
  const double size = scan_flops(scan).value / scan_flops(measured).value;
  const Seconds heads =
      real(scan.heads) * kernel.token_head + real(scan.key_heads) * kernel.token_key_head;
  return {factor * scan.tokens() * size * heads, factor * real(scan.seq) * kernel.step,
          factor * kernel.launch};
}

}  // namespace

Flops scan_flops(const Scan& scan) {
  const double chunk = real(scan.chunk);
  const double keys = real(scan.key_dim);
  const double values = real(scan.value_dim);
  const double passes = scan.backward ? 2.0 : 1.0;
  double head = 0;  // FLOP of a token and a head of values
  switch (scan.kind) {
    case ScanKind::ssd:  // half of a chunk's pairs; states in, out and across
      head = chunk * values + 4 * keys * values +
             real(scan.key_heads) / real(scan.heads) * chunk * keys;
      break;
    case ScanKind::selective: head = 6 * keys * values; break;
    case ScanKind::gdn:
    case ScanKind::kda:  // K·K^T, its inverse, W and U, states, and inside the chunk
      head = 2 * chunk * keys + 2.0 / 3 * chunk * chunk + 2 * chunk * (keys + values) +
             6 * keys * values + 2 * chunk * keys + 2 * chunk * values;
      break;
    case ScanKind::lightning: head = chunk * (keys + values) + 4 * keys * values; break;
  }
  return {passes * scan.tokens() * real(scan.heads) * head};
}

Seconds price(const ScanKernel& kernel, const Scan& scan) {
  const ScanTerms terms = terms_of(kernel, scan);
  return terms.parallel + terms.serial + terms.launch;
}

PriceExplanation explain_price(const ScanKernel& kernel, const Scan& scan) {
  const ScanTerms terms = terms_of(kernel, scan);
  return {"scan of chunks along the sequence",
          {},
          scan_flops(scan),
          {},
          {{"heads in parallel", terms.parallel},
           {"along the sequence", terms.serial},
           {"launch", terms.launch}},
          terms.parallel + terms.serial + terms.launch,
          kernel.error};
}

Flops SparseAttention::flops() const {
  const double pairs = 2.0 * queries * keys * real(heads);
  if (is_indexer) return {pairs * real(key_dim) * (backward ? 2.0 : 1.0)};
  return {pairs * (backward ? 3.0 * real(key_dim) + 2.0 * real(value_dim)
                            : real(key_dim) + real(value_dim))};
}

Seconds price(const SparseKernel& kernel, const SparseAttention& attention) {
  if (attention.backward) return kernel.backward_launch + attention.flops() / kernel.backward_rate;
  SparseAttention padded = attention;
  padded.heads = (attention.heads + kernel.tile_heads - 1) / kernel.tile_heads * kernel.tile_heads;
  return kernel.launch + padded.flops() / kernel.rate;
}

PriceExplanation explain_price(const SparseKernel& kernel, const SparseAttention& attention) {
  const Seconds launch = attention.backward ? kernel.backward_launch : kernel.launch;
  const Seconds all = price(kernel, attention);
  return {attention.is_indexer ? "scores by which keys are chosen" : "attention over chosen keys",
          {},
          attention.flops(),
          {},
          {{"matrix rate", all - launch}, {"launch", launch}},
          all,
          kernel.error};
}

}  // namespace prequel
