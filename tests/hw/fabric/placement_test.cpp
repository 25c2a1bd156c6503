#include "hw/fabric/placement.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/error_text.hpp"

using namespace prequel;

TEST_CASE("Megatron's order numbers tensor ranks first, then context, expert, data, pipeline") {
  const Placement placement({.tp = 2, .cp = 3, .ep = 2, .dp = 4, .pp = 5});
  CHECK(placement.ranks() == 120);
  CHECK(placement.coordinates(0) == std::array<int, kAxes>{0, 0, 0, 0, 0});
  CHECK(placement.coordinates(1) == std::array<int, kAxes>{1, 0, 0, 0, 0});
  CHECK(placement.coordinates(2) == std::array<int, kAxes>{0, 1, 0, 0, 0});
  CHECK(placement.coordinates(6) == std::array<int, kAxes>{0, 0, 1, 0, 0});
  CHECK(placement.coordinates(12) == std::array<int, kAxes>{0, 0, 0, 1, 0});
  CHECK(placement.coordinates(119) == std::array<int, kAxes>{1, 2, 1, 1, 4});
}

TEST_CASE("a group holds the ranks that differ along its axes only") {
  const Placement placement({.tp = 2, .dp = 4, .pp = 3});
  const RankGroups data = placement.data_groups();
  CHECK(data.members(0) == std::vector<int>{0, 2, 4, 6});
  CHECK(data.members(17) == std::vector<int>{17, 19, 21, 23});
  CHECK(data.firsts() == std::vector<int>{0, 1, 8, 9, 16, 17});
  CHECK(placement.groups({Axis::pipeline}).members(3) == std::vector<int>{3, 11, 19});
}

TEST_CASE("neighbouring axes are one extent, others are not") {
  const Degrees degrees{.tp = 2, .cp = 2, .ep = 2, .dp = 4, .pp = 3};
  CHECK(Placement(degrees).data_groups(true) == RankGroups::strided(48, 2, 8));
  const AxisOrder pipeline_before_data = {Axis::tensor, Axis::context, Axis::pipeline, Axis::expert,
                                          Axis::expert_data};
  const RankGroups groups = Placement(degrees, pipeline_before_data).data_groups(true);
  CHECK(groups.extents[0] == RankGroups::Extent{2, 2});
  CHECK(groups.extents[1] == RankGroups::Extent{12, 4});
  CHECK(groups.members(1) == std::vector<int>{1, 3, 13, 15, 25, 27, 37, 39});
}

TEST_CASE("the groups of any axes deal out every rank once") {
  const Placement placement({.tp = 2, .cp = 3, .ep = 2, .dp = 4, .pp = 2});
  for (const auto& groups :
       {placement.groups({Axis::tensor}), placement.groups({Axis::context, Axis::pipeline}),
        placement.groups({Axis::expert}), placement.data_groups(), placement.data_groups(true)}) {
    std::multiset<int> seen;
    for (const int first : groups.firsts()) {
      const std::vector<int> members = groups.members(first);
      CHECK(members.size() == static_cast<std::size_t>(groups.size()));
      seen.insert(members.begin(), members.end());
    }
    CHECK(seen.size() == 48);
    CHECK(std::set<int>(seen.begin(), seen.end()).size() == 48);
  }
}

TEST_CASE("experts that cannot be dealt out are refused") {
  CHECK(error_text([] { Placement({.ep = 3, .dp = 4}); }) == "ep 3 does not divide dp 4");
}
