#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw/base/files.hpp"
#include "hw/base/json_parse.hpp"
#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

/// Adds the JSON pointer of each number below `value` that has no `origin` in its own object or in
/// one around it. Counts of rows that constants were chosen on are origins themselves.
void add_orphans(const Json& value, const Json::json_pointer& pointer,
                 std::vector<std::string>& orphans) {
  if (value.is_number()) orphans.push_back(pointer.to_string());
  if (value.is_object()) {
    if (value.contains("origin") && value["origin"].is_string()) return;
    for (const auto& [key, member] : value.items()) {
      if (key != "chosen_on") add_orphans(member, pointer / key, orphans);
    }
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add_orphans(value[i], pointer / i, orphans);
  }
}

std::vector<std::string> numbers_without_origin(const Json& value) {
  std::vector<std::string> orphans;
  add_orphans(value, Json::json_pointer(), orphans);
  return orphans;
}

TEST_CASE("an origin speaks for its object and all below, not for what is beside it") {
  const Json value = {{"gemm", {{"origin", "a fit"}, {"tail", 1}, {"tiles", {{{"m", 128}}}}}},
                      {"memory", {{"rate", 2}, {"banks", {{{"size", 3}}}}}}};
  CHECK(numbers_without_origin(value) ==
        std::vector<std::string>{"/memory/banks/0/size", "/memory/rate"});
}

TEST_CASE("every number of the devices, clusters and software says where it comes from") {
  for (const std::string folder :
       {"data/devices", "data/clusters", "data/software", "data/common"}) {
    if (!std::filesystem::exists(source_root() / folder)) continue;
    for (const auto& file : files_under(folder, {".json"})) {
      const Json value = parse_json(file, read_file((source_root() / file).string()));
      for (const auto& pointer : numbers_without_origin(value)) {
        FAIL_CHECK(file << ": " << pointer << ": a number without origin");
      }
    }
  }
}

}  // namespace
}  // namespace prequel
