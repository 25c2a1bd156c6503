#include "cli/import/log_line.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "hw/base/text.hpp"
#include "hw/base/units.hpp"

namespace prequel {
namespace {

constexpr std::string_view kIteration = "iteration";
constexpr std::int64_t kMostSequences = 1LL << 30;
constexpr double kMostSeconds = 1e7;
constexpr double kMiB = 1024.0 * 1024.0;

/// `text` from where `word` ends; nothing where it is not there. (memmem: many times faster than
/// string_view::find on long lines.)
std::optional<std::string_view> after(std::string_view text, std::string_view word) {
  const void* found = ::memmem(text.data(), text.size(), word.data(), word.size());
  if (found == nullptr) return std::nullopt;
  const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
  return text.substr(at + word.size());
}

void skip_blanks(std::string_view& text) {
  const std::size_t blanks = text.find_first_not_of(" \t");
  text.remove_prefix(blanks == std::string_view::npos ? text.size() : blanks);
}

/// Takes a number from the front of `text`, blanks before it aside.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  skip_blanks(text);
  Number value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return value;
}

/// The positive number of at most `most` that a field holds whole.
std::optional<double> field_number(std::string_view field, double most) {
  const auto value = take_number<double>(field);
  skip_blanks(field);
  if (!value || !field.empty() || !(*value > 0) || *value > most) return std::nullopt;
  return value;
}

/// A number right after `word`, whatever follows it.
std::optional<double> number_after(std::string_view line, std::string_view word, double most) {
  auto rest = after(line, word);
  if (!rest) return std::nullopt;
  const auto value = take_number<double>(*rest);
  if (!value || !(*value > 0) || *value > most) return std::nullopt;
  return value;
}

/// Takes ` N/ M |` from the front: that an iteration's fields begin here.
std::optional<std::int64_t> take_iteration(std::string_view& text) {
  std::string_view rest = text;
  const auto iteration = take_number<std::int64_t>(rest);
  skip_blanks(rest);
  if (!iteration || *iteration < 0 || !rest.starts_with('/')) return std::nullopt;
  rest.remove_prefix(1);
  if (!take_number<std::int64_t>(rest)) return std::nullopt;
  skip_blanks(rest);
  if (!rest.starts_with('|')) return std::nullopt;
  text = rest.substr(1);
  return iteration;
}

/// Whether the field could be read, if it is one that matters.
bool read_field(std::string_view field, LoggedIteration& record) {
  skip_blanks(field);
  const std::size_t colon = field.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string_view name = field.substr(0, colon);
  const std::string_view value = field.substr(colon + 1);
  if (name == "elapsed time per iteration (ms)" || name == "elapsed time per iteration (s)") {
    const double unit = name.ends_with("(ms)") ? 1e-3 : 1.0;
    const auto number = field_number(value, kMostSeconds / unit);
    if (!number || record.seconds > 0) return false;
    record.seconds = *number * unit;
  } else if (name == "global batch size") {
    const auto number = field_number(value, static_cast<double>(kMostSequences));
    if (!number || *number != std::floor(*number)) return false;
    record.global_batch = static_cast<std::int64_t>(*number);
  } else if (name == "TFLOPs" || name == "throughput per GPU (TFLOP/s/GPU)") {
    record.hardware_flops = name == "TFLOPs";
    record.tflops = field_number(value, 1e6).value_or(0);
  }
  return true;
}

/// The fields behind `iteration N/ M |`. Every field ends in a bar: one that does not is cut off.
std::optional<LoggedIteration> read_fields(std::string_view text, std::int64_t iteration) {
  LoggedIteration record;
  record.iteration = iteration;
  for (std::size_t bar = text.find('|'); bar != std::string_view::npos; bar = text.find('|')) {
    if (!read_field(text.substr(0, bar), record)) return std::nullopt;
    text.remove_prefix(bar + 1);
  }
  return record.seconds > 0 ? std::optional(record) : std::nullopt;
}

}  // namespace

void parse_iterations(std::string_view line,
                      const std::function<void(const std::optional<LoggedIteration>&)>& take) {
  std::optional<std::int64_t> current;
  std::string_view fields;
  for (auto rest = after(line, kIteration); rest; rest = after(*rest, kIteration)) {
    std::string_view behind = *rest;
    const auto next = take_iteration(behind);
    if (!next) continue;
    if (current) {
      const auto end = rest->data() - kIteration.size() - fields.data();
      take(read_fields(fields.substr(0, static_cast<std::size_t>(end)), *current));
    }
    current = next;
    fields = behind;
  }
  if (current) take(read_fields(fields, *current));
}

std::optional<LoggedIteration> parse_sequence_rate(std::string_view line) {
  LoggedIteration record;
  if (const auto steps = after(line, "steps: "); steps && after(*steps, "samples/sec:")) {
    std::string_view rest = *steps;
    const auto iteration = take_number<std::int64_t>(rest);
    const auto seconds = number_after(rest, "iter time (s):", kMostSeconds);
    const auto rate = number_after(rest, "samples/sec:", 1e9);
    if (!iteration || *iteration < 0 || !seconds || !rate) return std::nullopt;
    record.iteration = *iteration;
    record.seconds = *seconds;
    const double sequences = std::round(*seconds * *rate);
    if (sequences < 1 || sequences > static_cast<double>(kMostSequences)) return std::nullopt;
    record.global_batch = static_cast<std::int64_t>(sequences);
    return record;
  }
  auto rate = number_after(line, "CurrSamplesPerSec=", 1e9);
  if (!rate) rate = number_after(line, "SamplesPerSec=", 1e9);
  if (!rate) return std::nullopt;
  std::optional<std::int64_t> iteration;
  if (auto step = after(line, "global_step=")) {
    iteration = take_number<std::int64_t>(*step);
  } else {  // …] EPOCH/STEP, SamplesPerSec=
    const std::size_t slash = line.substr(0, line.find("SamplesPerSec=")).rfind('/');
    if (slash != std::string_view::npos) {
      std::string_view behind = line.substr(slash + 1);
      iteration = take_number<std::int64_t>(behind);
    }
  }
  if (!iteration || *iteration < 0) return std::nullopt;
  record.iteration = *iteration;
  record.seconds = 1 / *rate;
  record.per_sequence = true;
  return record;
}

std::optional<double> parse_reserved(std::string_view line) {
  const auto mib = number_after(line, "max reserved:", 1e9);
  return mib ? std::optional(*mib * kMiB) : std::nullopt;
}

std::optional<double> parse_allocated(std::string_view line) {
  const auto gib = number_after(line, "MaxMemAllocated=", 1e6);
  return gib ? std::optional(*gib * kGiB) : std::nullopt;
}

std::optional<std::pair<std::string_view, std::string_view>> parse_argument(std::string_view line) {
  const std::size_t dots = line.find(" ..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  if (end == std::string_view::npos || line[end] != ' ') return std::nullopt;
  std::string_view name = trimmed(line.substr(0, dots));
  const std::size_t blank = name.find_last_of(" \t]:");  // what stands before it is a prefix
  if (blank != std::string_view::npos) name.remove_prefix(blank + 1);
  const std::string_view value = trimmed(line.substr(end));
  if (name.empty() || value.empty()) return std::nullopt;
  return std::pair(name, value);
}

bool says_out_of_memory(std::string_view line) {
  return after(line, "out of memory. Tried to allocate") || after(line, "CUDA out of memory") ||
         after(line, "HIP out of memory") || after(line, "OutOfMemoryError");
}

}  // namespace prequel
