#pragma once

/// Operators beside a frozen matrix: its adapter, and the widening of a matrix that is stored
/// narrow.

#include "models/layers/layer.hpp"

namespace prequel {

/// Parameters of an adapter of `rank` beside a matrix: A (inputs to rank) and B (rank to outputs),
/// and with DoRA a magnitude for each output.
std::int64_t adapter_parameters(const Learning& learning, std::int64_t outputs,
                                std::int64_t inputs);

/// A matrix that gets an adapter, and how tensor ranks split it.
struct AdaptedMatrix {
  std::int64_t rows{};
  std::int64_t outputs{}, inputs{};  ///< of the whole matrix
  bool splits_inputs{};              ///< over `ranks`; else outputs are split
  std::int64_t ranks{1};
  Module module{Module::other};
  std::int64_t experts{};  ///< of the rank, each with an adapter; 0: no experts
  std::int64_t copies{1};  ///< of the adapter in the model: as many as there are experts
};

/// Tests whether each adapter copies its input to fp32: eager ones that are as wide, beside
/// matrices that are not quantised.
bool copies_input(const Learning& learning, const Software& software);

/// Tests whether norms and head are in fp32 beside frozen matrices that bitsandbytes stores (PEFT's
/// prepare_model_for_kbit_training), whose products return the format of their input: hidden states
/// are in fp32, too.
bool has_wide_norms(const Learning& learning, const Software& software);

/// Returns the format of hidden states between products.
Precision stream_precision(const LayerSetting& setting, const Software& software);

/// Returns the launches of an adapter: two products forward and four backward. Unless they are
/// fused, kernels scale and sum, and others cast a copied input, its result and both gradients.
/// Dropout is one more.
LaunchCounts adapter_launches(const Learning& learning, const Software& software);

/// Tells the pieces of an adapter (arXiv 2106.09685): two thin products; unless they are fused, a
/// pass that scales the result and adds it to that of the frozen matrix, and where something is
/// dropped a copy of the input and its mask. A column-parallel matrix has A on every rank and B
/// split, so that the gradient of the narrow result is summed over ranks; of a row-parallel one A
/// is split and the narrow result is summed; with sequence parallelism B is split there, too, and
/// its result exchanged (NeMo's LORA_A2A). DoRA norms the sum of the matrix and both factors.
void tell_adapter(Layer& layer, const AdaptedMatrix& matrix, const LayerSetting& setting,
                  const Software& software);

/// Tells the adapter of the table of words (PEFT's Embedding): a token looks up its row of A and
/// multiplies it with B. Each tensor rank holds all of it.
void tell_table_adapter(Layer& layer, const AdaptedMatrix& table, const LayerSetting& setting,
                        const Software& software);

/// Tells the kernel that widens `weights` elements of a frozen matrix at each use (forward,
/// repeated and for the gradient of the input), where products do not read its format.
void tell_dequantisation(Layer& layer, double weights, Module module, const LayerSetting& setting,
                         const Software& software);

/// Bytes of an element of a frozen matrix, with its share of scales: blocks of 64 with an fp32
/// scale for nf4 (arXiv 2305.14314, section 3: 0.5 + 4/64, doubly quantised 0.516), groups of 128
/// with a 16-bit scale and zero point for GPTQ, 16 with an 8-bit one for nvfp4. `element`: of one
/// that is stored as computed.
double stored_bytes(BaseFormat base, double element);

}  // namespace prequel
