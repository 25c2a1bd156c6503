#include "cli/import/logs/log_line.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "hw/base/text.hpp"
#include "hw/base/units.hpp"

namespace prequel {
namespace {

constexpr std::string_view kIteration = "iteration";
constexpr std::int64_t kMostLogged = 1LL << 30;
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

/// The positive number of at most `most` that a field holds whole; of two, now and on average as
/// Primus prints them (`1460.8/1450.4`), the first.
std::optional<double> field_number(std::string_view field, double most) {
  const auto value = take_number<double>(field);
  if (field.starts_with('/')) {
    field.remove_prefix(1);
    if (!take_number<double>(field)) return std::nullopt;
  }
  skip_blanks(field);
  if (!value || !field.empty() || !(*value > 0) || *value > most) return std::nullopt;
  return value;
}

/// A number as nanotron prints it for people: `3.42K`, `1.2M`.
std::optional<double> human_number(std::string_view field, double most) {
  field = trimmed(field);
  double unit = 1;
  if (field.ends_with('K')) unit = 1e3;
  if (field.ends_with('M')) unit = 1e6;
  if (unit > 1) field.remove_suffix(1);
  const auto value = field_number(field, most / unit);
  return value ? std::optional(*value * unit) : std::nullopt;
}

/// A number right after `word`, whatever follows it.
std::optional<double> number_after(std::string_view line, std::string_view word, double most) {
  auto rest = after(line, word);
  if (!rest) return std::nullopt;
  const auto value = take_number<double>(*rest);
  if (!value || !(*value > 0) || *value > most) return std::nullopt;
  return value;
}

/// Takes ` N/ M |` or `: N / M |` from the front: that an iteration's fields begin here.
std::optional<std::int64_t> take_iteration(std::string_view& text) {
  std::string_view rest = text;
  if (rest.starts_with(':')) rest.remove_prefix(1);
  const auto iteration = take_number<std::int64_t>(rest);
  skip_blanks(rest);
  if (!iteration || *iteration < 0 || !rest.starts_with('/')) return std::nullopt;
  rest.remove_prefix(1);
  if (!take_number<double>(rest)) return std::nullopt;
  if (rest.starts_with('K') || rest.starts_with('M')) rest.remove_prefix(1);  // nanotron's 320K
  skip_blanks(rest);
  if (!rest.starts_with('|')) return std::nullopt;
  text = rest.substr(1);
  return iteration;
}

/// Reads a field. Returns whether it could be read, if it is one that matters.
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
  } else if (name == "train_step_timing in s" || name == "elapsed_time_per_iteration_ms") {
    const double unit = name.ends_with("_ms") ? 1e-3 : 1.0;
    const auto number = human_number(value, kMostSeconds / unit);
    if (!number || record.seconds > 0) return false;
    record.seconds = *number * unit;
  } else if (name == "global_batch_size") {
    const std::string_view number = trimmed(value);  // 1.02K may be 1,016 to 1,024
    if (number.ends_with('K') || number.ends_with('M')) return true;
    record.global_batch = static_cast<std::int64_t>(
        field_number(number, static_cast<double>(kMostLogged)).value_or(0));
  } else if (name == "model_tflops_per_gpu") {
    record.tflops = human_number(value, 1e6).value_or(0);
  } else if (name == "global batch size") {
    const auto number = field_number(value, static_cast<double>(kMostLogged));
    if (!number || *number != std::floor(*number)) return false;
    record.global_batch = static_cast<std::int64_t>(*number);
  } else if (name == "TFLOPs" || name == "throughput per GPU (TFLOP/s/GPU)") {
    record.hardware_flops = name == "TFLOPs";
    record.tflops = field_number(value, 1e6).value_or(0);
  }
  return true;
}

/// The fields behind `iteration N/ M |`. Every field of Megatron ends in a bar: one that does not
/// is cut off. NeMo's last has none.
std::optional<LoggedIteration> read_fields(std::string_view text, std::int64_t iteration) {
  LoggedIteration record;
  record.iteration = iteration;
  for (std::size_t bar = text.find('|'); bar != std::string_view::npos; bar = text.find('|')) {
    if (!read_field(text.substr(0, bar), record)) return std::nullopt;
    text.remove_prefix(bar + 1);
  }
  if (trimmed(text).starts_with("train_step_timing in s:") && !read_field(text, record)) {
    return std::nullopt;
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
  if (!current) return;
  auto last = read_fields(fields, *current);
  if (last && last->global_batch == 0) {  // GPT-NeoX says samples a second before the iteration
    const double rate = number_after(line, " samples/sec:", 1e9).value_or(0);
    const double sequences = std::round(rate * last->seconds);
    if (sequences <= static_cast<double>(kMostLogged)) {
      last->global_batch = static_cast<std::int64_t>(sequences);
    }
  }
  take(last);
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
    if (sequences < 1 || sequences > static_cast<double>(kMostLogged)) return std::nullopt;
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
  record.unit = TimedUnit::sequence;
  return record;
}

namespace {

/// `step: 10  loss: 8.1  memory: 36.64GiB(46.25%)  tps: 6,785  mfu: 39.73%`.
std::optional<LoggedIteration> parse_torchtitan(std::string_view line) {
  auto step = after(line, "step:");
  auto rate = step ? after(*step, "tps:") : std::nullopt;
  if (!rate) return std::nullopt;
  const auto iteration = take_number<std::int64_t>(*step);
  skip_blanks(*rate);
  double tokens = 0;
  for (const char c : rate->substr(0, 20)) {  // with commas between thousands
    if (c >= '0' && c <= '9') tokens = 10 * tokens + (c - '0');
    if ((c < '0' || c > '9') && c != ',') break;
  }
  if (!iteration || *iteration < 0 || tokens < 1) return std::nullopt;
  LoggedIteration record;
  record.iteration = *iteration;
  record.seconds = 1 / tokens;
  record.unit = TimedUnit::device_token;
  record.tflops = number_after(line, "tflops:", 1e6).value_or(0);
  return record;
}

std::optional<LoggedIteration> record_of(std::optional<std::int64_t> iteration,
                                         std::optional<double> seconds) {
  if (!iteration || *iteration < -1 || !seconds) return std::nullopt;
  LoggedIteration record;
  record.iteration = *iteration;
  record.seconds = *seconds;
  return record;
}

std::optional<LoggedIteration> parse_nemo_bar(std::string_view line) {
  const auto seconds = number_after(line, "train_step_timing in s=", kMostSeconds);
  auto step = seconds ? after(line, "global_step=") : std::nullopt;
  const auto iteration = step ? take_number<double>(*step) : std::nullopt;  // 4.000
  if (!iteration || !(*iteration >= 0) || *iteration > 1e12) return std::nullopt;
  return record_of(static_cast<std::int64_t>(*iteration), seconds);
}

std::optional<LoggedIteration> parse_bridge(std::string_view line) {
  auto record = record_of(-1, number_after(line, "Step Time :", kMostSeconds));
  if (record) record->tflops = number_after(line, "GPU utilization:", 1e6).value_or(0);
  return record;
}

std::optional<LoggedIteration> parse_nano_gpt(std::string_view line) {
  if (!line.starts_with("iter ")) return std::nullopt;
  std::string_view rest = line.substr(5);
  const auto iteration = take_number<std::int64_t>(rest);
  const auto milliseconds = number_after(rest, ", time ", kMostSeconds * 1e3);
  if (!milliseconds || !rest.starts_with(": loss")) return std::nullopt;
  return record_of(iteration, *milliseconds * 1e-3);
}

/// A bar of tqdm without a name, as the Trainer's: ` 3%|▎    | 30/1000 [01:12<39:02, 2.41s/it]`.
std::optional<LoggedIteration> parse_trainer_bar(std::string_view line) {
  const std::size_t percent = line.find("%|");
  if (percent == std::string_view::npos ||
      line.substr(0, percent).find_first_not_of(" 0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  auto counts = after(line.substr(percent + 2), "| ");
  if (!counts) return std::nullopt;
  const auto iteration = take_number<std::int64_t>(*counts);
  auto rate = after(*counts, ", ");
  if (!rate || !counts->starts_with('/')) return std::nullopt;
  const auto number = take_number<double>(*rate);
  if (!number || !(*number > 0) || *number > kMostSeconds) return std::nullopt;
  if (rate->starts_with("s/it")) return record_of(iteration, number);
  if (rate->starts_with("it/s")) return record_of(iteration, 1 / *number);
  return std::nullopt;
}

std::optional<LoggedIteration> parse_trainer_end(std::string_view line) {
  const auto steps = number_after(line, "'train_steps_per_second':", 1e6);
  return steps ? record_of(-1, 1 / *steps) : std::nullopt;
}

}  // namespace

std::optional<LoggedIteration> parse_step(std::string_view line) {
  for (const auto& parse : {parse_torchtitan, parse_nemo_bar, parse_bridge, parse_nano_gpt,
                            parse_trainer_bar, parse_trainer_end}) {
    if (const auto record = parse(line)) return record;
  }
  return std::nullopt;
}

std::optional<double> parse_reserved(std::string_view line) {
  if (const auto mib = number_after(line, "max reserved:", 1e9)) return *mib * kMiB;
  auto memory = after(line, "memory:");
  const auto gib = memory ? take_number<double>(*memory) : std::nullopt;
  if (!gib || !(*gib > 0) || *gib > 1e6 || !memory->starts_with("GiB(")) return std::nullopt;
  return *gib * kGiB;
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
  std::string_view value = trimmed(line.substr(end));
  for (const std::string_view origin : {"updated", "default"}) {  // GPT-NeoX: 44.....updated
    if (!value.ends_with(origin) || value.size() < origin.size() + 3) continue;
    const std::string_view left = value.substr(0, value.size() - origin.size());
    if (left.ends_with("...")) value = left.substr(0, left.find_last_not_of('.') + 1);
  }
  if (name.empty() || value.empty()) return std::nullopt;
  return std::pair(name, value);
}

bool says_out_of_memory(std::string_view line) {
  return after(line, "out of memory. Tried to allocate") || after(line, "CUDA out of memory") ||
         after(line, "HIP out of memory") || after(line, "OutOfMemoryError");
}

}  // namespace prequel
