#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

/// The files and folders that a section of docs/adding.md names in backticks.
std::set<std::string> paths_of(const std::string& section) {
  const std::regex path("`((?:hw|models|sim|calibrate|cli)/[a-z0-9_./]*)`");
  std::set<std::string> paths;
  bool inside = false;
  for (const std::string& line : lines_of("docs/adding.md")) {
    if (line.starts_with("## ")) inside = line == "## " + section;
    if (!inside) continue;
    for (std::sregex_iterator it(line.begin(), line.end(), path), end; it != end; ++it) {
      paths.insert((*it)[1]);
    }
  }
  return paths;
}

/// Files of the libraries and the program in which a line has the word.
std::set<std::string> files_with(const std::string& word) {
  const std::regex whole("\\b" + word + "\\b");
  std::set<std::string> found;
  for (const char* floor : {"hw", "models", "sim", "calibrate", "cli"}) {
    for (const std::string& file : files_under(floor, {".hpp", ".cpp"})) {
      const bool has = std::ranges::any_of(lines_of(file), [&](const std::string& line) {
        return std::regex_search(line.substr(0, line.find("//")), whole);
      });
      if (has) found.insert(file);
    }
  }
  return found;
}

void check_listed(const std::string& section, const std::string& word,
                  const std::set<std::string>& but) {
  const std::set<std::string> paths = paths_of(section);
  REQUIRE_FALSE(paths.empty());
  for (const std::string& file : files_with(word)) {
    const bool listed = std::ranges::any_of(paths, [&](const std::string& path) {
      return file == path || (path.ends_with('/') && file.starts_with(path));
    });
    CHECK_MESSAGE((listed || but.contains(file)), word, ": ", file, " is not on the list of \"",
                  section, "\"");
  }
}

TEST_CASE("the list of what an axis touches is true of a searched one and of a degree") {
  check_listed("An axis of plans", "recompute_layers", {});
  // A breakdown has a part of that name; how far runs reach, what people spell and what agents ask
  // for most are said by axis.
  check_listed("An axis of plans", "cp",
               {"calibrate/spread/stack_spread.cpp", "calibrate/validate/validation.cpp",
                "calibrate/validate/validation.hpp", "cli/maintain/main.cpp", "cli/mcp/tools.cpp",
                "models/job/spelled_plan.cpp", "sim/search/nearest_plan.cpp"});
}

TEST_CASE("beside its physics and other tools' names, an axis is named in three files at most") {
  const auto elsewhere = [](const char* axis) {
    std::set<std::string> files = files_with(axis);
    for (const char* folder : {"models/plan/", "models/layers/", "models/memory/", "sim/price/",
                               "sim/step/", "cli/import/", "cli/emit/"}) {
      std::erase_if(files, [&](const std::string& file) { return file.starts_with(folder); });
    }
    return files;
  };
  CHECK(elsewhere("recompute_layers") ==
        std::set<std::string>{"models/axes/axes.hpp", "sim/search/space.cpp"});
  CHECK(elsewhere("optimizer_offload") == std::set<std::string>{"models/axes/axes.hpp"});
  // A breakdown has a part of that name.
  // Degrees are told apart where GPUs are counted, plans varied and agents asked.
  CHECK(elsewhere("cp") ==
        std::set<std::string>{
            "calibrate/spread/stack_spread.cpp", "calibrate/validate/validation.cpp",
            "calibrate/validate/validation.hpp", "cli/maintain/main.cpp", "cli/mcp/tools.cpp",
            "cli/text/layout_text.cpp", "models/axes/axes.hpp", "models/job/spelled_plan.cpp",
            "sim/answer/known_spread.cpp", "sim/answer/plan_scatter.cpp",
            "sim/answer/uncertainty.cpp", "sim/answer/uncertainty.hpp", "sim/search/space.cpp"});
}

TEST_CASE("the list of what a schedule touches is true") {
  // Forward passes alone run as GPipe does.
  check_listed("A pipeline schedule", "gpipe", {"sim/answer/forward_only.cpp"});
}

TEST_CASE("the list of what a part of the time touches is true of the exchange with experts") {
  check_listed("A part of the time, or a field of an answer", "ep_comm", {});
}

}  // namespace
}  // namespace prequel
