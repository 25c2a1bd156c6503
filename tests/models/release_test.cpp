#include "models/stack/release.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

std::string known(const std::string& name) {
  static const Document stacks = Document::parse("stacks.json", R"({
    "schema": "prequel/stacks/1",
    "frameworks": [{"name": "old", "from": 2024, "as": "new"}, {"name": "new", "as": "newest"},
                   {"name": "a", "as": "b"}, {"name": "b", "as": "a"}]})");
  return known_as(release_of(name), stacks).framework;
}

}  // namespace

TEST_CASE("a release is a framework and its year or version, months and minors as hundredths") {
  CHECK(release_of("megatron-lm-2021").framework == "megatron-lm");
  CHECK(release_of("megatron-lm-2021").version == 2021);
  CHECK(release_of("torchtitan-2025-06").version == doctest::Approx(2025.06));
  CHECK(release_of("nemo-25.09").version == doctest::Approx(25.09));
  CHECK(release_of("mlperf-v5.1").framework == "mlperf");
  CHECK(release_of("mlperf-v5.1").version == doctest::Approx(5.01));
  CHECK(release_of("te-fsdp2-ep").framework == "te-fsdp2-ep");
  CHECK(release_of("te-fsdp2-ep").version == kNewestVersion);
}

TEST_CASE("years are told from versions") {
  CHECK(year_of(release_of("stack-2024")) == 2024);
  CHECK(year_of(release_of("nemo-25.09")) == 2025);
  CHECK_FALSE(year_of(release_of("mcore-0.15")));
  CHECK_FALSE(year_of(release_of("stack")));
}

TEST_CASE("the nearest release counts years as years, and other versions as later than them") {
  const std::vector<std::string> names{"nemo-24.03", "nemo-25.07", "core-2024",
                                       "core-2026",  "v-v3",       "v-v5"};
  const auto found = [&](const std::string& name) {
    return nearest_release(release_of(name), names).value_or("none");
  };
  CHECK(found("nemo-24.05") == "nemo-24.03");
  CHECK(found("nemo-2025") == "nemo-25.07");
  CHECK(found("nemo-2.0") == "nemo-25.07");
  CHECK(found("core-0.15") == "core-2026");
  CHECK(found("core-25.01") == "core-2026");
  CHECK(found("v-v4") == "v-v3");
  CHECK(found("v-2024") == "v-v5");
  CHECK(found("other-2024") == "none");
}

TEST_CASE("a framework goes by another's name, from a year on where that is said") {
  CHECK(known("old-2023") == "old");
  CHECK(known("old-2024") == "newest");
  CHECK(known("old") == "newest");
  CHECK(known("other-2024") == "other");
  CHECK_NOTHROW(static_cast<void>(known("a-2024")));  // a circle ends
}

TEST_CASE("every name that is known as another leads to a software file") {
  const Library library({PREQUEL_DATA_DIR});
  const Document stacks = library.open("stand_ins", "stacks");
  for (const Cursor& entry : stacks.root().at("frameworks").items()) {
    const std::string name = entry.at("name").text();
    CAPTURE(name);
    CHECK(library.open("software", name + "-2025").json().at("stands_for") == name + "-2025");
  }
  CHECK(library.open("software", "megatron-lm-2025").json().at("name") == "megatron-core-2025");
  CHECK(library.open("software", "megatron-lm-2019").json().at("name") == "megatron-lm-2020");
  CHECK(library.open("software", "mcore-0.15").json().at("name") == "megatron-core-2026");
}

}  // namespace prequel
