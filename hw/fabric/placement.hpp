#pragma once

/// Where the ranks of a job lie: the order of the parallel axes, and the groups that communicate
/// along them.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace prequel {

/// The axes along which ranks are numbered. The data-parallel ranks are split in two: experts are
/// dealt out over `expert`, and copied over `expert_data`.
enum class Axis : std::uint8_t { tensor, context, expert, expert_data, pipeline };
inline constexpr std::size_t kAxes = 5;

/// Fastest first.
using AxisOrder = std::array<Axis, kAxes>;
/// As Megatron-LM numbers its ranks.
inline constexpr AxisOrder kMegatronOrder = {Axis::tensor, Axis::context, Axis::expert,
                                             Axis::expert_data, Axis::pipeline};

struct Degrees {
  int tp{1};
  int cp{1};
  int ep{1};  ///< divides dp
  int dp{1};
  int pp{1};
};

/// All groups of one kind that a job of `ranks` ranks consists of. Member (i, j, …) of the group
/// that begins at rank b is rank b + i·extents[0].stride + j·extents[1].stride + …
struct RankGroups {
  struct Extent {
    int stride{1};
    int size{1};
    auto operator<=>(const Extent&) const = default;
  };

  int ranks{1};
  std::array<Extent, kAxes> extents;  ///< ascending; those that are not used have size 1, last

  /// Groups of `size` ranks that are `stride` apart.
  static RankGroups strided(int ranks, int stride, int size);

  /// Members of one group.
  [[nodiscard]] int size() const;
  /// The lowest rank of each group, ascending.
  [[nodiscard]] std::vector<int> firsts() const;
  /// The members of the group that begins at `first`, ascending.
  [[nodiscard]] std::vector<int> members(int first) const;

  auto operator<=>(const RankGroups&) const = default;
};

class Placement {
 public:
  /// Throws InputError when ep does not divide dp.
  explicit Placement(const Degrees& degrees, const AxisOrder& order = kMegatronOrder);

  [[nodiscard]] int ranks() const { return ranks_; }
  /// Position of a rank along every axis, indexed by Axis.
  [[nodiscard]] std::array<int, kAxes> coordinates(int rank) const;
  /// The groups whose members differ along these axes only: `{Axis::tensor}`.
  [[nodiscard]] RankGroups groups(std::initializer_list<Axis> axes) const;
  /// The ranks that hold the same parameters, but for experts: data-parallel groups, or with
  /// `context` those that reduce gradients (context x data).
  [[nodiscard]] RankGroups data_groups(bool context = false) const;

 private:
  AxisOrder order_;
  std::array<int, kAxes> sizes_{};  ///< by Axis
  std::array<int, kAxes> strides_{};
  int ranks_{1};
};

}  // namespace prequel
