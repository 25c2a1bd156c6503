#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

/// A folder and the folders that its files may include from, those below each included.
struct FolderRule {
  std::string_view folder;
  std::vector<std::string_view> may_include;
};

/// The folders, floor by floor. Those with rules of their own stand before the floor they are on.
const std::vector<FolderRule>& rules() {
  static const std::vector<FolderRule> kRules = {
      {"hw/base", {"hw/base"}},
      {"hw", {"hw"}},
      {"models", {"hw", "models"}},
      {"sim/engine", {"hw/base", "sim/engine"}},
      {"sim", {"hw", "models", "sim"}},
      {"calibrate/measure", {"hw", "calibrate/measure"}},
      {"calibrate", {"hw", "models", "sim", "calibrate"}},
      {"cli", {"hw", "models", "sim", "calibrate", "cli"}},
      {"tests", {"hw", "models", "sim", "calibrate", "cli", "tests"}},
  };
  return kRules;
}

bool is_in(std::string_view file, std::string_view folder) {
  return file.size() > folder.size() && file.starts_with(folder) && file[folder.size()] == '/';
}

bool may_include(std::string_view file, std::string_view included) {
  const auto rule = std::ranges::find_if(
      rules(), [&](const FolderRule& candidate) { return is_in(file, candidate.folder); });
  return rule != rules().end() &&
         std::ranges::any_of(rule->may_include,
                             [&](std::string_view folder) { return is_in(included, folder); });
}

/// Returns the path that a line includes between double quotes.
std::optional<std::string> included_by(std::string_view line) {
  const auto skip = [&line](std::string_view text) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(text)) return false;
    line.remove_prefix(text.size());
    return true;
  };
  if (!skip("#") || !skip("include") || !skip("\"")) return std::nullopt;
  return std::string(line.substr(0, line.find('"')));
}

const std::vector<std::string> kSources = {".cpp", ".hpp", ".cu", ".cuh"};

std::vector<std::string> sources() {
  std::vector<std::string> found;
  for (const std::string folder : {"hw", "models", "sim", "calibrate", "cli", "tests"}) {
    for (auto& file : files_under(folder, kSources)) {
      found.push_back(std::move(file));
    }
  }
  return found;
}

TEST_CASE("a floor includes itself and those below, never one above") {
  CHECK(may_include("cli/main.cpp", "sim/engine/clock.hpp"));
  CHECK(may_include("sim/step.cpp", "sim/engine/clock.hpp"));
  CHECK(may_include("hw/gemm.cpp", "hw/base/units.hpp"));
  CHECK_FALSE(may_include("hw/base/csv.cpp", "hw/kernels/gemm.hpp"));
  CHECK_FALSE(may_include("hw/gemm.cpp", "models/plan/plan.hpp"));
  CHECK_FALSE(may_include("models/plan.cpp", "sim/step.hpp"));
  CHECK_FALSE(may_include("sim/step.cpp", "calibrate/fit.hpp"));
  CHECK_FALSE(may_include("calibrate/fit.cpp", "cli/text/table.hpp"));
  CHECK_FALSE(may_include("cli/main.cpp", "tests/error_text.hpp"));
}

TEST_CASE("the engine knows nothing but hw/base") {
  CHECK(may_include("sim/engine/clock.cpp", "hw/base/units.hpp"));
  CHECK(may_include("sim/engine/clock.cpp", "sim/engine/task.hpp"));
  CHECK_FALSE(may_include("sim/engine/clock.cpp", "hw/kernels/gemm.hpp"));
  CHECK_FALSE(may_include("sim/engine/clock.cpp", "sim/step.hpp"));
}

TEST_CASE("measuring knows nothing but hw") {
  CHECK(may_include("calibrate/measure/gemm.cu", "hw/terms/vocabulary.hpp"));
  CHECK_FALSE(may_include("calibrate/measure/gemm.cu", "models/plan/plan.hpp"));
  CHECK_FALSE(may_include("calibrate/measure/gemm.cu", "calibrate/fit.hpp"));
}

TEST_CASE("an include is found however it is spaced") {
  CHECK(included_by("#include \"hw/gemm.hpp\"") == "hw/gemm.hpp");
  CHECK(included_by("  #  include\t\"hw/gemm.hpp\"  // why") == "hw/gemm.hpp");
  CHECK_FALSE(included_by("#include <vector>"));
  CHECK_FALSE(included_by("// #include \"hw/gemm.hpp\""));
  CHECK_FALSE(included_by(""));
}

TEST_CASE("every include of the tree goes down, from the root, to a file that is there") {
  for (const auto& file : sources()) {
    for (const auto& line : lines_of(file)) {
      const auto included = included_by(line);
      if (!included) continue;
      CHECK_MESSAGE(may_include(file, *included), file, " must not include ", *included);
      CHECK_MESSAGE(std::filesystem::is_regular_file(source_root() / *included), file, " includes ",
                    *included, ", which is not a path from the root");
    }
  }
}

/// The components or folders that each one includes.
using Arrows = std::map<std::string, std::set<std::string>>;

/// A header with its source.
std::string component_of(const std::string& file) {
  return file.substr(0, file.rfind('.'));
}

/// The folder of a file.
std::string folder_of(const std::string& file) {
  return file.substr(0, file.rfind('/'));
}

const std::vector<std::string>& floors() {
  static const std::vector<std::string> kFloors = {"hw", "models", "sim", "calibrate", "cli"};
  return kFloors;
}

/// The includes of the tree as arrows from what `whole` says of a file to what it says of another.
template <class Whole>
Arrows arrows_between(const Whole& whole) {
  Arrows arrows;
  for (const std::string& floor : floors()) {
    for (const auto& file : files_under(floor, kSources)) {
      for (const auto& line : lines_of(file)) {
        const auto included = included_by(line);
        if (included && whole(*included) != whole(file)) {
          arrows[whole(file)].insert(whole(*included));
        }
      }
    }
  }
  return arrows;
}

/// Returns those that stand above themselves or on one that does, found by taking away each that
/// stands on nothing that is left; empty if there are none.
std::string on_a_circle(Arrows arrows) {
  for (bool found = true; found;) {
    found = false;
    for (auto it = arrows.begin(); it != arrows.end();) {
      const bool stands_free = std::ranges::none_of(
          it->second, [&](const std::string& below) { return arrows.contains(below); });
      found = found || stands_free;
      it = stands_free ? arrows.erase(it) : std::next(it);
    }
  }
  std::string circle;
  for (const auto& [one, below] : arrows) {
    for (const std::string& other : below) {
      if (arrows.contains(other)) circle += one + " -> " + other + "\n";
    }
  }
  return circle;
}

TEST_CASE("a circle of components is found, a tower is none") {
  CHECK(on_a_circle({{"gemm", {"rates"}}, {"device", {"gemm", "rates"}}}).empty());
  CHECK(on_a_circle({{"gemm", {"device"}}, {"device", {"gemm", "rates"}}}) ==
        "device -> gemm\ngemm -> device\n");
}

TEST_CASE("a component is a header with its source, a folder is where it lies") {
  CHECK(component_of("hw/kernels/gemm.hpp") == component_of("hw/kernels/gemm.cpp"));
  CHECK(folder_of("hw/kernels/gemm.hpp") == "hw/kernels");
  CHECK(folder_of("hw/device.hpp") == "hw");
}

TEST_CASE("components have no circle") {
  CHECK(on_a_circle(arrows_between(component_of)) == "");
}

TEST_CASE("folders only look down") {
  CHECK(on_a_circle(arrows_between(folder_of)) == "");
}

/// A search prices a layer once for all plans that ask the same of it, so that whatever else a
/// price could read would be missing in the key.
TEST_CASE("a layer's price reads its question and the inputs, never a whole scenario") {
  for (const auto& file : files_under("sim/price", {".hpp", ".cpp"})) {
    for (const auto& line : lines_of(file)) {
      CHECK_MESSAGE(line.find("Scenario") == std::string::npos, file, ": ", line);
    }
  }
}

TEST_CASE("no two headers have one name") {
  std::map<std::string, std::string> seen;
  for (const std::string& floor : floors()) {
    for (const auto& file : files_under(floor, {".hpp", ".cuh"})) {
      const auto [first, is_new] = seen.emplace(file.substr(file.rfind('/') + 1), file);
      CHECK_MESSAGE(is_new, file, " has the name of ", first->second);
    }
  }
}

}  // namespace
}  // namespace prequel
