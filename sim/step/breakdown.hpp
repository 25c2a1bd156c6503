#pragma once

/// Where the time of an iteration goes.

#include <array>
#include <string_view>

namespace prequel {

/// Seconds of one iteration on one stage; they add up to the iteration. `kTimeParts` names them.
struct Breakdown {
  double compute{}, recompute{};
  double tp_comm{}, cp_comm{}, ep_comm{}, pp_comm{}, dp_comm{}, offload{};
  double bubble{}, optimizer{}, host{}, other{};

  [[nodiscard]] double total() const;
  /// Seconds of all that moves data between devices, or to host memory and back.
  [[nodiscard]] double communication() const;
};

/// Seconds of an iteration in which communication of a stage keeps nothing waiting: those parts of
/// a breakdown that are communication, where they are hidden.
using HiddenTime = Breakdown;

/// A part of a breakdown, as every answer shows it.
struct TimePart {
  std::string_view key;  ///< in JSON; people read it with blanks
  double Breakdown::*seconds;
  bool is_communication;  ///< may be hidden behind kernels
  std::string_view meaning;
};

/// All parts, in the order in which answers show them: the one place that lists them.
inline constexpr std::array<TimePart, 12> kTimeParts{{
    {"compute", &Breakdown::compute, false, "kernels of the passes"},
    {"recompute", &Breakdown::recompute, false, "forward passes that are run again"},
    {"tp_comm", &Breakdown::tp_comm, true, "collectives of tensor-parallel groups"},
    {"cp_comm", &Breakdown::cp_comm, true, "exchange of keys and values along the sequence"},
    {"ep_comm", &Breakdown::ep_comm, true, "dispatch of tokens to experts, and back"},
    {"pp_comm", &Breakdown::pp_comm, true, "transfers between stages that hold up this one"},
    {"dp_comm", &Breakdown::dp_comm, true, "gradients and weights of data-parallel groups"},
    {"offload", &Breakdown::offload, true, "waiting for activations to or from host memory"},
    {"bubble", &Breakdown::bubble, false, "waiting for other stages"},
    {"optimizer", &Breakdown::optimizer, false, "the update of the weights"},
    {"host", &Breakdown::host, false, "waiting for launches by the host"},
    {"other", &Breakdown::other, false, "fixed time per iteration"},
}};

inline double Breakdown::total() const {
  double sum = 0;
  for (const TimePart& part : kTimeParts) sum += this->*part.seconds;
  return sum;
}

inline double Breakdown::communication() const {
  double sum = 0;
  for (const TimePart& part : kTimeParts) sum += part.is_communication ? this->*part.seconds : 0;
  return sum;
}

}  // namespace prequel
