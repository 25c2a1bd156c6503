#pragma once

/// Parts that back ends for collectives share.

#include <fmt/format.h>

#include <compare>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/rendezvous.hpp"

namespace prequel {

/// Groups of equal size that run the same collective at the same time.
struct GroupLayout {
  int ranks{};   ///< of one group
  int nodes{1};  ///< that one group spans
  int groups{1};
  std::vector<int> group_of;  ///< by rank of all processes; -1: waits
};

/// With every node holding the same number of processes: one group of every power of two inside a
/// node, and as many of them at once as there are; whole nodes, by powers of two and all; one
/// process a node, alone and for every process of the node at once, as data-parallel groups that
/// share their nodes' network cards. `node_of` gives each process its node, numbered in the order
/// in which they first appear; where nodes differ in size, only the group of all is left.
std::vector<GroupLayout> group_layouts(const std::vector<int>& node_of);

/// Every process runs the same session; the first decides and writes. `Group` is how the library
/// knows a group of processes, and that this one waits.
template <typename Group>
class GroupBackend : public Backend {
 public:
  bool agree(bool here) override {
    meeting_->broadcast(&here, sizeof here);
    return here;
  }

  [[nodiscard]] bool is_first() const override { return meeting_->rank() == 0; }

 protected:
  GroupBackend(const char* name, std::unique_ptr<Rendezvous> meeting)
      : name_(name), meeting_(std::move(meeting)) {}

  /// Calls `split(number)` for each layout, with the number of this process' group; -1: it waits.
  template <typename Split>
  void split_groups(const Split& split) {
    for (const GroupLayout& layout : group_layouts(nodes_of(*meeting_))) {
      const int number = layout.group_of[static_cast<std::size_t>(meeting_->rank())];
      groups_[{layout.ranks, layout.nodes, layout.groups}] = split(number);
    }
  }

  [[nodiscard]] Group group_of(const CollectiveWork& what) const {
    const auto found = groups_.find({what.ranks, what.nodes, what.groups});
    if (found == groups_.end()) skip("these processes have no such group");
    return found->second;
  }

  /// All collectives of all groups: whole buffers from 1 KiB to `largest`, of `element` bytes each.
  [[nodiscard]] std::vector<Work> collectives(double largest, double element) const {
    std::vector<Work> works;
    for (const auto& [shape, group] : groups_) {
      for (const auto op :
           {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
            CollectiveOp::all_to_all, CollectiveOp::broadcast, CollectiveOp::send_recv}) {
        for (double bytes = 1024; bytes <= largest; bytes *= 2) {
          if (bytes / element < shape.ranks) continue;  // some would have no element
          works.emplace_back(of_group(shape, op, bytes));
        }
      }
    }
    return works;
  }

  /// A collective of everyone.
  [[nodiscard]] CollectiveWork of_everyone(CollectiveOp op, double bytes) const {
    return of_group(std::prev(groups_.end())->first, op, bytes);  // the most ranks
  }

  /// Returns what `make` makes, if it succeeds on all processes; else all throw.
  template <typename Make>
  auto all_or_none(const Make& make) -> decltype(make()) {
    decltype(make()) made;
    std::string missing;
    try {
      made = make();
    } catch (const SkippedPoint& error) {
      missing = error.what();
    }
    if (longest({missing.empty() ? 0.0 : 1.0}).value > 0.0) {
      if (missing.empty()) skip("another process cannot");
      throw SkippedPoint(missing);
    }
    return made;
  }

  /// The longest of all processes' times; returns when all have called it.
  Seconds longest(Seconds own) { return prequel::longest(*meeting_, own); }

  [[noreturn]] void skip(const char* why) const {
    throw SkippedPoint(fmt::format("{}: {}", name_, why));
  }

  const char* name_;
  std::unique_ptr<Rendezvous> meeting_;
  struct Shape {
    int ranks{};
    int nodes{};
    int groups{};
    auto operator<=>(const Shape&) const = default;
  };
  std::map<Shape, Group> groups_;

 private:
  static CollectiveWork of_group(const Shape& shape, CollectiveOp op, double bytes) {
    return {op, shape.ranks, shape.nodes, {bytes}, shape.groups};
  }
};

}  // namespace prequel
