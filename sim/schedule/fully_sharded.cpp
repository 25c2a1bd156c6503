#include "sim/schedule/fully_sharded.hpp"

#include "sim/engine/clock.hpp"

namespace prequel {

ShardedResult run_clock(const ShardedShape& shape, const ShardedTable& durations) {
  const auto exact = exact_durations(durations.values(), shape.micro_batches);
  Clock clock(exact, kShardedStreams);
  emit_fully_sharded(shape, clock);
  return {clock.end(), clock.busy(static_cast<StreamId>(ShardedStream::compute)),
          clock.busy(static_cast<StreamId>(ShardedStream::communication))};
}

TaskGraph build_graph(const ShardedShape& shape) {
  GraphBuilder builder(kShardedStreams);
  emit_fully_sharded(shape, builder);
  return builder.build();
}

}  // namespace prequel
