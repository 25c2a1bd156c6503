#pragma once

/// Pipeline schedules by name, and what each costs in time and memory.

#include <cstdint>
#include <string>
#include <vector>

#include "models/axes/schedules.hpp"
#include "models/memory/memory.hpp"
#include "sim/engine/task_graph.hpp"
#include "sim/schedule/pipeline.hpp"

namespace prequel {

/// Chunks per stage in the shape of a plan with virtual pipeline size `vpp`.
[[nodiscard]] std::uint32_t chunks_of(Schedule kind, std::uint32_t vpp);

/// Which of the model's equal parts a chunk of a stage is, counted from the embedding.
[[nodiscard]] std::uint32_t model_part(Schedule kind, const PipelineShape& shape,
                                       std::uint32_t stage, std::uint32_t chunk);

/// The stage that a chunk's send (`TaskKind::send_forward` or `send_backward`) goes to.
[[nodiscard]] std::uint32_t receiver(Schedule kind, const PipelineShape& shape, TaskKind send,
                                     std::uint32_t stage, std::uint32_t chunk);

/// Why the schedule cannot run in this shape, in the user's words with the nearest shape that
/// would do; empty if it can. The functions below want shapes without a problem.
[[nodiscard]] std::string shape_problem(Schedule kind, const PipelineShape& shape);

/// Seconds since the step began, or sums of seconds.
struct StageTimes {
  double busy{};          ///< computing (with blocking sends, sending too), before the step's end
  double pipeline_end{};  ///< end of the last backward; less `busy` it is the stage's bubble
  double buckets_end{};   ///< end of the last bucket's reduction; 0 without buckets
  double step_end{};      ///< end of the gradient reduction and the optimizer
};

struct ScheduleResult {
  double seconds{};                ///< until the last stage's end
  std::vector<StageTimes> stages;  ///< one a stage
};

/// The step's times for `durations` in seconds, each ≥ 0. Exact; once the pipeline has become
/// periodic the cost does not grow with the number of micro batches.
[[nodiscard]] ScheduleResult run_clock(Schedule kind, const PipelineShape& shape,
                                       const BlockTable& durations);

/// The forward activations that each stage holds, in units of one micro batch in one of its chunks,
/// counted until the whole backward is done: the most, and the moments that may be the fullest.
[[nodiscard]] std::vector<InFlight> in_flight(Schedule kind, const PipelineShape& shape);

/// All tasks of the step, on streams as of `stream_of`, with a TaskKind as their label's kind.
[[nodiscard]] TaskGraph build_graph(Schedule kind, const PipelineShape& shape);

}  // namespace prequel
