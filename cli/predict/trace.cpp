#include "cli/predict/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/file_stream.hpp"
#include "hw/base/text.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {
namespace {

constexpr std::array<std::string_view, kStageStreams> kStreamNames{
    "compute",       "send forward",    "send backward",
    "communication", "exchange tokens", "exchange gradients of tokens",
    "offload",       "reload"};

constexpr double kRounding = 1e-9;  // what is less of a part is none of it

/// Whole nanoseconds, so that rounding keeps slices nested and apart.
std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

/// The double, in microseconds, that added to `start` gives `end` exactly: viewers add them, and an
/// ulp too much would put the end of a slice behind the begin of the next.
double duration(std::int64_t start, std::int64_t end) {
  const double from = static_cast<double>(start) / 1e3, to = static_cast<double>(end) / 1e3;
  double between = static_cast<double>(end - start) / 1e3;
  if (from + between == to) return between;
  between = to - from;  // off by one unit in the last place at most, however long the run
  if (from + between > to) between = std::nextafter(between, 0.0);
  const double more = std::nextafter(between, to);
  return from + more <= to ? more : between;
}

/// A layer's part of a pass, or one kernel of it.
struct Slice {
  std::string name;
  double seconds{};
  std::vector<Slice> kernels;
};

double seconds_of(const std::vector<Slice>& parts) {
  double seconds = 0;
  for (const Slice& part : parts) seconds += part.seconds;
  return seconds;
}

/// Returns the parts that lie between two times since the first began.
std::vector<Slice> cut(const std::vector<Slice>& parts, double from, double to) {
  std::vector<Slice> inside;
  double begin = 0;
  for (const Slice& part : parts) {
    const double seconds = std::min(to, begin + part.seconds) - std::max(from, begin);
    if (seconds > kRounding * part.seconds) {
      inside.push_back({part.name, seconds, cut(part.kernels, from - begin, to - begin)});
    }
    begin += part.seconds;
  }
  return inside;
}

class TraceWriter {
 public:
  TraceWriter(const Scenario& scenario, const Timeline& timeline, TraceDetail detail,
              const std::function<void(std::string_view)>& take)
      : model_(scenario.model),
        kinds_(scenario.model),
        timeline_(timeline),
        detail_(detail),
        kernels_(price_kernels(layer_question(scenario.plan, scenario.cluster), scenario)),
        take_(take) {
    const Plan& plan = scenario.plan;
    stage_ranks_ = plan.gpus / static_cast<std::int64_t>(timeline.memory.size());
  }

  void write(const std::vector<std::int64_t>& ranks) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (const std::int64_t rank : ranks) write_names(rank);
    for (const std::int64_t rank : ranks) write_rank(rank);
    write_transfers(ranks);
    text_ += "\n]}\n";
    take_(text_);
  }

 private:
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    constexpr std::size_t kPiece = 1u << 20;
    if (text_.size() < kPiece) return;
    take_(text_);
    text_.clear();
  }

  [[nodiscard]] std::size_t stage_of(std::int64_t rank) const {
    return static_cast<std::size_t>(rank / stage_ranks_);
  }

  void write_names(std::int64_t rank) {
    event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"rank {}, stage {}"}}}})",
          rank, rank, stage_of(rank));
    event(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", rank,
          rank);
    for (std::size_t i = 0; i < kStreamNames.size(); ++i) {
      event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", rank,
            i, kStreamNames[i]);
    }
  }

  void write_slice(std::int64_t rank, int stream, std::string_view name, std::int64_t start,
                   std::int64_t end) {
    event(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{}.{:03},"dur":{}}})", name, rank,
          stream, start / 1000, start % 1000, duration(start, end));
  }

  void write_rank(std::int64_t rank) {
    const std::size_t stage = stage_of(rank);
    for (const TimelineSlice& slice : timeline_.slices) {
      if (slice.stage != stage) continue;
      write_slice(rank, static_cast<int>(slice.stream), slice_name(slice),
                  nanoseconds(slice.start_s), nanoseconds(slice.end_s));
      write_parts(rank, slice, parts_of(slice), slice.start_s, slice.end_s);
    }
    write_fixed_time(rank);
    for (const MemoryPoint& point : timeline_.memory[stage]) {
      const std::int64_t time = nanoseconds(point.time_s);
      event(R"({{"ph":"C","name":"memory","pid":{},"ts":{}.{:03},"args":{{"GiB":{:.3f}}}}})", rank,
            time / 1000, time % 1000, point.held.value / kGiB);
    }
  }

  /// Writes the time of an iteration beside all that is played.
  void write_fixed_time(std::int64_t rank) {
    double played = 0;
    for (const TimelineSlice& slice : timeline_.slices) played = std::max(played, slice.end_s);
    if (timeline_.seconds <= played * (1 + kRounding)) return;
    write_slice(rank, static_cast<int>(StageStream::compute), "fixed time per iteration",
                nanoseconds(played), nanoseconds(timeline_.seconds));
  }

  /// Parts follow one another and fill the time of what they are parts of.
  void write_parts(std::int64_t rank, const TimelineSlice& slice, const std::vector<Slice>& parts,
                   double start, double end) {
    const double total = seconds_of(parts);
    double done = 0;
    for (const Slice& part : parts) {
      const double from = start + (end - start) * (done / total);
      done += part.seconds;
      const double to = done < total ? start + (end - start) * (done / total) : end;
      write_slice(rank, static_cast<int>(slice.stream), part.name, nanoseconds(from),
                  nanoseconds(to));
      write_parts(rank, slice, part.kernels, from, to);
    }
  }

  [[nodiscard]] std::string slice_name(const TimelineSlice& slice) const {
    const std::string_view kind = traits(slice.kind).name;
    if (slice.kind == TaskKind::optimizer || slice.kind == TaskKind::embedding_reduce ||
        slice.kind == TaskKind::gather_updates) {
      return std::string(kind);
    }
    const StepBlock& block = timeline_.blocks[slice.block];
    std::string what = "root";
    if (block.content.blocks > 0) {
      const std::int64_t last = block.first_layer + block.content.blocks - 1;
      what = last > block.first_layer ? fmt::format("layers {}-{}", block.first_layer, last)
                                      : fmt::format("layer {}", block.first_layer);
    }
    std::string name = fmt::format("{} {}, micro batch {}", kind, what, slice.micro_batch);
    if (slice.buckets > 1) {
      name += fmt::format(", bucket {} of {}", slice.bucket + 1, slice.buckets);
    }
    return name;
  }

  [[nodiscard]] std::vector<Slice> parts_of(const TimelineSlice& slice) const {
    const TaskKind pass = traits(slice.kind).part_of;
    const bool forward = pass == TaskKind::forward;
    const bool backward = pass == TaskKind::backward || pass == TaskKind::input_gradient ||
                          pass == TaskKind::weight_gradient;
    std::vector<Slice> parts;
    if (!forward && !backward) return parts;
    const auto add = [&](std::string name, const KernelCosts& kernels) {
      Slice part = slice_of(pass, std::move(name), kernels);
      if (part.seconds > 0) parts.push_back(std::move(part));
    };
    const auto& [content, first_layer, costs] = timeline_.blocks[slice.block];
    const auto of_pass = [&](Part part) -> const KernelCosts& {
      return forward ? kernels_[part].forward : kernels_[part].backward;
    };
    if (content.embedding) add("embedding", of_pass(Part::embedding));
    for (std::int64_t layer = 0; layer < content.blocks; ++layer) {
      add(fmt::format("layer {}, micro batch {}", first_layer + layer, slice.micro_batch),
          of_pass(kinds_.part_of(model_.kind_of(first_layer + layer))));
    }
    for (std::int64_t more = 0; more < content.parts[Part::next_token]; ++more) {
      add("next token", of_pass(Part::next_token));
      for (const LayerKind& kind : model_.next_token_kinds()) {
        add("next-token block", of_pass(kinds_.part_of(kind)));
      }
      add("next-token head", of_pass(Part::head));
    }
    if (content.head) add("head", of_pass(Part::head));
    if (backward) std::ranges::reverse(parts);
    if (slice.buckets == 1) return parts;
    const double bucket = seconds_of(parts) / slice.buckets;
    return cut(parts, slice.bucket * bucket, (slice.bucket + 1) * bucket);
  }

  [[nodiscard]] Slice slice_of(TaskKind kind, std::string name, const KernelCosts& kernels) const {
    Slice part{std::move(name), 0, {}};
    for (const KernelCost& kernel : kernels) {
      const bool elsewhere = kernel.weight_gradient ? kind == TaskKind::input_gradient
                                                    : kind == TaskKind::weight_gradient;
      if (elsewhere || kernel.seconds <= 0) continue;
      part.seconds += kernel.seconds;
      if (detail_ == TraceDetail::kernel) {
        part.kernels.push_back({std::string(kernel.name), kernel.seconds, {}});
      }
    }
    return part;
  }

  /// Arrows from who sends to who waits for it, where both are shown.
  void write_transfers(const std::vector<std::int64_t>& ranks) {
    std::size_t id = 0;
    for (const std::int64_t rank : ranks) {
      const std::int64_t place = rank % stage_ranks_;
      for (const auto& [from, to] : timeline_.transfers) {
        const TimelineSlice& sent = timeline_.slices[from];
        const TimelineSlice& received = timeline_.slices[to];
        const std::int64_t receiver = received.stage * stage_ranks_ + place;
        if (sent.stage != stage_of(rank) || std::ranges::find(ranks, receiver) == ranks.end()) {
          continue;
        }
        ++id;
        write_arrow("\"s\"", id, rank, sent);
        write_arrow("\"f\",\"bp\":\"e\"", id, receiver, received);
      }
    }
  }

  void write_arrow(std::string_view phase, std::size_t id, std::int64_t rank,
                   const TimelineSlice& slice) {
    const std::int64_t time = nanoseconds(slice.start_s);
    event(R"({{"ph":{},"name":"transfer","cat":"p2p","id":{},"pid":{},"tid":{},"ts":{}.{:03}}})",
          phase, id, rank, static_cast<int>(slice.stream), time / 1000, time % 1000);
  }

  const Transformer& model_;
  const LayerKinds kinds_;
  const Timeline& timeline_;
  TraceDetail detail_;
  LayerKernels kernels_;
  std::int64_t stage_ranks_{};
  const std::function<void(std::string_view)>& take_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::vector<std::int64_t> trace_ranks(const Plan& plan, std::size_t stages,
                                      const std::string& text) {
  std::vector<std::int64_t> ranks;
  if (text == "stages") {
    const auto count = static_cast<std::int64_t>(stages);
    for (std::int64_t stage = 0; stage < count; ++stage) ranks.push_back(stage * plan.gpus / count);
    return ranks;
  }
  const char* const end = text.data() + text.size();
  for (const char* next = text.data();; ++next) {
    std::int64_t rank = -1;
    const auto [stop, error] = std::from_chars(next, end, rank);
    const bool ends = stop == end || *stop == ',';
    if (error != std::errc{} || !ends || rank < 0 || rank >= plan.gpus) {
      throw InputError(
          fmt::format("--ranks {}: expected \"stages\" or ranks from 0 to {}, such as 0,{}",
                      printable(text), plan.gpus - 1, plan.gpus - 1));
    }
    if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
    if (stop == end) return ranks;
    next = stop;
  }
}

void write_trace(const Scenario& scenario, const Timeline& timeline, TraceDetail detail,
                 const std::vector<std::int64_t>& ranks,
                 const std::function<void(std::string_view)>& take) {
  TraceWriter(scenario, timeline, detail, take).write(ranks);
}

void write_trace_file(const std::string& path, const Scenario& scenario, const Timeline& timeline,
                      TraceDetail detail, const std::vector<std::int64_t>& ranks) {
  write_pieces(path,
               [&](const auto& take) { write_trace(scenario, timeline, detail, ranks, take); });
}

}  // namespace prequel
