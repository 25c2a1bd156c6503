#pragma once

/// Where the time of an iteration goes.

namespace prequel {

/// Seconds of one iteration on one stage; they add up to the iteration.
struct Breakdown {
  double compute{};
  double recompute{};
  double tp_comm{};
  double cp_comm{};
  double ep_comm{};  ///< dispatch of tokens to experts, and back
  double pp_comm{};  ///< transfers between stages that hold up this one
  double dp_comm{};  ///< exposed
  double offload{};  ///< waiting for activations on their way to host memory or from it
  double bubble{};   ///< waiting for other stages
  double optimizer{};
  double host{};
  double other{};  ///< fixed time per iteration

  [[nodiscard]] double total() const {
    return compute + recompute + tp_comm + cp_comm + ep_comm + pp_comm + dp_comm + offload +
           bubble + optimizer + host + other;
  }
};

/// Seconds of an iteration in which communication of a stage keeps nothing waiting.
struct HiddenTime {
  double tp_comm{};
  double cp_comm{};
  double ep_comm{};
  double pp_comm{};  ///< of what the stage sends
  double dp_comm{};
  double offload{};
};

}  // namespace prequel
