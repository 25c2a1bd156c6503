#pragma once

/// What single lines of a training log say, whoever printed them: Megatron-LM, Megatron-DeepSpeed
/// or DeepSpeed. Fields are found by name and unit, never by position, so prefixes (`[default7]:`,
/// `7: `, time stamps) do not matter.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace prequel {

/// The mean of the iterations since the line before.
struct LoggedIteration {
  std::int64_t iteration{};
  std::int64_t global_batch{};  ///< sequences; 0: not said
  double seconds{};             ///< of one iteration, or of one sequence
  bool per_sequence{};          ///< DeepSpeed's rates: `seconds` is of one sequence
  double tflops{};              ///< of one device; 0: not said
  bool hardware_flops{};        ///< whether `tflops` counts recomputation (BigScience's `TFLOPs`)

  bool operator==(const LoggedIteration&) const = default;
};

/// Hands every ` iteration N/ M | name: value | …` of the line to `take` (two ranks may have
/// printed into one line); nothing for one that is cut off or written into by another.
void parse_iterations(std::string_view line,
                      const std::function<void(const std::optional<LoggedIteration>&)>& take);

/// DeepSpeed's `…/global_step=N, …, CurrSamplesPerSec=X, …`, `N/M, SamplesPerSec=X, …` and
/// `steps: N loss: … iter time (s): T samples/sec: X`.
std::optional<LoggedIteration> parse_sequence_rate(std::string_view line);

/// Bytes that the torch allocator holds at most: `max reserved: N` of Megatron (MiB).
std::optional<double> parse_reserved(std::string_view line);
/// Bytes that tensors take at most: DeepSpeed's `MaxMemAllocated=NGB` (GiB).
std::optional<double> parse_allocated(std::string_view line);

/// Name and value of `name ........ value`, a line of an argument dump.
std::optional<std::pair<std::string_view, std::string_view>> parse_argument(std::string_view line);

/// Whether the line says that a device ran out of memory.
bool says_out_of_memory(std::string_view line);

}  // namespace prequel
