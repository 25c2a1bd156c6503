/// Recipes as the documentation of LLaMA-Factory and axolotl has them, imported as a user would.

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hw/base/files.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

struct Recipe {
  std::string name, yaml;
  std::string refused;            ///< words of the refusal; empty: it is read
  std::vector<std::string> read;  ///< layers=32, software=NAME, and axes of the plan
  std::vector<std::string> told;  ///< words of each line of what is left out
};

std::vector<Recipe> recipes() {
  std::vector<Recipe> all;
  std::istringstream lines(read_file(PREQUEL_SOURCE_DIR "/tests/cli/fixtures/recipes.yaml"));
  for (std::string line; std::getline(lines, line);) {
    const auto behind = [&](const std::string& mark) {
      return line.starts_with(mark) ? line.substr(mark.size()) : std::string();
    };
    if (const std::string name = behind("# recipe "); !name.empty()) {
      all.push_back({name, "", "", {}, {}});
    } else if (all.empty()) {
      continue;
    } else if (const std::string words = behind("# refused "); !words.empty()) {
      all.back().refused = words;
    } else if (const std::string facts = behind("# read "); !facts.empty()) {
      std::istringstream in(facts);
      for (std::string fact; in >> fact;) all.back().read.push_back(fact);
    } else if (const std::string told = behind("# told "); !told.empty()) {
      all.back().told.push_back(told);
    } else {
      all.back().yaml += line + "\n";
    }
  }
  return all;
}

/// A value as the fixture has it: 32, lora, q+v.
std::string said_by(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const auto& one : value) text += (text.empty() ? "" : "+") + said_by(one);
  return text;
}

/// The fact that the importer makes of `layers=32`, `software=NAME` or an axis.
std::string fact_of(const nlohmann::json& job, const std::string& fact) {
  const std::string key = fact.substr(0, fact.find('='));
  if (key == "layers") return key + "=" + job["model"]["num_hidden_layers"].dump();
  if (key == "software") return key + "=" + said_by(job["software"]);
  return key + "=" + (job["plan"].contains(key) ? said_by(job["plan"][key]) : "unsaid");
}

TEST_CASE("recipes of LLaMA-Factory and axolotl are read, or refused by name") {
  const TemporaryFolder folder;
  const std::vector<Recipe> all = recipes();
  CHECK(all.size() >= 72);
  for (const Recipe& recipe : all) {
    CAPTURE(recipe.name);
    const std::string file = folder.with(recipe.name + ".yaml", recipe.yaml);
    const ProgramResult result = run_prequel("import '" + file + "' --cluster dgx-h100 --nodes 1");
    CAPTURE(result.err);
    if (!recipe.refused.empty()) {
      CHECK(result.status == 2);
      CHECK(result.err.find(recipe.refused) != std::string::npos);
      continue;
    }
    REQUIRE(result.status == 0);
    const auto job = nlohmann::json::parse(result.out);
    for (const std::string& fact : recipe.read) CHECK(fact_of(job, fact) == fact);
    std::istringstream lines(result.err);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("left out: ")) continue;
      CAPTURE(line);
      const auto is_in = [&](const std::string& words) {
        return line.find(words) != std::string::npos;
      };
      CHECK(std::ranges::any_of(recipe.told, is_in));
    }
  }
}

}  // namespace
}  // namespace prequel
