#include "calibrate/validate/usual_stack.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"
#include "models/stack/software.hpp"

namespace prequel {
namespace {

const Library& shipped() {
  static const Library library({PREQUEL_DATA_DIR});
  return library;
}

struct Asked {
  std::string software;
  std::string date;
  int zero{1};
  bool experts{};
};

Document stack_for(const Asked& asked) {
  MeasuredRun run;
  run.date = asked.date;
  run.plan.zero = asked.zero;
  run.plan.attention = AttentionKind::flash;
  return usual_stack(shipped(), run, asked.software, asked.experts);
}

std::string name_for(const Asked& asked) {
  return stack_for(asked).json().at("name");
}

}  // namespace

TEST_CASE("an unknown framework is stood in for by a stack of its time that lays out as it does") {
  CHECK(name_for({"some-trainer-2024", "", 3}) == "torchtitan-2024");
  CHECK(name_for({"some-trainer", "2023-05-01", 3}) == "composer-late-2023");
  CHECK(name_for({"some-trainer-0.4", "2021-05", 1}) == "megatron-lm-2021");
  CHECK(name_for({"some-trainer-25.04", "", 1}) == "megatron-core-2025");
  CHECK(name_for({"some-trainer", "", 1}) == "megatron-core-2026");
  CHECK(name_for({"some-trainer-2031", "", 3}) == "nemo-automodel-2026");
  CHECK(name_for({"some-trainer-2024", "", 1, true}) == "megatron-core-moe-2025");
}

TEST_CASE("what stands in says for what, and whether its framework is another") {
  const Document other = stack_for({"some-trainer-2024", "", 3});
  CHECK(other.json().at("stands_for") == "some-trainer-2024");
  const Software software = read_software(other);
  CHECK(software.other_framework);
  CHECK(software.relative_error >= kUnknownReleaseError);
  const Software release = read_software(stack_for({"megatron-lm-2024", "", 1}));
  CHECK(release.name == "megatron-core-2024");
  CHECK(release.stands_for == "megatron-lm-2024");
  CHECK_FALSE(release.other_framework);
}

TEST_CASE("a stack that stands in has a fused kernel of the time where a row asks for one") {
  const auto kernel = [](const Asked& asked) {
    return stack_for(asked).json().at("kernels").value("flash_kernel", "none");
  };
  CHECK(kernel({"some-trainer-2022", "", 1}) == "flash-1");
  CHECK(kernel({"megatron-deepspeed-2024", "", 1}) == "flash-2");
  CHECK(kernel({"some-trainer-2025", "", 3}) == kernel({"torchtitan-2025", "", 3}));
  CHECK(kernel({"megatron-lm-2021", "", 1}) == "none");  // a known one has what its file says
}

TEST_CASE(
    "a file of one's own is taken as it is, whatever it lacks, and no stand-in is looked up") {
  const std::string text = R"({"schema": "prequel/software/1", "name": "own"})";
  const Library library({PREQUEL_DATA_DIR}, {{{"own", text}}, {}});
  MeasuredRun run;
  run.plan.attention = AttentionKind::flash;
  CHECK(usual_stack(library, run, "own", false).json().size() == 2);
  CHECK(library.inputs().size() == 1);
}

TEST_CASE("every entry leads to a file and reads as software") {
  const Document table = shipped().open("stand_ins", "stacks");
  for (const char* layout : {"sharded", "whole", "experts"}) {
    const auto entries = table.root().at("layouts").at(layout).items();
    REQUIRE_FALSE(entries.empty());
    CHECK_FALSE(entries.back().find("until"));
    for (const Cursor& entry : entries) {
      CHECK_NOTHROW(read_software(shipped().open("software", entry.at("software").text())));
    }
  }
}

}  // namespace prequel
