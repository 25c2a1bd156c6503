#include "models/memory/state_bytes.hpp"

#include <algorithm>

namespace prequel {
namespace {

constexpr double kFp32 = 4.0;           // bytes
constexpr double kMoments = 2 * kFp32;  // of Adam

}  // namespace

StateBytes state_bytes(const Plan& plan, const Software& software) {
  const MemoryStack& stack = software.memory;
  const double element = bytes_per_element(plan.precision);
  StateBytes bytes{stack.weight_bytes,
                   stack.gradient_bytes,
                   stack.optimizer_bytes,
                   stack.unsharded_bytes,
                   std::max(software.communication.weight_bytes, element),
                   stack.reduce_bytes};
  if (stack.bf16 && plan.precision == Precision::bf16) {
    return {stack.weight_bytes,
            stack.bf16->gradient_bytes,
            stack.bf16->optimizer_bytes,
            0.0,
            bytes.gathered,
            stack.bf16->reduce_bytes,
            true};
  }
  if (stack.weight_bytes >= kFp32) return bytes;
  if (element >= kFp32) return {kFp32, kFp32, kMoments, 0.0, bytes.gathered, bytes.reduced};

  const bool has_copy = stack.optimizer_bytes > kFp32 + kMoments;
  if (stack.gradient_bytes != kFp32 || has_copy) return bytes;
  bytes.gradients = bytes_per_element(plan.grad_precision);
  if (bytes.gradients < kFp32) bytes.optimizer += kFp32;
  return bytes;
}

}  // namespace prequel
