#include "cli/predict/memory_snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace prequel {
namespace {

/// Writes one value, told part by part: a list or dict is begun, filled and ended.
class Pickle {
 public:
  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  /// The key of the value that is told next, in a dict.
  void key(std::string_view text) { value(text); }

  void value(std::string_view text);
  void value(std::int64_t number);

  /// Writes what `tell` tells or, where that name was told before, the same object again.
  template <class Tell>
  void shared(const std::string& name, Tell&& tell) {
    if (get(name)) return;
    tell();
    put(name);
  }

  /// The whole pickle.
  [[nodiscard]] std::string finished() &&;

 private:
  bool get(const std::string& name);
  void put(const std::string& name);
  void add_little_endian(std::uint64_t number, int bytes);

  std::string bytes_{"\x80\x02"};
  std::map<std::string, std::uint32_t> known_;  ///< by name, its place in the memo
};

/// Opcodes (CPython, Lib/pickle.py).
namespace op {
constexpr char empty_dict = '}';
constexpr char empty_list = ']';
constexpr char mark = '(';
constexpr char set_items = 'u';
constexpr char appends = 'e';
constexpr char text = 'X';
constexpr char integer = '\x8a';  // LONG1
constexpr char put = 'r';         // LONG_BINPUT
constexpr char get = 'j';         // LONG_BINGET
constexpr char stop = '.';
}  // namespace op

constexpr int kIntegerBytes = 8;

void Pickle::begin_dict() {
  bytes_ += op::empty_dict;
  bytes_ += op::mark;
}
void Pickle::end_dict() {
  bytes_ += op::set_items;
}
void Pickle::begin_list() {
  bytes_ += op::empty_list;
  bytes_ += op::mark;
}
void Pickle::end_list() {
  bytes_ += op::appends;
}

void Pickle::value(std::string_view text) {
  bytes_ += op::text;
  add_little_endian(text.size(), 4);
  bytes_ += text;
}

void Pickle::value(std::int64_t number) {
  bytes_ += op::integer;
  bytes_ += static_cast<char>(kIntegerBytes);
  add_little_endian(static_cast<std::uint64_t>(number), kIntegerBytes);
}

std::string Pickle::finished() && {
  bytes_ += op::stop;
  return std::move(bytes_);
}

bool Pickle::get(const std::string& name) {
  const auto found = known_.find(name);
  if (found == known_.end()) return false;
  bytes_ += op::get;
  add_little_endian(found->second, 4);
  return true;
}

void Pickle::put(const std::string& name) {
  const auto place = static_cast<std::uint32_t>(known_.size());
  known_.emplace(name, place);
  bytes_ += op::put;
  add_little_endian(place, 4);
}

void Pickle::add_little_endian(std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(number >> (8 * i) & 0xff);
}

/// Addresses begin here, a device each this far from the next: all stay below 2^53, which is what
/// the viewer's numbers hold.
constexpr std::int64_t kDeviceSpace = std::int64_t{1} << 42;

constexpr const char* kCache = "allocator's cache";

struct Block {
  std::string what;
  std::int64_t address{}, size{};
};

struct Event {
  const char* action;
  Block block;
  std::int64_t time_us{};
};

/// The memory of one rank as an allocator would have handled it.
class RankMemory {
 public:
  RankMemory(std::int64_t device, const StageMemory& peak, const std::vector<MemoryPoint>& points)
      : begin_((device + 1) * kDeviceSpace), next_(begin_) {
    // The peak's framework is without what was given back of the cache by then.
    const MemoryPoint& first = points.front();
    Bytes gradients = first.gradients;
    for (const MemoryPoint& point : points) gradients = std::min(gradients, point.gradients);
    const Bytes of_states = peak.weights + peak.optimizer + gradients;
    const Bytes cache = most_cache(peak, points);
    take("weights", peak.weights, 0);
    take("gradients", gradients, 0);
    take("optimizer", peak.optimizer, 0);
    take("framework",
         first.held - first.activations - first.buffers - (first.gradients - gradients) -
             of_states - (cache - first.given_back),
         0);
    take(kCache, cache - first.given_back, 0);
    std::vector<MemoryPoint> in_time = points;
    std::ranges::stable_sort(in_time, {}, &MemoryPoint::time_s);
    for (const MemoryPoint& point : in_time) {
      const std::int64_t time = std::llround(point.time_s * 1e6);
      const bool shrinks = whole(cache - point.given_back) < cache_size();
      if (shrinks) set_cache(cache - point.given_back, time);
      set_buffers({}, time);
      set_activations(point.activations, time);
      set_buffers(point.buffers + (point.gradients - gradients), time);
      if (!shrinks) set_cache(cache - point.given_back, time);
    }
    for (const Block& block : activations_) live_.push_back(block);
    if (buffers_.size > 0) live_.push_back(buffers_);
  }

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  /// Returns the blocks held at the end.
  [[nodiscard]] const std::vector<Block>& live() const { return live_; }
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  /// All that the allocator keeps for itself while there is room.
  static Bytes most_cache(const StageMemory& peak, const std::vector<MemoryPoint>& points) {
    Bytes most;
    for (const MemoryPoint& point : points) most = std::max(most, point.given_back);
    return peak.allocator_cache + most;
  }

  static std::int64_t whole(Bytes bytes) { return std::llround(bytes.value); }

  Block placed(std::string what, std::int64_t size, std::int64_t time) {
    Block block{std::move(what), next_, size};
    next_ += size;
    end_ = std::max(end_, next_);
    events_.push_back({"alloc", block, time});
    return block;
  }

  void give(const Block& block, std::int64_t time) {
    events_.push_back({"free_requested", block, time});
    events_.push_back({"free_completed", block, time});
  }

  void take(const char* what, Bytes size, std::int64_t time) {
    if (whole(size) > 0) live_.push_back(placed(what, whole(size), time));
  }

  [[nodiscard]] bool has_cache() const { return !live_.empty() && live_.back().what == kCache; }
  [[nodiscard]] std::int64_t cache_size() const { return has_cache() ? live_.back().size : 0; }

  /// The cache shrinks where activations need the room.
  void set_cache(Bytes size, std::int64_t time) {
    if (!has_cache() || cache_size() == whole(size)) return;
    Block& cache = live_.back();
    give(cache, time);
    cache.size = whole(size);
    events_.push_back({"alloc", cache, time});
  }

  /// A block for each chunk of layers in flight, the last one freed first.
  void set_activations(Bytes bytes, std::int64_t time) {
    const std::int64_t size = whole(bytes);
    std::int64_t held = 0;
    for (const Block& block : activations_) held += block.size;
    while (held > size) {
      const Block last = activations_.back();
      give(last, time);
      activations_.pop_back();
      next_ = last.address;
      held -= last.size;
    }
    if (held < size) {
      activations_.push_back(
          placed(fmt::format("activations {}", activations_.size() + 1), size - held, time));
    }
  }

  /// Places the block of what computes above all others.
  void set_buffers(Bytes bytes, std::int64_t time) {
    if (buffers_.size > 0) {
      give(buffers_, time);
      next_ = buffers_.address;
      buffers_ = {};
    }
    if (whole(bytes) > 0) buffers_ = placed("buffers", whole(bytes), time);
  }

  std::int64_t begin_, next_, end_{};
  Block buffers_;
  std::vector<Event> events_;
  std::vector<Block> live_, activations_;
};

/// Writes the frames that a person reads when pointing at a block.
void write_frames(Pickle& pickle, const std::string& where, const std::string& what) {
  pickle.shared(where + " " + what, [&] {
    pickle.begin_list();
    pickle.begin_dict();
    pickle.key("filename");
    pickle.value(where);
    pickle.key("line");
    pickle.value(std::int64_t{0});
    pickle.key("name");
    pickle.value(what);
    pickle.end_dict();
    pickle.end_list();
  });
}

void write_number(Pickle& pickle, std::string_view key, std::int64_t number) {
  pickle.key(key);
  pickle.value(number);
}

void write_text(Pickle& pickle, std::string_view key, std::string_view text) {
  pickle.key(key);
  pickle.value(text);
}

void write_block(Pickle& pickle, const std::string& where, const Block& block, const char* state) {
  pickle.begin_dict();
  write_number(pickle, "address", block.address);
  write_number(pickle, "size", block.size);
  write_number(pickle, "requested_size", block.size);
  write_text(pickle, "state", state);
  pickle.key("frames");
  write_frames(pickle, where, block.what);
  pickle.end_dict();
}

/// One segment of all that the rank ever holds.
void write_segment(Pickle& pickle, std::int64_t device, const std::string& where,
                   const RankMemory& memory) {
  std::int64_t held = 0;
  for (const Block& block : memory.live()) held += block.size;
  const std::int64_t size = memory.end() - memory.begin();
  pickle.begin_dict();
  write_number(pickle, "device", device);
  write_number(pickle, "address", memory.begin());
  write_number(pickle, "total_size", size);
  write_number(pickle, "allocated_size", held);
  write_number(pickle, "active_size", held);
  write_number(pickle, "requested_size", held);
  write_number(pickle, "stream", 0);
  write_text(pickle, "segment_type", "large");
  pickle.key("frames");
  write_frames(pickle, where, "segment");
  pickle.key("blocks");
  pickle.begin_list();
  std::int64_t next = memory.begin();
  const auto leave_free = [&](std::int64_t until) {
    if (until > next) write_block(pickle, where, {"free", next, until - next}, "inactive");
  };
  for (const Block& block : memory.live()) {
    leave_free(block.address);
    write_block(pickle, where, block, "active_allocated");
    next = block.address + block.size;
  }
  leave_free(memory.end());
  pickle.end_list();
  pickle.end_dict();
}

void write_event(Pickle& pickle, const std::string& where, const Event& event) {
  pickle.begin_dict();
  write_text(pickle, "action", event.action);
  write_number(pickle, "addr", event.block.address);
  write_number(pickle, "size", event.block.size);
  write_number(pickle, "stream", 0);
  write_number(pickle, "time_us", event.time_us);
  pickle.key("frames");
  write_frames(pickle, where, event.block.what);
  pickle.end_dict();
}

}  // namespace

std::string memory_snapshot(const Scenario& scenario, const Prediction& prediction,
                            const Timeline& timeline, const std::vector<std::int64_t>& ranks) {
  const std::int64_t stage_ranks =
      scenario.plan.gpus / static_cast<std::int64_t>(timeline.memory.size());
  std::vector<RankMemory> memories;
  std::vector<std::string> places;
  for (const std::int64_t rank : ranks) {
    const auto stage = static_cast<std::size_t>(rank / stage_ranks);
    memories.emplace_back(std::ssize(memories), prediction.stages[stage].memory,
                          timeline.memory[stage]);
    places.push_back(fmt::format("rank {}, stage {}", rank, stage));
  }
  Pickle pickle;
  pickle.begin_dict();
  pickle.key("segments");
  pickle.begin_list();
  for (std::size_t i = 0; i < memories.size(); ++i) {
    write_segment(pickle, static_cast<std::int64_t>(i), places[i], memories[i]);
  }
  pickle.end_list();
  pickle.key("device_traces");
  pickle.begin_list();
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const RankMemory& memory = memories[i];
    pickle.begin_list();
    write_event(pickle, places[i],
                {"segment_alloc", {"segment", memory.begin(), memory.end() - memory.begin()}, 0});
    for (const Event& event : memory.events()) write_event(pickle, places[i], event);
    pickle.end_list();
  }
  pickle.end_list();
  pickle.end_dict();
  return std::move(pickle).finished();
}

}  // namespace prequel
