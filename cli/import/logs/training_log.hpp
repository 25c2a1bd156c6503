#pragma once

/// Reads training logs of any length in constant memory, piece by piece: times of an iteration for
/// each global batch size (they change during a ramp-up), the argument dump, memory and its end.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/statistics/error_statistics.hpp"
#include "cli/import/logs/log_line.hpp"

namespace prequel {

/// Keeps every value until `kMost` are there, from then on every second, every fourth, …: quantiles
/// are exact for short streams and the same each time for long ones.
class ThinnedSample {
 public:
  static constexpr std::size_t kMost = 1024;

  void add(double value) {
    if (seen_++ % stride_ != 0) return;
    if (values_.size() == kMost) {
      for (std::size_t i = 0; 2 * i < kMost; ++i) values_[i] = values_[2 * i];
      values_.resize(kMost / 2);
      stride_ *= 2;
    }
    values_.push_back(value);
  }
  [[nodiscard]] std::size_t seen() const { return seen_; }
  [[nodiscard]] double at(double fraction) const { return quantile(values_, fraction); }

 private:
  std::vector<double> values_;
  std::size_t seen_{0};
  std::size_t stride_{1};
};

/// Iterations of this number from a start on are warm-up: allocator, autotuning, first data. A log
/// that neither prints arguments nor begins with one of them is an excerpt of a run under way.
inline constexpr std::int64_t kWarmUpIterations = 10;

/// The times logged at one global batch size. Left out of `seconds` are warm-up and the line in
/// which the batch size changed.
struct BatchTimes {
  std::int64_t global_batch{};                       ///< sequences; 0: the log does not say it
  TimedUnit unit{};                                  ///< that seconds are of
  bool hardware_flops{};                             ///< `tflops` counts recomputation
  std::int64_t first_iteration{}, last_iteration{};  ///< used
  std::size_t left_out{};                            ///< lines
  ThinnedSample seconds, tflops;
  ThinnedSample warm_up_seconds;  ///< of what was left out, but for the very first line of a start
};

/// The lines logged between one argument dump and the next that differs (resumed jobs often write
/// on in the same file).
struct LogSection {
  using Arguments = std::vector<std::pair<std::string, std::string>>;
  Arguments arguments;         ///< Megatron's, in the order of the dump
  Arguments engine_arguments;  ///< DeepSpeed's own (`[config.py:…] train_batch_size ...... 256`)
  std::vector<BatchTimes> batches;  ///< in order of appearance
  BatchTimes unnumbered;            ///< of lines that say no iteration; used where no others are
  std::optional<double> reserved_bytes, allocated_bytes;  ///< of the fullest device that prints it
  bool out_of_memory{};                                   ///< and nothing was logged after it
};

struct TrainingLog {
  std::vector<LogSection> sections;
  std::size_t iteration_lines{};
  std::size_t broken_lines{};  ///< cut off, or two ranks wrote into one another
  std::size_t first_broken_line{};

  /// Tests whether there is anything that a training log holds.
  [[nodiscard]] bool found() const;
  /// Tests whether anything was timed, or ended out of memory.
  [[nodiscard]] bool measured() const;
};

/// Takes a log in pieces of any size.
class TrainingLogReader {
 public:
  TrainingLogReader();
  void take(std::string_view piece);
  /// Returns the log; to be called once, at the end.
  TrainingLog finish();

 private:
  void line(std::string_view text);
  void one_line(std::string_view text);
  void plain_line(std::string_view text);
  void iteration(const LoggedIteration& record);
  void settle_first(bool start);
  void keep(const LoggedIteration& record, bool start, bool batch_changed);
  void broken();
  void begin_dump();
  void end_dump();
  BatchTimes* times(const LoggedIteration& record);

  TrainingLog log_;
  std::string rest_;    ///< the begin of a line that the next piece goes on with
  bool skip_{false};    ///< inside a line that is too long
  std::size_t line_{};  ///< counted from 1
  bool in_dump_{false};
  bool starts_{false};  ///< arguments were printed, and no iteration since
  LogSection::Arguments dump_;
  std::optional<LoggedIteration> last_;   ///< empty: the next one is the first of a start
  std::optional<LoggedIteration> first_;  ///< until the next tells whether a start or an excerpt
  std::int64_t warm_until_{};             ///< iterations up to this one are warm-up
};

}  // namespace prequel
