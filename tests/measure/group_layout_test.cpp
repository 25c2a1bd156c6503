#include "calibrate/measure/group_backend.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace prequel {
namespace {

std::vector<int> nodes(int count, int each) {
  std::vector<int> node_of;
  for (int rank = 0; rank < count * each; ++rank) node_of.push_back(rank / each);
  return node_of;
}

/// "ranks/nodes/groups" of each layout.
std::string shapes(const std::vector<GroupLayout>& layouts) {
  std::string text;
  for (const GroupLayout& layout : layouts) {
    text += fmt::format("{}/{}/{} ", layout.ranks, layout.nodes, layout.groups);
  }
  return text;
}

TEST_CASE("two processes of one machine make one group") {
  CHECK(shapes(group_layouts(nodes(1, 2))) == "2/1/1 ");
}

TEST_CASE("one process is no group") {
  CHECK(group_layouts({0}).empty());
}

TEST_CASE("a node of four has pairs, alone and at once, and all") {
  CHECK(shapes(group_layouts(nodes(1, 4))) == "2/1/1 2/1/2 4/1/1 ");
}

TEST_CASE("two nodes of four add all, one a node, and four such groups at once") {
  const auto layouts = group_layouts(nodes(2, 4));
  CHECK(shapes(layouts) == "2/1/1 2/1/4 4/1/1 4/1/2 8/2/1 2/2/1 2/2/4 ");
  CHECK(layouts.back().group_of == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(layouts[5].group_of == std::vector<int>{0, -1, -1, -1, 0, -1, -1, -1});
}

TEST_CASE("nodes of different size have the group of all only") {
  CHECK(shapes(group_layouts({0, 0, 0, 1})) == "4/2/1 ");
}

TEST_CASE("every group of every layout has its ranks, on its nodes") {
  for (const int count : {1, 2, 3, 4, 6}) {
    for (const int each : {1, 2, 4, 6, 8}) {
      std::vector<int> node_of = nodes(count, each);
      std::rotate(node_of.begin(), node_of.begin() + each / 2, node_of.end());
      const std::vector<int> numbers = node_of;  // of nodes that are not whole in a row of ranks
      for (const GroupLayout& layout : group_layouts(numbers)) {
        std::map<int, std::pair<int, std::map<int, int>>> groups;
        for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
          const int group = layout.group_of[rank];
          if (group < 0) continue;
          ++groups[group].first;
          ++groups[group].second[numbers[rank]];
        }
        CHECK(groups.size() == static_cast<std::size_t>(layout.groups));
        for (const auto& [number, group] : groups) {
          CHECK(group.first == layout.ranks);
          CHECK(group.second.size() == static_cast<std::size_t>(layout.nodes));
        }
      }
    }
  }
}

}  // namespace
}  // namespace prequel
