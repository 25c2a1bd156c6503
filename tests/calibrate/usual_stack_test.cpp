#include "calibrate/validate/usual_inputs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

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
  std::string framework{};
};

Document stack_for(const Asked& asked) {
  MeasuredRun run;
  run.date = asked.date;
  run.plan.zero = asked.zero;
  if (!asked.framework.empty()) run.cells["framework"] = asked.framework;
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

TEST_CASE("a framework that hands models to an engine is the stack of both") {
  MeasuredRun run;
  run.cells["engine"] = "DeepSpeed";
  const auto name = [&](const std::string& software) {
    return usual_stack(shipped(), run, software, false).json().at("name");
  };
  CHECK(name("hf-peft-2023") == "hf-peft-deepspeed-2023");
  CHECK(name("hf-peft-2024") == "hf-peft-deepspeed-2023");
  CHECK(name("megatron-core-2025") == "megatron-core-2025");
  run.cells["engine"] = "its own";
  CHECK(name("hf-peft-2023") == "hf-peft-2023");
}

TEST_CASE("a row's framework is asked before its year, and for experts a stack that saw some") {
  CHECK(name_for({"recipes-v24.11.1", "", 1, false, "nemo"}) == "nemo-24.07");
  CHECK(name_for({"recipes-v25.04", "", 1, false, "NeMo (2.0)"}) == "nemo-25.07");
  CHECK(name_for({"recipes-v24.11.1", "", 3, false, "maxtext"}) == "maxtext-2025");
  CHECK(name_for({"", "2023-09", 3, false, "paxml"}) == "paxml-2024-01");
  CHECK(name_for({"anything-2025", "", 1, true, "megatron-core"}) == "megatron-core-moe-2025");
  CHECK(name_for({"megatron-lm-2025", "", 1, true}) == "megatron-core-moe-2025");
  CHECK(name_for({"anything-2025", "", 1, false, "unheard-of"}) == "megatron-core-2025");
  const Software found = read_software(stack_for({"recipes-v24.11.1", "", 1, false, "nemo"}));
  CHECK(found.stands_for == "recipes-v24.11.1");
  CHECK_FALSE(found.other_framework);
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
    "a file of one's own is taken as it is beside what all stacks share, whatever it lacks, and no "
    "stand-in is looked up") {
  const std::string text = R"({"schema": "prequel/software/1", "name": "own"})";
  const Library library({PREQUEL_DATA_DIR}, {{{"own", text}}, {}});
  MeasuredRun run;
  run.plan.attention = AttentionKind::flash;
  const nlohmann::json stack = usual_stack(library, run, "own", false).json();
  CHECK(stack.size() == 3);
  CHECK(stack.contains("common"));
  std::set<std::string> kinds;
  for (const InputFile& input : library.inputs()) kinds.insert(input.kind);
  CHECK(kinds == std::set<std::string>{"common", "software"});
}

TEST_CASE("a constant that is said to be chosen on runs was chosen on enough of them, and helps") {
  for (const std::string& name : shipped().names("software")) {
    CAPTURE(name);
    const nlohmann::json stack = shipped().open("software", name).json();
    if (!stack.contains("chosen_on")) continue;
    for (const auto& [path, on] : stack.at("chosen_on").items()) {
      CAPTURE(path);
      CHECK(on.at("plans").get<int>() >= 8);
      CHECK(on.at("cells").get<int>() >= 3);
      CHECK(on.at("rows").get<int>() >= on.at("plans").get<int>());
      CHECK(on.at("gain_left_out").get<double>() > 0);
      std::string pointer = "/" + path;
      std::ranges::replace(pointer, '.', '/');
      CHECK(stack.contains(nlohmann::json::json_pointer(pointer)));
    }
  }
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
