#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

/// The lines of each fenced block in a section of the README.
std::vector<std::vector<std::string>> fenced_blocks(const std::string& section) {
  std::vector<std::vector<std::string>> blocks;
  bool in_section = false;
  bool in_block = false;
  for (const auto& line : lines_of("README.md")) {
    if (line.starts_with("## ")) in_section = line == "## " + section;
    if (!in_section) continue;
    if (line.starts_with("```")) {
      in_block = !in_block;
      if (in_block) blocks.emplace_back();
    } else if (in_block) {
      blocks.back().push_back(line);
    }
  }
  return blocks;
}

// .ci/run takes the second one from there.
TEST_CASE("the quick start is two commands, each alone in its block") {
  CHECK(fenced_blocks("Quick start") ==
        std::vector<std::vector<std::string>>{
            {"sh cmake/setup.sh run predict data/jobs/bloom-176b-jean-zay.json"},
            {"sh cmake/setup.sh test"}});
}

}  // namespace
}  // namespace prequel
