#include "models/memory/state_bytes.hpp"

#include <cmath>

#include "models/plan/layer_setting.hpp"

namespace prequel {
namespace {

constexpr double kFp32 = 4.0;           // bytes
constexpr double kMoments = 2 * kFp32;  // of Adam

constexpr double kBlockOf8Bits = 256;  // elements that share a scale in fp32 (arXiv 2110.02861)

/// Returns the bytes of weights that the optimizer updates as they are: gradients and moments have
/// their format.
StateBytes without_master_weights(const Plan& plan) {
  StateBytes bytes;
  bytes.weights = bytes.gradients = bytes.gathered = bytes_per_element(activation_precision(plan));
  bytes.optimizer = kMoments;
  bytes.moment = kFp32;
  return bytes;
}

bool adapters_are_wide(const Plan& plan) {
  return plan.tuning != Tuning::full && bytes_per_element(plan.adapter_precision) >= kFp32;
}

/// Returns the bytes of an optimizer with fp32 moments.
StateBytes with_wide_moments(const Plan& plan, const Software& software) {
  const MemoryStack& stack = software.memory;
  const double element = bytes_per_element(plan.precision);
  if (adapters_are_wide(plan)) {
    return {kFp32, kFp32, kMoments, kFp32, 0.0, kFp32};
  }
  if (plan.master_weights == MasterWeights::none) return without_master_weights(plan);
  StateBytes bytes{stack.weight_bytes,    stack.gradient_bytes,
                   stack.optimizer_bytes, bytes_per_element(activation_precision(plan)),
                   stack.reduce_bytes,    kFp32};
  if (stack.weight_bytes >= kFp32) return bytes;
  if (element >= kFp32) {
    return {kFp32, kFp32, kMoments, bytes.gathered, bytes.reduced, kFp32};
  }

  const bool has_copy = stack.optimizer_bytes > kFp32 + kMoments;
  if (stack.gradient_bytes != kFp32 || has_copy) return bytes;
  bytes.gradients = bytes_per_element(plan.grad_precision);
  if (bytes.gradients < kFp32) bytes.updating = kFp32;
  return bytes;
}

}  // namespace

StateBytes with_tables(const StateBytes& adapters, const Plan& plan, double share) {
  if (!adapters_are_wide(plan) || share == 0) return adapters;
  StateBytes tables = without_master_weights(plan);
  tables.moment = tables.weights;
  tables.optimizer = 2 * tables.moment;
  tables.weights *= 2;
  StateBytes mean;
  for (double StateBytes::*field :
       {&StateBytes::weights, &StateBytes::gradients, &StateBytes::optimizer, &StateBytes::gathered,
        &StateBytes::reduced, &StateBytes::moment, &StateBytes::updating}) {
    mean.*field = std::lerp(adapters.*field, tables.*field, share);
  }
  return mean;
}

StateBytes state_bytes(const Plan& plan, const Software& software) {
  StateBytes bytes = with_wide_moments(plan, software);
  const bool one_copy = plan.precision == Precision::fp8 && plan.fp8_recipe != Fp8Recipe::mxfp8;
  if (plan.fp8_param_gather && one_copy) bytes.gathered = bytes_per_element(plan.precision);
  bytes.moment = bytes_per_element(plan.moments_precision);
  if (keeps_8_bits(plan.optimizer)) {
    bytes.moment = 1 + kFp32 / kBlockOf8Bits;
  }
  bytes.optimizer += 2 * (bytes.moment - kFp32);
  return bytes;
}

}  // namespace prequel
