#include "hw/fabric/placement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hw/base/errors.hpp"

namespace prequel {

RankGroups RankGroups::strided(int ranks, int stride, int size) {
  RankGroups groups;
  groups.ranks = ranks;
  if (size > 1) groups.extents[0] = {stride, size};
  return groups;
}

int RankGroups::size() const {
  int product = 1;
  for (const Extent& extent : extents) product *= extent.size;
  return product;
}

std::vector<int> RankGroups::firsts() const {
  std::vector<int> found;
  found.reserve(static_cast<std::size_t>(ranks / size()));
  for (int rank = 0; rank < ranks; ++rank) {
    const bool first = std::all_of(extents.begin(), extents.end(), [&](const Extent& extent) {
      return rank / extent.stride % extent.size == 0;
    });
    if (first) found.push_back(rank);
  }
  return found;
}

std::vector<int> RankGroups::members(int first) const {
  std::vector<int> found{first};
  found.reserve(static_cast<std::size_t>(size()));
  for (const Extent& extent : extents) {
    const std::size_t before = found.size();
    for (int i = 1; i < extent.size; ++i) {
      for (std::size_t k = 0; k < before; ++k) found.push_back(found[k] + i * extent.stride);
    }
  }
  return found;
}

Placement::Placement(const Degrees& degrees, const AxisOrder& order) : order_(order) {
  if (degrees.dp % degrees.ep != 0) {
    throw InputError(fmt::format("ep {} does not divide dp {}", degrees.ep, degrees.dp));
  }
  sizes_ = {degrees.tp, degrees.cp, degrees.ep, degrees.dp / degrees.ep, degrees.pp};
  for (const Axis axis : order_) {
    const auto i = static_cast<std::size_t>(axis);
    strides_[i] = ranks_;
    ranks_ *= sizes_[i];
  }
}

std::array<int, kAxes> Placement::coordinates(int rank) const {
  std::array<int, kAxes> position{};
  for (std::size_t i = 0; i < kAxes; ++i) position[i] = rank / strides_[i] % sizes_[i];
  return position;
}

RankGroups Placement::groups(std::initializer_list<Axis> axes) const {
  RankGroups groups;
  groups.ranks = ranks_;
  std::size_t used = 0;
  for (const Axis axis : order_) {
    const auto i = static_cast<std::size_t>(axis);
    if (sizes_[i] == 1 || std::find(axes.begin(), axes.end(), axis) == axes.end()) continue;
    RankGroups::Extent* last = used > 0 ? &groups.extents[used - 1] : nullptr;
    if (last && last->stride * last->size == strides_[i]) {
      last->size *= sizes_[i];  // neighbouring axes are one
    } else {
      groups.extents[used++] = {strides_[i], sizes_[i]};
    }
  }
  return groups;
}

RankGroups Placement::data_groups(bool context) const {
  return context ? groups({Axis::context, Axis::expert, Axis::expert_data})
                 : groups({Axis::expert, Axis::expert_data});
}

}  // namespace prequel
