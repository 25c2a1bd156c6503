#pragma once

/// Lines of a training log, one by one, whoever printed them: Megatron-LM and its descendants,
/// DeepSpeed, torchtitan, nanotron, Hugging Face's Trainer. Fields are found by name and unit,
/// never by position, so prefixes (`[default7]:`, `7: `, time stamps) do not matter.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace prequel {

/// The unit of work that a logged time belongs to.
enum class TimedUnit : std::uint8_t {
  iteration,
  sequence,      ///< DeepSpeed's rates of samples
  device_token,  ///< torchtitan's rates of tokens, of one device
};

/// The mean of the iterations since the line before.
struct LoggedIteration {
  std::int64_t iteration{};     ///< -1: not said
  std::int64_t global_batch{};  ///< sequences; 0: not said
  double seconds{};             ///< of one `unit`
  TimedUnit unit{};
  double tflops{};        ///< of one device; 0: not said
  bool hardware_flops{};  ///< whether `tflops` counts recomputation (BigScience's `TFLOPs`)

  bool operator==(const LoggedIteration&) const = default;
};

/// Hands every ` iteration N/ M | name: value | …` of the line to `take` (two ranks may have
/// printed into one line; nanotron puts a colon behind `iteration`, GPT-NeoX samples/sec before
/// it); nothing for one that is cut off or written into by another.
void parse_iterations(std::string_view line,
                      const std::function<void(const std::optional<LoggedIteration>&)>& take);

/// DeepSpeed's `…/global_step=N, …, CurrSamplesPerSec=X, …`, `N/M, SamplesPerSec=X, …` and
/// `steps: N loss: … iter time (s): T samples/sec: X`.
std::optional<LoggedIteration> parse_sequence_rate(std::string_view line);

/// A line of another kind: torchtitan's `step: N … tps: X`, NeMo's `global_step=N, …
/// train_step_timing in s=T`, Megatron-Bridge's `Step Time : Ts`, nanoGPT's `iter N: loss L, time
/// Tms`, the bar of Hugging Face's Trainer (`N/M [01:12<39:02, 2.41s/it]`) and what it says at its
/// end (`'train_steps_per_second': X`).
std::optional<LoggedIteration> parse_step(std::string_view line);

/// Bytes that the torch allocator holds at most: `max reserved: N` of Megatron (MiB), `memory:
/// NGiB(` of torchtitan.
std::optional<double> parse_reserved(std::string_view line);
/// Bytes that tensors take at most: DeepSpeed's `MaxMemAllocated=NGB` (GiB).
std::optional<double> parse_allocated(std::string_view line);

/// Name and value of `name ........ value`, a line of an argument dump.
std::optional<std::pair<std::string_view, std::string_view>> parse_argument(std::string_view line);

/// Tests whether the line says that a device ran out of memory.
bool says_out_of_memory(std::string_view line);

}  // namespace prequel
