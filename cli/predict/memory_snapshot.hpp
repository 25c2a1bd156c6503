#pragma once

/// The memory of ranks over one iteration as a snapshot of PyTorch's allocator, which
/// pytorch.org/memory_viz and torch.cuda._memory_viz open (a dict of `segments` and
/// `device_traces`; torch/cuda/_memory_viz.py). Each rank is a device; what a block is for is the
/// name of its frame.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/prediction.hpp"
#include "sim/answer/timeline.hpp"

namespace prequel {

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

/// The snapshot, pickled. The most that a rank's events hold at once is the peak of its stage, to
/// the bytes that rounding takes.
std::string memory_snapshot(const Scenario& scenario, const Prediction& prediction,
                            const Timeline& timeline, const std::vector<std::int64_t>& ranks);

}  // namespace prequel
