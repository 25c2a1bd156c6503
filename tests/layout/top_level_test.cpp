#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

TEST_CASE("the top level holds the floors, their data and tests, the build and nothing else") {
  const std::set<std::string> kKnown = {"models",
                                        "sim",
                                        "hw",
                                        "calibrate",
                                        "cli",
                                        "data",
                                        "tests",
                                        "cmake",
                                        "CMakeLists.txt",
                                        "CMakePresets.json",
                                        "README.md",
                                        "LICENSE",
                                        "CHANGELOG.md",
                                        "docs",
                                        "pyproject.toml",
                                        "setup.py",
                                        "CONTRIBUTING.md",
                                        "SECURITY.md",
                                        "CITATION.cff"};
  for (const auto& entry : std::filesystem::directory_iterator(source_root())) {
    const std::string name = entry.path().filename().string();
    const bool local = name.starts_with(".") || name.starts_with("build");
    CHECK_MESSAGE((local || kKnown.contains(name)), name, " has no place at the top level");
  }
}

}  // namespace
}  // namespace prequel
