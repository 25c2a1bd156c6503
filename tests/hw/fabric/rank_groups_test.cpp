#include "hw/fabric/rank_groups.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace prequel;

TEST_CASE("members of a group are a stride apart, groups begin between them") {
  const RankGroups data{.ranks = 24, .stride = 2, .size = 4};
  CHECK(data.members(0) == std::vector<int>{0, 2, 4, 6});
  CHECK(data.members(17) == std::vector<int>{17, 19, 21, 23});
  CHECK(data.firsts() == std::vector<int>{0, 1, 8, 9, 16, 17});
  CHECK(RankGroups{24, 8, 3}.members(3) == std::vector<int>{3, 11, 19});
}

TEST_CASE("groups deal out every rank once") {
  for (const RankGroups& groups : {RankGroups{96, 1, 2}, RankGroups{96, 6, 2}, RankGroups{96, 6, 4},
                                   RankGroups{96, 2, 12}, RankGroups{96, 24, 4}, RankGroups{96}}) {
    std::multiset<int> seen;
    for (const int first : groups.firsts()) {
      const std::vector<int> members = groups.members(first);
      CHECK(members.size() == static_cast<std::size_t>(groups.size));
      seen.insert(members.begin(), members.end());
    }
    CHECK(seen.size() == 96);
    CHECK(std::set<int>(seen.begin(), seen.end()).size() == 96);
  }
}
