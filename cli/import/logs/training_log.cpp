#include "cli/import/logs/training_log.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

namespace prequel {
namespace {

constexpr std::size_t kLongestLine = 1u << 16;
constexpr std::size_t kMostSections = 64;
constexpr std::size_t kMostBatchSizes = 512;
constexpr std::size_t kMostArguments = 4096;
constexpr std::size_t kLongestArgument = 1024;
constexpr std::size_t kMostEngineArguments = 256;

bool contains(std::string_view text, std::string_view word) {
  return ::memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

void raise(std::optional<double>& most, const std::optional<double>& value) {
  if (value) most = std::max(most.value_or(0), *value);
}

bool is_empty(const LogSection& section) {
  return section.arguments.empty() && section.engine_arguments.empty() && section.batches.empty() &&
         !section.out_of_memory;
}

/// Sets `name`, whether it is there already or not.
void assign(LogSection::Arguments& arguments, std::string_view name, std::string_view value) {
  const auto known = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const auto& one) { return one.first == name; });
  if (known != arguments.end()) {
    known->second = value;
  } else if (arguments.size() < kMostEngineArguments) {
    arguments.emplace_back(name, value);
  }
}

/// Without the sequences that colour a terminal: ESC [ … and a letter.
std::string without_colours(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      plain += text[at];
      continue;
    }
    while (at + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) == 0) ++at;
  }
  return plain;
}

/// Without what changes from one start of a job to the next.
LogSection::Arguments lasting(LogSection::Arguments arguments) {
  std::erase_if(arguments, [](const auto& one) {
    return one.first == "iteration" || one.first.find("rank") != std::string::npos ||
           one.first.find("consumed") != std::string::npos ||
           one.first.find("load") != std::string::npos;
  });
  return arguments;
}

}  // namespace

bool TrainingLog::found() const {
  return measured() || std::any_of(sections.begin(), sections.end(), [](const LogSection& section) {
           return !section.arguments.empty() || !section.engine_arguments.empty();
         });
}

bool TrainingLog::measured() const {
  return std::any_of(sections.begin(), sections.end(), [](const LogSection& section) {
    return !section.batches.empty() || section.out_of_memory;
  });
}

TrainingLogReader::TrainingLogReader() {
  log_.sections.emplace_back();
}

void TrainingLogReader::take(std::string_view piece) {
  while (!piece.empty()) {
    const void* end = std::memchr(piece.data(), '\n', piece.size());
    const std::size_t length =
        end == nullptr ? piece.size()
                       : static_cast<std::size_t>(static_cast<const char*>(end) - piece.data());
    const bool whole = end != nullptr && rest_.empty() && !skip_ && length <= kLongestLine;
    if (whole) {
      line(piece.substr(0, length));
    } else {
      skip_ = skip_ || rest_.size() + length > kLongestLine;
      if (skip_) {
        rest_.clear();
      } else {
        rest_ += piece.substr(0, length);
      }
    }
    if (end == nullptr) return;
    if (!whole) {
      line(rest_);
      rest_.clear();
      skip_ = false;
    }
    piece.remove_prefix(length + 1);
  }
}

TrainingLog TrainingLogReader::finish() {
  if (!rest_.empty()) line(rest_);
  if (in_dump_) end_dump();
  settle_first(false);
  for (LogSection& section : log_.sections) {
    // Where whole iterations are logged, rates say the same less exactly.
    const auto timed = [](const BatchTimes& batch) { return batch.unit == TimedUnit::iteration; };
    if (std::any_of(section.batches.begin(), section.batches.end(), timed)) {
      std::erase_if(section.batches, [&](const BatchTimes& batch) { return !timed(batch); });
    }
    if (section.batches.empty() && section.unnumbered.seconds.seen() > 0) {
      section.batches.push_back(std::move(section.unnumbered));
    }
  }
  std::erase_if(log_.sections, is_empty);
  return std::move(log_);
}

/// Bars of progress write over their line; colours do not matter.
void TrainingLogReader::line(std::string_view text) {
  ++line_;
  if (text.starts_with('#')) return;  // a script's comment, which may show some of its log
  if (text.ends_with('\r')) text.remove_suffix(1);
  std::string plain;
  if (std::memchr(text.data(), '\x1b', text.size()) != nullptr) {
    plain = without_colours(text);
    text = plain;
  }
  while (true) {
    const std::size_t end = std::min(text.find('\r'), text.size());
    one_line(text.substr(0, end));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

void TrainingLogReader::one_line(std::string_view text) {
  const bool has_bar = std::memchr(text.data(), '|', text.size()) != nullptr;
  if (!has_bar || (in_dump_ && parse_argument(text))) return plain_line(text);
  bool found = false;
  parse_iterations(text, [&](const std::optional<LoggedIteration>& record) {
    found = true;
    if (record) {
      iteration(*record);
    } else {
      broken();
    }
  });
  if (!found) plain_line(text);
  raise(log_.sections.back().reserved_bytes, parse_reserved(text));
}

void TrainingLogReader::plain_line(std::string_view text) {
  if (in_dump_) {
    if (contains(text, "end of arguments")) return end_dump();
    const auto argument = parse_argument(text);
    if (argument && dump_.size() < kMostArguments) {
      dump_.emplace_back(argument->first.substr(0, kLongestArgument),
                         argument->second.substr(0, kLongestArgument));
    }
    return;
  }
  if (contains(text, "amples")) {
    if (const auto record = parse_sequence_rate(text)) iteration(*record);
    raise(log_.sections.back().allocated_bytes, parse_allocated(text));
  }
  if (const auto record = parse_step(text)) {
    iteration(*record);
    raise(log_.sections.back().reserved_bytes, parse_reserved(text));
  } else if (contains(text, "- arguments -")) {
    begin_dump();
  } else if (contains(text, "config.py:")) {
    if (const auto argument = parse_argument(text)) {
      assign(log_.sections.back().engine_arguments, argument->first.substr(0, kLongestArgument),
             argument->second.substr(0, kLongestArgument));
    }
  } else if (contains(text, "emory") && says_out_of_memory(text)) {
    log_.sections.back().out_of_memory = true;
  }
}

void TrainingLogReader::broken() {
  if (log_.broken_lines++ == 0) log_.first_broken_line = line_;
}

void TrainingLogReader::begin_dump() {
  in_dump_ = true;
  dump_.clear();
}

/// The same arguments once more are a restart; others begin a section.
void TrainingLogReader::end_dump() {
  in_dump_ = false;
  settle_first(false);
  starts_ = true;
  last_.reset();
  if (dump_.empty()) return;
  const LogSection& current = log_.sections.back();
  if (lasting(current.arguments) == lasting(dump_)) return;
  const bool begun =
      !current.arguments.empty() || !current.batches.empty() || current.out_of_memory;
  if (begun && log_.sections.size() < kMostSections) log_.sections.emplace_back();
  log_.sections.back().arguments = std::move(dump_);
}

BatchTimes* TrainingLogReader::times(const LoggedIteration& record) {
  std::vector<BatchTimes>& batches = log_.sections.back().batches;
  const auto found = std::find_if(batches.begin(), batches.end(), [&](const BatchTimes& batch) {
    return batch.global_batch == record.global_batch && batch.unit == record.unit;
  });
  if (found != batches.end()) return &*found;
  if (batches.size() == kMostBatchSizes) return nullptr;
  batches.emplace_back();
  batches.back().global_batch = record.global_batch;
  batches.back().unit = record.unit;
  return &batches.back();
}

void TrainingLogReader::iteration(const LoggedIteration& record) {
  if (in_dump_) end_dump();
  ++log_.iteration_lines;
  if (record.iteration < 0) {
    log_.sections.back().unnumbered.seconds.add(record.seconds);
    return;
  }
  const bool same_kind = last_ && last_->unit == record.unit;
  if (same_kind && last_->iteration == record.iteration) return;  // another rank prints it, too
  if (same_kind && last_->global_batch > 0 && record.global_batch == 0) return broken();
  // Iteration 100 begins a log of every hundredth; else it is one of a run under way.
  settle_first(first_ && record.iteration == 2 * first_->iteration);
  const bool begins = !last_ && (starts_ || record.iteration <= kWarmUpIterations);
  const bool start = begins || (same_kind && record.iteration < last_->iteration);
  starts_ = false;
  if (start) warm_until_ = record.iteration + kWarmUpIterations - 1;
  const bool batch_changed = !start && same_kind && last_->global_batch != record.global_batch;
  if (last_ && !start && !same_kind && record.unit != TimedUnit::iteration) return;
  const bool first = !last_ && !start;
  last_ = record;
  if (first) {
    first_ = record;
  } else {
    keep(record, start, batch_changed);
  }
}

void TrainingLogReader::settle_first(bool start) {
  if (const auto first = std::exchange(first_, std::nullopt)) keep(*first, start, false);
}

void TrainingLogReader::keep(const LoggedIteration& record, bool start, bool batch_changed) {
  BatchTimes* batch = times(record);
  if (batch == nullptr) return broken();
  log_.sections.back().out_of_memory = false;
  if (start || batch_changed || record.iteration <= warm_until_) {
    ++batch->left_out;
    if (!start) batch->warm_up_seconds.add(record.seconds);
    return;
  }
  if (batch->seconds.seen() == 0) batch->first_iteration = record.iteration;
  batch->last_iteration = record.iteration;
  batch->seconds.add(record.seconds);
  if (record.tflops > 0) {
    batch->tflops.add(record.tflops);
    batch->hardware_flops = record.hardware_flops;
  }
}

}  // namespace prequel
