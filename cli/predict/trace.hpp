#pragma once

/// A prediction's timeline as a Chrome trace (JSON), which Perfetto and chrome://tracing open: a
/// process a rank, a thread a stream, slices that nest (pass, layer, kernel), arrows for transfers
/// between stages, and a counter of the memory held. Times in µs, to the nanosecond.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/timeline.hpp"

namespace prequel {

/// The finest slices of a trace. Passes that run in gradient buckets are not cut further.
enum class TraceDetail : std::uint8_t { layer, kernel };

/// The ranks of "0,8,16", or of "stages" the first of each stage. Throws InputError for what is no
/// rank of the plan.
std::vector<std::int64_t> trace_ranks(const Plan& plan, std::size_t stages,
                                      const std::string& text);

/// Hands the trace on piece by piece.
void write_trace(const Scenario& scenario, const Timeline& timeline, TraceDetail detail,
                 const std::vector<std::int64_t>& ranks,
                 const std::function<void(std::string_view)>& take);

/// Writes it to a file, whole or not at all.
void write_trace_file(const std::string& path, const Scenario& scenario, const Timeline& timeline,
                      TraceDetail detail, const std::vector<std::int64_t>& ranks);

}  // namespace prequel
