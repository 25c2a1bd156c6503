#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "tests/fuzz/targets.hpp"

namespace prequel {
namespace {

/// The corpus of a target, and every fixture of the importers: readers get each other's files, too.
std::vector<std::filesystem::path> inputs(const FuzzTarget& target) {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : {std::filesystem::path(PREQUEL_CORPUS) / target.name,
                             std::filesystem::path(PREQUEL_FIXTURES)}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("no reader falls over anything that a fuzzer found, or a file of another tool") {
  for (const FuzzTarget& target : kFuzzTargets) {
    for (const std::filesystem::path& file : inputs(target)) {
      CAPTURE(target.name);
      CAPTURE(file.string());
      const std::string text = read_file(file.string());
      try {
        target.run(text);
      } catch (const InputError& refused) {
        CHECK_FALSE(refused.problems().empty());
      }
    }
  }
}

}  // namespace
}  // namespace prequel
