#pragma once

/// When data-parallel ranks gather the parameters that they share out (ZeRO: Rajbhandari et al.
/// 2020; FSDP: Zhao et al. 2023).

#include <cstdint>

namespace prequel {

struct Plan;
struct Software;

enum class Gathers : std::uint8_t {
  never,             ///< each rank updates all of them (ZeRO-0)
  updates,           ///< once a step, those that the ranks' shares of the optimizer updated
  once,              ///< once a step and kept to its end, as whole gradients are
  each_micro_batch,  ///< layer by layer before each forward, and kept until its backward
  each_pass          ///< layer by layer before each forward and again before each backward
};

/// Tests whether gradients are reduced after every backward, layer by layer, too.
constexpr bool in_every_micro_batch(Gathers gathers) {
  return gathers == Gathers::each_micro_batch || gathers == Gathers::each_pass;
}

/// Tests whether parameters are gathered layer by layer.
constexpr bool layer_by_layer(Gathers gathers) {
  return gathers == Gathers::once || in_every_micro_batch(gathers);
}

/// Tests whether plans with that stage of ZeRO, 2 or 3, can have pipeline stages.
bool stages_shard_gradients(std::int64_t zero, const Software& software);

/// By its stage of ZeRO; where stages of a pipeline shard parameters, as the stack does it.
Gathers gathers_of(const Plan& plan, const Software& software);

}  // namespace prequel
