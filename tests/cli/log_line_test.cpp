#include "cli/import/logs/log_line.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "hw/base/units.hpp"

namespace prequel {
namespace {

using Records = std::vector<std::optional<LoggedIteration>>;

Records iterations(const std::string& line) {
  Records records;
  parse_iterations(line, [&](const auto& record) { records.push_back(record); });
  return records;
}

const std::string kMegatron =
    "iteration       10/  500000 | consumed samples:         5120 | elapsed time per iteration "
    "(ms): 4321.0 | throughput per GPU (TFLOP/s/GPU): 400.5 | global batch size:   512 | lm loss: "
    "2.1E+00 | number of skipped iterations:   0 |";

TEST_CASE("a line of Megatron-LM gives milliseconds, batch size and model FLOPs") {
  const Records records = iterations(" [2024-05-01 10:00:00] " + kMegatron);
  REQUIRE(records.size() == 1);
  CHECK(records[0] == LoggedIteration{10, 512, 4.321, TimedUnit::iteration, 400.5, false});
}

TEST_CASE("a line of BigScience gives seconds and hardware FLOPs, whatever prefix it has") {
  const std::string line =
      "iteration     7/  99 | elapsed time per iteration (s): 104.50 | global batch size:  2048 | "
      "samples per second: 19.598 | TFLOPs: 134.15 |";
  for (const char* prefix : {"", "[default7]:", "383: ", "\x1b[36m[rank3]: "}) {
    const Records records = iterations(prefix + line);
    REQUIRE(records.size() == 1);
    CHECK(records[0] == LoggedIteration{7, 2048, 104.5, TimedUnit::iteration, 134.15, true});
  }
}

TEST_CASE("two ranks on one line are two iterations") {
  const Records records = iterations(kMegatron + kMegatron);
  REQUIRE(records.size() == 2);
  CHECK(records[0] == records[1]);
}

TEST_CASE("a field that is cut off or written into makes the line unreadable") {
  for (const char* line :
       {"iteration 1/ 2 | elapsed time per iteration (ms): 43",
        "iteration 1/ 2 | elapsed time per iteration (ms): 43[default3]:memory | lm loss: 2 |",
        "iteration 1/ 2 | elapsed time per iteration (ms): nan | lm loss: 2 |",
        "iteration 1/ 2 | elapsed time per iteration (ms): -3 |",
        "iteration 1/ 2 | elapsed time per iteration (ms): 3 | global batch size: 2.5 |",
        "iteration 1/ 2 | lm loss: 2 |"}) {
    CAPTURE(line);
    CHECK(iterations(line) == Records{std::nullopt});
  }
}

TEST_CASE("a line that speaks of iterations otherwise is none") {
  for (const char* line :
       {"", "iteration", "iteration | ", "after 2 iterations | x", "iteration 1 |",
        "iteration -1/ 2 | elapsed time per iteration (ms): 3 |"}) {
    CAPTURE(line);
    CHECK(iterations(line).empty());
  }
}

TEST_CASE("DeepSpeed's rates are seconds of one sequence, the current one before the average") {
  const auto old = parse_sequence_rate("[INFO] [timer.py:154:stop] 0/100, SamplesPerSec=50");
  REQUIRE(old);
  CHECK(*old == LoggedIteration{100, 0, 0.02, TimedUnit::sequence, 0, false});
  const auto current = parse_sequence_rate(
      "[timer.py:199:stop] epoch=0/micro_step=400/global_step=100, RunningAvgSamplesPerSec=48, "
      "CurrSamplesPerSec=50, MemAllocated=5.4GB, MaxMemAllocated=21.5GB");
  CHECK(current == old);
  CHECK_FALSE(parse_sequence_rate("SamplesPerSec=50"));
  CHECK_FALSE(parse_sequence_rate("0/100, SamplesPerSec=inf"));
}

TEST_CASE("the pipeline engine says seconds, and its rate gives the batch") {
  const auto record =
      parse_sequence_rate("steps: 10 loss: 8.9 iter time (s): 5.020 samples/sec: 50.996");
  REQUIRE(record);
  CHECK(*record == LoggedIteration{10, 256, 5.02, TimedUnit::iteration, 0, false});
}

TEST_CASE("memory is read in bytes") {
  CHECK(parse_reserved("[Rank 0] memory (MB) | reserved: 3.0 | max reserved: 2048.0") == 2 * kGiB);
  CHECK(parse_allocated("MemAllocated=5.4GB, MaxMemAllocated=21.5GB") == 21.5 * kGiB);
  CHECK_FALSE(parse_reserved("max reserved: none"));
}

TEST_CASE("an argument is a name, dots and a value, with or without a prefix") {
  using Pair = std::pair<std::string_view, std::string_view>;
  CHECK(parse_argument("[default0]:  num_layers ................. 70") == Pair{"num_layers", "70"});
  CHECK(parse_argument(" [config.py:1018:print]   train_batch_size ...... 256") ==
        Pair{"train_batch_size", "256"});
  CHECK(parse_argument("rampup_batch_size ... ['192', '16']") ==
        Pair{"rampup_batch_size", "['192', '16']"});
  CHECK_FALSE(parse_argument("loading ..."));
  CHECK_FALSE(parse_argument(" ... 3"));
}

TEST_CASE("running out of memory is said in several ways") {
  CHECK(says_out_of_memory("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"));
  CHECK(says_out_of_memory("torch.OutOfMemoryError: HIP out of memory."));
  CHECK_FALSE(says_out_of_memory("memory (MB) | allocated"));
}

}  // namespace
}  // namespace prequel
