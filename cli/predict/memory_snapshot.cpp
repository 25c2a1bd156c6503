#include "cli/predict/memory_snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cli/json/json.hpp"

namespace prequel {
namespace {

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

constexpr const char* kFrames = "frames";

/// Writes JSON of objects, lists, texts and whole numbers as a pickle; what is too long to hold at
/// once is begun, told and ended. Equal `frames` are one object.
class Pickle {
 public:
  void begin(char empty) { (bytes_ += empty) += op::mark; }
  void end(char opcode) { bytes_ += opcode; }
  void write(const Json& value);
  /// Returns the whole pickle.
  [[nodiscard]] std::string finished() && { return std::move(bytes_ += op::stop); }

 private:
  void write_frames(const Json& frames);
  void add_little_endian(std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(number >> (8 * i) & 0xff);
  }

  std::string bytes_{"\x80\x02"};
  std::map<std::string, std::uint32_t> known_;  ///< places of frames in the memo, by their text
};

void Pickle::write(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    bytes_ += op::text;
    add_little_endian(text.size(), 4);
    bytes_ += text;
  } else if (value.is_array()) {
    begin(op::empty_list);
    for (const Json& each : value) write(each);
    end(op::appends);
  } else if (value.is_object()) {
    begin(op::empty_dict);
    for (const auto& [key, member] : value.items()) {
      write(key);
      key == kFrames ? write_frames(member) : write(member);
    }
    end(op::set_items);
  } else {
    constexpr int kIntegerBytes = 8;
    (bytes_ += op::integer) += static_cast<char>(kIntegerBytes);
    add_little_endian(value.get<std::uint64_t>(), kIntegerBytes);
  }
}

void Pickle::write_frames(const Json& frames) {
  const auto [known, is_new] =
      known_.try_emplace(frames.dump(), static_cast<std::uint32_t>(known_.size()));
  if (is_new) write(frames);
  bytes_ += is_new ? op::put : op::get;
  add_little_endian(known->second, 4);
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

/// Returns the frames that a person reads when pointing at a block.
Json frames(const std::string& where, const std::string& what) {
  return Json::array({{{"filename", where}, {"line", 0}, {"name", what}}});
}

/// Returns one segment of all that the rank ever holds.
Json segment(std::size_t device, const std::string& where, const RankMemory& memory) {
  std::int64_t held = 0, next = memory.begin();
  Json blocks = Json::array();
  const auto add = [&](const Block& block, const char* state) {
    blocks.push_back({{"address", block.address},
                      {"size", block.size},
                      {"requested_size", block.size},
                      {"state", state},
                      {kFrames, frames(where, block.what)}});
  };
  const auto leave_free = [&](std::int64_t until) {
    if (until > next) add({"free", next, until - next}, "inactive");
  };
  for (const Block& block : memory.live()) {
    leave_free(block.address);
    add(block, "active_allocated");
    held += block.size;
    next = block.address + block.size;
  }
  leave_free(memory.end());
  return {{"device", device},
          {"address", memory.begin()},
          {"total_size", memory.end() - memory.begin()},
          {"allocated_size", held},
          {"active_size", held},
          {"requested_size", held},
          {"stream", 0},
          {"segment_type", "large"},
          {kFrames, frames(where, "segment")},
          {"blocks", blocks}};
}

Json event_json(const std::string& where, const Event& event) {
  return {{"action", event.action},   {"addr", event.block.address},
          {"size", event.block.size}, {"stream", 0},
          {"time_us", event.time_us}, {kFrames, frames(where, event.block.what)}};
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
  pickle.begin(op::empty_dict);
  pickle.write("segments");
  pickle.begin(op::empty_list);
  for (std::size_t i = 0; i < memories.size(); ++i) {
    pickle.write(segment(i, places[i], memories[i]));
  }
  pickle.end(op::appends);
  pickle.write("device_traces");
  pickle.begin(op::empty_list);
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const RankMemory& memory = memories[i];
    pickle.begin(op::empty_list);
    const Block whole{"segment", memory.begin(), memory.end() - memory.begin()};
    pickle.write(event_json(places[i], {"segment_alloc", whole, 0}));
    for (const Event& event : memory.events()) pickle.write(event_json(places[i], event));
    pickle.end(op::appends);
  }
  pickle.end(op::appends);
  pickle.end(op::set_items);
  return std::move(pickle).finished();
}

}  // namespace prequel
